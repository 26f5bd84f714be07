// The run-time language model: a back-off automaton whose state is one int32.
//
// A state is a context: an n-gram that some longer n-gram extends or that has a back-off weight; state 0 is the empty
// context. From state s, word w is found under the exact key (s, w) in an open-addressing hash table; where it is
// missing, the back-off weight of s is due and the search goes on from the longest proper suffix of s that is a state,
// down to the empty context, where words index an array. Whatever is found knows the state it leads to, the longest
// suffix of the extended context that is a state; so the state reached is the same whichever history led there.
#pragma once

#include "base/hashing.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace dragoman::lm {

constexpr std::int32_t bos = 1, eos = 2;  // <s> and </s>

struct LanguageModelView {
    // A base-10 logarithm (of a probability, or of a back-off weight) and a state, packed into 64 bits on disk.
    struct Entry {
        float log10;
        std::int32_t state;
    };
    static Entry unpack(std::uint64_t bits) {
        return {std::bit_cast<float>(static_cast<std::uint32_t>(bits)), static_cast<std::int32_t>(bits >> 32)};
    }
    static std::uint64_t pack(float log10, std::int32_t state) {
        return std::bit_cast<std::uint32_t>(log10) | std::uint64_t(static_cast<std::uint32_t>(state)) << 32;
    }
    // Never 0, which marks a free slot, because state 0 has its words in `unigrams`.
    static std::uint64_t key(std::int32_t state, std::int32_t word) {
        return std::uint64_t(static_cast<std::uint32_t>(state)) << 32 | static_cast<std::uint32_t>(word);
    }
    // The bit of a word in the filter of a state, 64 bits that tell at once that most missing words are missing: the
    // contexts of high orders are many, and few words follow each.
    static std::uint64_t filter_bit(std::int32_t word) {
        return std::uint64_t{1} << (static_cast<std::uint32_t>(word) * 0x9e3779b1U >> 26);
    }
    static constexpr float ln10 = 2.302585092994046F;

    const std::uint64_t* slots;     // pairs of key and entry (probability, next state); key 0: free
    std::uint64_t mask;             // number of slots, a power of two, less one
    const std::uint64_t* states;    // pairs for each state: entry (back-off weight, suffix state) and filter
    const std::uint64_t* unigrams;  // entry of each word: probability, next state

    // The state after <s>.
    std::int32_t start() const { return unpack(unigrams[bos]).state; }

    std::uint64_t home(std::uint64_t key) const { return mix(key) & mask; }
    void prefetch(std::int32_t state, std::int32_t word) const {
        __builtin_prefetch(slots + 2 * home(key(state, word)));
        __builtin_prefetch(states + 2 * std::size_t(state));
    }

    // The base-10 log-probability of `word` after `state`, and the state that follows.
    Entry query(std::int32_t state, std::int32_t word) const {
        float backoff = 0;
        const std::uint64_t bit = filter_bit(word);
        while (state != 0) {
            const std::uint64_t* const record = states + 2 * std::size_t(state);
            if (record[1] & bit) {
                const std::uint64_t wanted = key(state, word);
                for (std::uint64_t at = home(wanted); slots[2 * at] != 0; at = (at + 1) & mask) {
                    if (slots[2 * at] != wanted) continue;
                    const Entry found = unpack(slots[2 * at + 1]);
                    return {backoff + found.log10, found.state};
                }
            }
            const Entry context = unpack(record[0]);
            backoff += context.log10;
            state = context.state;
        }
        const Entry found = unpack(unigrams[word]);
        return {backoff + found.log10, found.state};
    }

    // The natural log-probability of `word` after `state`; `next` becomes the state that follows.
    float score(std::int32_t state, std::int32_t word, std::int32_t& next) const {
        const Entry found = query(state, word);
        next = found.state;
        return found.log10 * ln10;
    }
};

}  // namespace dragoman::lm
