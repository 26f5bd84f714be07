// Strings that are put together from parts, with the n-grams that they share with references counted as they grow.
#pragma once

#include "base/open_addressing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace dragoman::forest {

// The longest n-grams that can be counted.
constexpr std::size_t highest_order = 16;

// All n-grams of some references up to an order, as an automaton: a state is an n-gram, 0 is the empty one. Every part of
// an n-gram of a reference is one too, so that a word matches all orders up to the length of the state that it leads to.
class ReferenceNGrams {
public:
    ReferenceNGrams(Words words, Bounds offsets, std::size_t order) : words_(words), order_(order) {
        for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
            const auto end = static_cast<std::size_t>(offsets[r + 1]);
            for (auto begin = static_cast<std::size_t>(offsets[r]); begin < end; ++begin) {
                std::int32_t state = 0;
                for (std::size_t at = begin; at < std::min(end, begin + order); ++at) state = child_or_new(state, words[at], begin);
            }
        }
        // A state's suffix is shorter than it is; numbers do not tell, so lengths do.
        std::vector<std::int32_t> by_length(depths_.size());
        for (std::size_t i = 0; i < by_length.size(); ++i) by_length[i] = static_cast<std::int32_t>(i);
        std::ranges::stable_sort(by_length, {}, [&](std::int32_t state) { return depth(state); });
        suffixes_.resize(depths_.size());
        for (const std::int32_t state : by_length) {
            const std::size_t length = depth(state);
            if (length < 2) continue;
            const Words text = of(state);
            std::int32_t suffix = 0;
            for (std::size_t i = 1; i < length; ++i) suffix = child(suffix, text[i]);
            suffixes_[static_cast<std::size_t>(state)] = suffix;
        }
    }

    std::size_t order() const { return order_; }
    std::size_t depth(std::int32_t state) const { return static_cast<std::size_t>(depths_[static_cast<std::size_t>(state)]); }
    Words of(std::int32_t state) const { return words_.subspan(begins_[static_cast<std::size_t>(state)], depth(state)); }

    // The n-gram that is longer by a word, or -1.
    std::int32_t child(std::int32_t state, std::int32_t word) const { return children_.find(key(state, word)); }

    // The longest n-gram that ends with this word, after those words.
    std::int32_t after(std::int32_t state, std::int32_t word) const {
        if (word < 0) return 0;
        for (;; state = suffixes_[static_cast<std::size_t>(state)]) {
            if (const std::int32_t found = child(state, word); found >= 0) return found;
            if (state == 0) return 0;
        }
    }

    // What of a state can still become part of a longer n-gram: all but the first word of those of the highest order.
    std::int32_t open(std::int32_t state) const { return depth(state) == order_ ? suffixes_[static_cast<std::size_t>(state)] : state; }

private:
    static std::uint64_t key(std::int32_t state, std::int32_t word) {
        return std::uint64_t(std::uint32_t(state)) << 32 | std::uint32_t(word);
    }

    std::int32_t child_or_new(std::int32_t state, std::int32_t word, std::size_t begin) {
        const std::uint64_t wanted = key(state, word);
        KeyTable::Slot& slot = children_.slot(wanted);
        if (slot.number >= 0) return slot.number;
        const auto added = static_cast<std::int32_t>(depths_.size());
        depths_.push_back(static_cast<std::int32_t>(depth(state)) + 1);
        begins_.push_back(begin);
        children_.put(slot, wanted, added);
        return added;
    }

    Words words_;
    std::size_t order_;
    KeyTable children_{64};
    std::vector<std::int32_t> depths_{0}, suffixes_;
    std::vector<std::size_t> begins_{0};
};

// Numbers modulo 2^61 - 1, in which strings are told apart: the hash of two strings together follows from theirs.
inline std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
    const auto product = static_cast<unsigned __int128>(a) * b;
    const std::uint64_t sum = static_cast<std::uint64_t>(product & prime) + static_cast<std::uint64_t>(product >> 61);
    return sum >= prime ? sum - prime : sum;
}

// What counts about a string, as for a language model: the longest n-grams of fewer than `order` words that it begins and
// ends with, how many words it has, and how many of its n-grams of each order references have, as often as they occur.
template <std::size_t orders>
struct MatchedString {
    std::int32_t left = 0, right = 0;
    double words = 0;
    std::uint64_t hash = 0, shift = 1;
    std::array<float, orders> matches{};
};

template <std::size_t orders>
class Matching {
public:
    using String = MatchedString<orders>;

    explicit Matching(const ReferenceNGrams& ngrams) : ngrams_(ngrams), seams_(seams) {}

    // A string of one word; `id` is its number among words of references, negative if it has none.
    String word(std::int32_t word, std::int32_t id) const {
        String one;
        const std::int32_t state = ngrams_.after(0, id);
        one.left = one.right = ngrams_.open(state);
        one.words = 1;
        one.hash = mix(static_cast<std::uint64_t>(word) + 1) >> 3;
        one.shift = 0x9e3779b97f4a7c1ULL;
        one.matches[0] = state != 0;
        return one;
    }

    void append(String& a, const String& b) {
        const double a_words = a.words;
        const std::int32_t a_left = a.left;
        a.words += b.words;
        a.hash = times(a.hash, b.shift) + b.hash;
        constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
        if (a.hash >= prime) a.hash -= prime;
        a.shift = times(a.shift, b.shift);
        for (std::size_t n = 0; n < ngrams_.order(); ++n) a.matches[n] += b.matches[n];
        const Words begin = ngrams_.of(b.left);
        const Seam& seam = seam_between(a.right, b.left);
        for (std::size_t n = 1; n < ngrams_.order(); ++n) a.matches[n] += float(seam.matches[n]);
        a.right = seam.right >= 0 && double(begin.size()) == b.words ? seam.right : b.right;
        // What begins a goes on into b if it is all of a.
        if (double(ngrams_.depth(a_left)) != a_words) return;
        for (const std::int32_t id : begin) {
            if (ngrams_.depth(a.left) + 1 >= ngrams_.order()) break;
            const std::int32_t longer = ngrams_.child(a.left, id);
            if (longer < 0) break;
            a.left = longer;
        }
    }

private:
    // What comes of a string that ends with one n-gram before another that begins with one: how many n-grams of each order
    // lie in both, and what all of it ends with if there is no more than this n-gram of the second string, or -1 if what
    // the second one ends with is all that counts.
    struct Seam {
        std::int32_t before = -1, after = -1, right = -1;
        std::array<std::uint8_t, orders> matches{};
    };

    // Few n-grams meet again and again: those that were met last are remembered.
    const Seam& seam_between(std::int32_t before, std::int32_t after) {
        const std::uint64_t both = std::uint64_t(std::uint32_t(before)) << 32 | std::uint32_t(after);
        Seam& seam = seams_[mix(both) % seams];
        if (seam.before != before || seam.after != after) seam = sewn(before, after);
        return seam;
    }

    Seam sewn(std::int32_t before, std::int32_t after) const {
        Seam seam{before, after, -1, {}};
        const Words begin = ngrams_.of(after);
        std::int32_t state = before;
        std::size_t read = 0;
        while (read < begin.size() && state != 0) {
            state = ngrams_.after(ngrams_.open(state), begin[read++]);
            const std::size_t length = ngrams_.depth(state);
            for (std::size_t n = read; n < length; ++n) ++seam.matches[n];
            if (length <= read) state = 0;
        }
        if (read == begin.size() && state != 0) seam.right = ngrams_.open(state);
        return seam;
    }

    static constexpr std::size_t seams = 2048;
    const ReferenceNGrams& ngrams_;
    std::vector<Seam> seams_;
};

}  // namespace dragoman::forest
