// Instances of rules as places in a corpus: the columns that they are kept in.
#pragma once

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "training/rules.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dragoman::training {

constexpr std::size_t kSpanFields = 10;

// The lengths of the two sides, then for each hole where it begins and how long it is, source and target side; those of
// a hole that is not there are 0.
struct RuleSpans {
    std::uint8_t source_length, target_length;
    struct {
        std::uint8_t source_offset, source_length, target_offset, target_length;
    } holes[2];
};
static_assert(sizeof(RuleSpans) == kSpanFields);

// The columns that instances are kept in.
struct FoundRules {
    std::vector<std::int32_t> sentence;
    std::vector<std::uint16_t> begins;  // source and target
    std::vector<std::uint8_t> spans;    // a RuleSpans each
    std::vector<std::uint64_t> counts;  // in units of 2^-36

    std::size_t size() const { return sentence.size(); }

    void resize(std::size_t n) {
        sentence.resize(n);
        begins.resize(2 * n);
        spans.resize(kSpanFields * n);
        counts.resize(n);
    }

    void add(std::int32_t row, const HoledPair& rule, std::uint64_t count) {
        const SpanPair& whole = rule.whole;
        sentence.push_back(row);
        begins.push_back(static_cast<std::uint16_t>(whole.source_begin));
        begins.push_back(static_cast<std::uint16_t>(whole.target_begin));
        auto put = [&](int value) { spans.push_back(static_cast<std::uint8_t>(value)); };
        put(whole.source_length());
        put(whole.target_length());
        for (int k = 0; k < 2; ++k) {
            const bool there = k < rule.nonterminals;
            const SpanPair& hole = rule.holes[k];
            put(there ? hole.source_begin - whole.source_begin : 0);
            put(there ? hole.source_length() : 0);
            put(there ? hole.target_begin - whole.target_begin : 0);
            put(there ? hole.target_length() : 0);
        }
        counts.push_back(count);
    }

    void copy_into(FoundRules& all, std::size_t at) const {
        std::ranges::copy(sentence, all.sentence.begin() + at);
        std::ranges::copy(begins, all.begins.begin() + 2 * at);
        std::ranges::copy(spans, all.spans.begin() + kSpanFields * at);
        std::ranges::copy(counts, all.counts.begin() + at);
    }
};

// Puts the instances of blocks one after the other, and hands them to Python.
inline auto gathered(std::vector<FoundRules>& parts, int threads) {
    std::vector<std::size_t> begin(parts.size() + 1, 0);
    for (std::size_t block = 0; block < parts.size(); ++block) begin[block + 1] = begin[block] + parts[block].size();
    FoundRules all;
    all.resize(begin.back());
    run_blocks(parts.size(), threads, nb::none(), [&](std::size_t block) {
        parts[block].copy_into(all, begin[block]);
        parts[block] = {};
    });
    return together(give(std::move(all.sentence)), give(std::move(all.begins), 2), give(std::move(all.spans), kSpanFields),
                    give(std::move(all.counts)));
}

}  // namespace dragoman::training
