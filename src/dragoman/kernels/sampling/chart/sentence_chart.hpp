// The forest of one sentence without language models: cells of spans, in each the matches that fill it.
//
// An edge is a match with one of its rules; edges are numbered by match, then by rule within the match's side, so that a
// derivation has the same numbers in every batch. A derivation is a row of edges in pre-order: the parts that glue joins
// from left to right, each an edge followed by what fills its holes, in the order of the source.
#pragma once

#include "search/chart/batch.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace dragoman::sampling::chart {

using search::chart::ChartBatch;
using search::chart::MatchRow;
using search::chart::RuleOrder;

struct Edge {
    std::int32_t match, rule;  // in the sentence, in the batch
    bool operator==(const Edge&) const = default;
};

class SentenceChart {
public:
    struct Range {
        std::int32_t first = 0, last = 0;
    };

    SentenceChart(const ChartBatch& batch, std::size_t sentence)
        : batch_(&batch), sentence_(sentence), matches_(batch.matches(sentence)), first_match_(batch.first_match(sentence)), length_(batch.length(sentence)) {
        for (const MatchRow& match : matches_) width_ = std::max(width_, match.end - match.begin);
        cells_.resize(static_cast<std::size_t>(length_) * static_cast<std::size_t>(width_));
        sides_.reserve(matches_.size());
        for (const MatchRow& match : matches_) sides_.push_back(match.side);
        std::sort(sides_.begin(), sides_.end());
        sides_.erase(std::unique(sides_.begin(), sides_.end()), sides_.end());
        for (const std::int32_t side : sides_)
            for (std::size_t c = 0; c < batch.classes(); ++c) {
                first_rules_.push_back(static_cast<std::int32_t>(rules_.size()));
                for (std::int32_t rule = first_rule_of(side); rule < first_rule_of(side + 1); ++rule)
                    if (batch.class_of(rule) == c) rules_.push_back(rule);
            }
        first_rules_.push_back(static_cast<std::int32_t>(rules_.size()));
        first_edges_.push_back(0);
        for (std::size_t m = 0; m < matches_.size(); ++m) {
            const MatchRow& match = matches_[m];
            // The matches of a span come one after the other.
            Range& range = cells_[cell(match.begin, match.end)];
            if (range.first == range.last) range.first = static_cast<std::int32_t>(m);
            range.last = static_cast<std::int32_t>(m) + 1;
            place_.push_back(static_cast<std::int32_t>(std::lower_bound(sides_.begin(), sides_.end(), match.side) - sides_.begin()));
            first_edges_.push_back(first_edges_.back() + static_cast<std::int32_t>(rules_of(match.side)));
        }
    }

    std::int32_t length() const { return length_; }
    std::int32_t width() const { return width_; }  // the longest span
    std::size_t cells() const { return cells_.size(); }
    std::size_t cell(std::int32_t begin, std::int32_t end) const {
        return static_cast<std::size_t>(begin) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(end - begin - 1);
    }
    Range in_cell(std::size_t cell) const { return cells_[cell]; }
    std::size_t matches() const { return matches_.size(); }
    const MatchRow& match(std::int32_t match) const { return matches_[static_cast<std::size_t>(match)]; }
    std::int64_t first_match() const { return first_match_; }  // in the batch
    std::size_t sentence() const { return sentence_; }
    static int arity(const MatchRow& match) { return (match.holes[0][0] >= 0) + (match.holes[1][0] >= 0); }
    int arity(std::int32_t match) const { return arity(this->match(match)); }

    // The rules of all source sides that occur are in a row. A group of them has the side and the class in common; those of
    // a match's side are as many as there are classes.
    std::size_t groups() const { return first_rules_.size() - 1; }
    std::size_t first_group(std::int32_t match) const { return static_cast<std::size_t>(place_[static_cast<std::size_t>(match)]) * batch_->classes(); }
    std::int32_t first_rule(std::size_t group) const { return first_rules_[group]; }
    std::int32_t rule(std::size_t place) const { return rules_[place]; }
    std::int32_t first_rule_of(std::int32_t side) const {
        return static_cast<std::int32_t>(batch_->first_rule[static_cast<std::size_t>(side)]);
    }

    std::int32_t number(Edge edge) const {
        return first_edges_[static_cast<std::size_t>(edge.match)] + edge.rule - first_rule_of(match(edge.match).side);
    }
    Edge edge(std::int32_t number) const {
        const auto above = std::upper_bound(first_edges_.begin(), first_edges_.end(), number);
        const auto match = static_cast<std::int32_t>(above - first_edges_.begin()) - 1;
        return {match, first_rule_of(this->match(match).side) + number - first_edges_[static_cast<std::size_t>(match)]};
    }

private:
    std::int64_t rules_of(std::int32_t side) const {
        return batch_->first_rule[static_cast<std::size_t>(side) + 1] -
               batch_->first_rule[static_cast<std::size_t>(side)];
    }

    const ChartBatch* batch_;
    std::size_t sentence_;
    std::span<const MatchRow> matches_;
    std::int64_t first_match_;
    std::int32_t length_, width_ = 1;
    std::vector<Range> cells_;
    std::vector<std::int32_t> sides_, first_rules_, rules_, place_, first_edges_;
};

}  // namespace dragoman::sampling::chart
