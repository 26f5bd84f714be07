// The run-time language model: a back-off automaton whose state is one int32.
//
// A state is a context: an n-gram that some longer n-gram extends or that has a back-off weight; state 0 is the empty
// context. Its record is half a cache line and holds the likeliest word that follows it, which for most states is the
// only one. Other words w after state s are found under the exact key (s, w) in an open-addressing hash table; where
// one is missing, the back-off weight of s is due and the search goes on from the longest proper suffix of s that is a
// state, down to the empty context, where words index an array. Whatever is found knows the state it leads to, the
// longest suffix of the extended context that is a state; so the state reached is the same whichever history led there.
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
    // The slot, of so many, at which the search for a key begins: multiplied and shifted, so that any number will do.
    static std::uint64_t home(std::uint64_t key, std::uint64_t slots) {
        const std::uint64_t hash = (key >> 32) * 0x9e3779b97f4a7c15ULL ^ (key & 0xffffffffU) * 0xc2b2ae3d27d4eb4fULL;
        return high_product(hash, slots);
    }
    // The bit of a word in the filter of a state, 64 bits that tell at once that most missing words are missing: the
    // contexts of high orders are many, and few words follow each.
    static std::uint64_t filter_bit(std::int32_t word) {
        return std::uint64_t{1} << (static_cast<std::uint32_t>(word) * 0x9e3779b1U >> 26);
    }
    static constexpr float ln10 = 2.302585092994046F;

    // Of a state: back-off weight and suffix state; the likeliest word, its probability and next state; a filter of the
    // other words.
    enum Column { CONTEXT = 0, LIKELIEST = 1, WORD = 2, FILTER = 3, COLUMNS = 4 };
    static constexpr std::uint64_t no_word = 0xffffffffU;  // in place of the likeliest

    const std::uint64_t* slots;     // pairs of key and entry (probability, next state); key 0: free
    std::uint64_t slot_count;
    const std::uint64_t* states;    // a record for each state
    const std::uint64_t* unigrams;  // entry of each word: probability, next state

    // The state after <s>.
    std::int32_t start() const { return unpack(unigrams[bos]).state; }

    const std::uint64_t* record(std::int32_t state) const { return states + COLUMNS * std::size_t(state); }
    // The back-off weight of a state and its suffix.
    Entry context(std::int32_t state) const { return unpack(record(state)[CONTEXT]); }
    const std::uint64_t* slot(std::int32_t state, std::int32_t word) const {
        return slots + 2 * home(key(state, word), slot_count);
    }

    // The entry of a word after a state, or nullptr. `at` is its slot: what is in the record is not looked up there.
    const std::uint64_t* find(std::int32_t state, std::int32_t word, const std::uint64_t* at) const {
        const std::uint64_t* const own = record(state);
        if (own[WORD] == static_cast<std::uint32_t>(word)) return own + LIKELIEST;
        if ((own[FILTER] & filter_bit(word)) == 0) return nullptr;
        const std::uint64_t wanted = key(state, word);
        for (; at[0] != 0; at = at + 2 == slots + 2 * slot_count ? slots : at + 2)
            if (at[0] == wanted) return at + 1;
        return nullptr;
    }

    // The base-10 log-probability of `word` after `state`, and the state that follows.
    Entry query(std::int32_t state, std::int32_t word) const {
        float backoff = 0;
        while (state != 0) {
            // The slot is fetched while the record, which may do without it, is on its way.
            const std::uint64_t* const at = slot(state, word);
            __builtin_prefetch(at);
            if (const std::uint64_t* const entry = find(state, word, at)) {
                const Entry found = unpack(*entry);
                return {backoff + found.log10, found.state};
            }
            const Entry shorter = context(state);
            backoff += shorter.log10;
            state = shorter.state;
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
