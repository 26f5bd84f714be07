// Rules with holes in an aligned sentence pair (Chiang 2007): which there are, and how each is spelt.
#pragma once

#include "base/rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace dragoman::training {

// Counts are whole multiples of 2^-36, so that sums do not depend on their order.
constexpr std::uint64_t kOneCount = std::uint64_t(1) << 36;

struct RuleLimits {
    int max_span, max_source_symbols, max_target_symbols, max_nonterminals, min_hole_source, min_hole_target, min_words;
    bool adjacent, linked, tight, fractional;
};

// A pair of spans [begin, end) without a link that leaves it.
struct SpanPair {
    int source_begin, source_end, target_begin, target_end;

    int source_length() const { return source_end - source_begin; }
    int target_length() const { return target_end - target_begin; }
};

// A rule: an initial pair less at most two smaller ones, in the order of their source sides.
struct HoledPair {
    SpanPair whole;
    std::array<SpanPair, 2> holes;
    int nonterminals = 0;
};

// The initial pairs of one sentence pair and the rules in them; reused from sentence to sentence. Links are sorted by
// (source, target) position.
class RuleSentence {
public:
    explicit RuleSentence(const RuleLimits& limits) : limits_(limits) {}

    void read(std::span<const std::uint32_t> links, int source_length, int target_length) {
        source_length_ = source_length;
        target_length_ = target_length;
        first_link_.assign(source_length + 1, 0);
        lowest_.assign(target_length, source_length);
        highest_.assign(target_length, -1);
        links_before_.assign(target_length + 1, 0);
        for (const std::uint32_t link : links) {
            const int s = link >> 16, t = link & 0xFFFF;
            ++first_link_[s + 1];
            ++links_before_[t + 1];
            lowest_[t] = std::min(lowest_[t], s);
            highest_[t] = std::max(highest_[t], s);
        }
        std::partial_sum(first_link_.begin(), first_link_.end(), first_link_.begin());
        std::partial_sum(links_before_.begin(), links_before_.end(), links_before_.begin());
        find_pairs();
    }

    // The initial pairs, by rising beginning and end of their target side.
    std::span<const SpanPair> pairs() const { return pairs_; }

    // The number of links before each source word.
    const std::vector<int>& first_link() const { return first_link_; }

    // Appends the rules of an initial pair.
    void rules(const SpanPair& whole, std::vector<HoledPair>& out) {
        if (whole.source_length() <= limits_.max_source_symbols && whole.target_length() <= limits_.max_target_symbols)
            out.push_back({whole, {}, 0});
        if (limits_.max_nonterminals == 0) return;
        holes_.clear();
        for (int begin = whole.target_begin; begin < whole.target_end; ++begin)
            for (std::size_t i = first_pair_[begin]; i < first_pair_[begin + 1] && pairs_[i].target_end <= whole.target_end; ++i)
                if (can_be_hole(pairs_[i], whole)) holes_.push_back(pairs_[i]);
        for (std::size_t i = 0; i < holes_.size(); ++i) {
            const SpanPair& a = holes_[i];
            const int source_words = whole.source_length() - a.source_length();
            const int target_words = whole.target_length() - a.target_length();
            const int links = links_in(whole) - links_in(a);
            if (source_words < limits_.min_words || target_words < limits_.min_words || (limits_.linked && !links)) continue;
            if (source_words < limits_.max_source_symbols && target_words < limits_.max_target_symbols)
                out.push_back({whole, {a}, 1});
            if (limits_.max_nonterminals < 2) continue;
            for (std::size_t j = i + 1; j < holes_.size(); ++j) {
                const SpanPair& b = holes_[j];
                if (b.target_begin < a.target_end) continue;
                const int source_left = source_words - b.source_length(), target_left = target_words - b.target_length();
                if (source_left < limits_.min_words || source_left + 2 > limits_.max_source_symbols ||
                    target_left < limits_.min_words || target_left + 2 > limits_.max_target_symbols ||
                    (limits_.linked && links == links_in(b)))
                    continue;
                const bool in_order = a.source_begin < b.source_begin;
                const int gap = in_order ? b.source_begin - a.source_end : a.source_begin - b.source_end;
                if (gap < (limits_.adjacent ? 0 : 1)) continue;
                out.push_back({whole, in_order ? std::array{a, b} : std::array{b, a}, 2});
            }
        }
    }

    // Whether a pair with holes, of whose source side all is well, is a rule.
    bool fits(const HoledPair& rule) const {
        int words = rule.whole.target_length(), links = links_in(rule.whole);
        for (int k = 0; k < rule.nonterminals; ++k) {
            words -= rule.holes[k].target_length();
            links -= links_in(rule.holes[k]);
        }
        if (words + rule.nonterminals > limits_.max_target_symbols) return false;
        return !rule.nonterminals || (words >= limits_.min_words && (links || !limits_.linked));
    }

    const RuleLimits& limits() const { return limits_; }

private:
    void find_pairs() {
        pairs_.clear();
        first_pair_.assign(1, 0);
        for (int tb = 0; tb < target_length_; ++tb) {
            int low = source_length_, high = -1;
            for (int te = tb; te < target_length_ && te - tb < limits_.max_span; ++te) {
                low = std::min(low, lowest_[te]);
                high = std::max(high, highest_[te]);
                if (high < 0) continue;
                if (high - low >= limits_.max_span) break;
                // All links of the target words end in [low, high]: the pair is consistent if those source words have
                // no others.
                if (first_link_[high + 1] - first_link_[low] != links_before_[te + 1] - links_before_[tb]) continue;
                if (limits_.tight) {
                    if (highest_[tb] >= 0 && highest_[te] >= 0) pairs_.push_back({low, high + 1, tb, te + 1});
                    continue;
                }
                for (int sb = low; sb >= 0 && high - sb < limits_.max_span && (sb == low || unlinked(sb)); --sb) {
                    const int end = std::min(source_length_, sb + limits_.max_span);
                    for (int se = high; se < end && (se == high || unlinked(se)); ++se)
                        pairs_.push_back({sb, se + 1, tb, te + 1});
                }
            }
            first_pair_.push_back(pairs_.size());
        }
    }

    bool can_be_hole(const SpanPair& hole, const SpanPair& whole) const {
        return hole.source_begin >= whole.source_begin && hole.source_end <= whole.source_end &&
               hole.source_length() >= limits_.min_hole_source && hole.target_length() >= limits_.min_hole_target;
    }

    int links_in(const SpanPair& pair) const { return links_before_[pair.target_end] - links_before_[pair.target_begin]; }
    bool unlinked(int s) const { return first_link_[s] == first_link_[s + 1]; }

    RuleLimits limits_;
    int source_length_ = 0, target_length_ = 0;
    std::vector<int> first_link_, lowest_, highest_, links_before_;
    std::vector<SpanPair> pairs_, holes_;
    std::vector<std::size_t> first_pair_;
};

// Options as Python gives them, in the order of their declaration.
inline RuleLimits limits_of(std::span<const std::int32_t> v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] != 0, v[8] != 0, v[9] != 0, v[10] != 0};
}

// The symbols of one side of a rule: words, and -1 and -2 for nonterminals.
class RuleSide {
public:
    struct Hole {
        int offset, length;  // in words, from the side's first; no length, no hole
        std::int32_t symbol;
    };

    // Holes from left to right.
    RuleSide(const std::int32_t* words, int length, Hole first, Hole second) {
        int at = 0;
        for (const Hole& hole : {first, second}) {
            if (!hole.length) continue;
            while (at < hole.offset) symbols_[size_++] = words[at++];
            symbols_[size_++] = hole.symbol;
            at += hole.length;
        }
        while (at < length) symbols_[size_++] = words[at++];
    }

    const std::int32_t* begin() const { return symbols_.data(); }
    const std::int32_t* end() const { return symbols_.data() + size_; }
    const std::int32_t* data() const { return symbols_.data(); }
    std::size_t size() const { return size_; }

private:
    std::array<std::int32_t, 256> symbols_;
    std::size_t size_ = 0;
};

}  // namespace dragoman::training
