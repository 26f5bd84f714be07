// Exact draws from the forest of a sentence without language models.
//
// All rules of a source side are summed once, whatever the number of its matches: inside scores take O(matches + rules),
// a draw two binary searches for each edge.
#pragma once

#include "base/random_stream.hpp"
#include "forest/forest.hpp"
#include "sampling/chart/sentence_chart.hpp"

#include <cmath>
#include <numbers>

namespace dragoman::sampling::chart {

using forest::LogSum;
using forest::no_score;

// What rules score in the forest: their own score, and half of what language models say of them. That is what they say of
// the rule alone and, for every run of words between holes, what its first word is likely to gain when something stands
// before it: alone, small rules look far worse than they are, the more so the lower the temperature. That a word is ten
// times as likely after the right words as without any is about what language models of English say; on a model of
// Multi30k, the gain of a run by least squares was 0.8 to 1.2 of their units of log10. Half, because a proposal should be
// flatter than what it proposes for, lest chains stay for long where it hardly ever leads.
class JoinedEstimates {
public:
    JoinedEstimates(const ChartBatch& batch, int threads) : estimates_(batch.rules()) {
        const RuleOrder order(batch, threads);
        double gain = 0;
        for (const auto& model : batch.models)
            if (model.order > 1) gain += model.weight * std::numbers::ln10;
        for (std::size_t rule = 0; rule < estimates_.size(); ++rule) {
            int runs = 0;
            bool hole = true;
            for (const std::int32_t word : batch.words(static_cast<std::int32_t>(rule))) {
                runs += hole && word >= 0;
                hole = word < 0;
            }
            const double local = batch.local(static_cast<std::int32_t>(rule));
            estimates_[rule] = local + kTrust * (order.estimates[rule] - local + gain * runs);
        }
    }

    double operator[](std::int32_t rule) const { return estimates_[static_cast<std::size_t>(rule)]; }

private:
    static constexpr double kTrust = 0.5;  // in language models without context
    std::vector<double> estimates_;
};

// What draws need while they last; chains of a sentence share its proposal.
struct DrawSpace {
    std::vector<std::pair<std::int32_t, std::int32_t>> stack;
    std::vector<double> sums;
    std::vector<std::size_t> bounds;
};

class ForestProposal {
public:
    // A derivation has probability exp(sharpness * score) / Z, where the score is the sum of those of its edges and of its
    // glue; with sharpness 0, all are as likely.
    ForestProposal(const ChartBatch& batch, const JoinedEstimates& estimates, const SentenceChart& chart, double sharpness)
        : batch_(batch), estimates_(estimates), chart_(chart), sharpness_(sharpness), inside_(chart.cells(), no_score),
          by_match_(chart.matches()), has_part_scores_(batch.part_scores.size() > 0), glue_(sharpness * batch.glue_weight) {
        totals_.resize(chart.groups());
        by_rule_.resize(static_cast<std::size_t>(chart.first_rule(chart.groups())));
        for (std::size_t g = 0; g < totals_.size(); ++g) {
            const auto place = static_cast<std::size_t>(chart.first_rule(g));
            totals_[g] = cumulate(std::span(by_rule_).subspan(place, static_cast<std::size_t>(chart.first_rule(g + 1)) - place),
                                  [&](std::size_t i) { return sharpness * estimates[chart.rule(place + i)]; });
        }
        for (std::int32_t match = 0; match < static_cast<std::int32_t>(chart.matches());) {
            const MatchRow& row = chart.match(match);
            const std::size_t cell = chart.cell(row.begin, row.end);
            const auto [first, last] = chart.in_cell(cell);
            // What is inside a span comes before it.
            inside_[cell] = cumulate(std::span(by_match_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)), [&](std::size_t i) {
                const auto one = first + static_cast<std::int32_t>(i);
                const MatchRow& filled = chart.match(one);
                double score = group_score(one, 0);
                if (batch.classes() > 1) {
                    LogSum sum;
                    for (std::size_t c = 0; c < batch.classes(); ++c) sum.add(group_score(one, c));
                    score = sum.value();
                }
                for (int k = 0; k < SentenceChart::arity(filled); ++k) score += inside_[chart.cell(filled.holes[k][0], filled.holes[k][1])];
                return score;
            });
            match = last;
        }
    }

    // What an edge, and the glue before a part, add to the logarithm of a draw's weight.
    double weight(Edge edge) const { return sharpness_ * (estimates_[edge.rule] + batch_.match_score(chart_.first_match() + edge.match, edge.rule)); }
    double glue() const { return glue_; }
    bool has_part_scores() const { return has_part_scores_; }
    double part_weight(std::int32_t begin, std::int32_t end) const { return sharpness_ * batch_.part_score(chart_.sentence(), begin, end); }

    // Draws what fills a span, and appends it.
    void draw_span(Stream& stream, DrawSpace& space, std::int32_t begin, std::int32_t end, std::vector<Edge>& edges) const {
        space.stack.assign(1, {begin, end});
        while (!space.stack.empty()) {
            const auto [from, to] = space.stack.back();
            space.stack.pop_back();
            const auto [first, last] = chart_.in_cell(chart_.cell(from, to));
            const auto match = static_cast<std::int32_t>(pick(stream, by_match_, first, last));
            edges.push_back({match, draw_rule(stream, match)});
            const MatchRow& row = chart_.match(match);
            for (int k = SentenceChart::arity(row); k-- > 0;) space.stack.push_back({row.holes[k][0], row.holes[k][1]});
        }
    }

    // Draws a rule for a match.
    std::int32_t draw_rule(Stream& stream, std::int32_t match) const {
        const std::size_t group = chart_.first_group(match) + draw_class(stream, match);
        return chart_.rule(pick(stream, by_rule_, chart_.first_rule(group), chart_.first_rule(group + 1)));
    }

    // Draws parts that cover a stretch, and what fills them, and appends them; false if there are none.
    bool draw_parts(Stream& stream, DrawSpace& space, std::int32_t begin, std::int32_t end, std::vector<Edge>& edges) const {
        auto& sums = space.sums;
        auto& bounds = space.bounds;
        if (!batch_.glue) {
            if (end - begin > chart_.width() || inside_[chart_.cell(begin, end)] == no_score) return false;
            draw_span(stream, space, begin, end, edges);
            return true;
        }
        const auto size = static_cast<std::size_t>(end - begin);
        sums.assign(size + 1, no_score);
        sums[0] = 0;
        const auto least = [&](std::size_t to) { return to - std::min(to, static_cast<std::size_t>(chart_.width())); };
        const auto through = [&](std::size_t from, std::size_t to) {
            const auto first = begin + static_cast<std::int32_t>(from), last = begin + static_cast<std::int32_t>(to);
            return sums[from] + inside_[chart_.cell(first, last)] + glue_ + part_weight(first, last);
        };
        for (std::size_t to = 1; to <= size; ++to) {
            LogSum sum;
            for (std::size_t from = least(to); from < to; ++from) sum.add(through(from, to));
            sums[to] = sum.value();
        }
        if (sums[size] == no_score) return false;
        bounds.assign(1, size);
        while (bounds.back() > 0) {
            const std::size_t to = bounds.back();
            double rest = stream.uniform();
            std::size_t chosen = to;
            for (std::size_t from = least(to); from < to; ++from) {
                const double score = through(from, to);
                if (score == no_score) continue;
                chosen = from;
                if ((rest -= std::exp(score - sums[to])) < 0) break;
            }
            bounds.push_back(chosen);
        }
        for (std::size_t i = bounds.size() - 1; i > 0; --i)
            draw_span(stream, space, begin + static_cast<std::int32_t>(bounds[i]), begin + static_cast<std::int32_t>(bounds[i - 1]), edges);
        return true;
    }

private:
    // All rules of a class on a match, without what fills its holes.
    double group_score(std::int32_t match, std::size_t rule_class) const {
        return totals_[chart_.first_group(match) + rule_class] + sharpness_ * batch_.match_score_of(chart_.first_match() + match, rule_class);
    }

    std::size_t draw_class(Stream& stream, std::int32_t match) const {
        if (batch_.classes() == 1) return 0;
        LogSum sum;
        for (std::size_t c = 0; c < batch_.classes(); ++c) sum.add(group_score(match, c));
        const std::size_t group = chart_.first_group(match);
        double rest = stream.uniform();
        std::size_t chosen = 0;
        for (std::size_t c = 0; c < batch_.classes(); ++c) {
            // Whatever the scores, a class that has a rule is drawn.
            if (chart_.first_rule(group + c) == chart_.first_rule(group + c + 1)) continue;
            chosen = c;
            if ((rest -= std::exp(group_score(match, c) - sum.value())) < 0) break;
        }
        return chosen;
    }

    // Fills in running sums of shares, and returns the logarithm of the total.
    template <class Score>
    static double cumulate(std::span<double> shares, Score&& score) {
        double peak = no_score;
        for (std::size_t i = 0; i < shares.size(); ++i) peak = std::max(peak, shares[i] = score(i));
        if (peak == no_score) return no_score;
        double running = 0;
        for (double& share : shares) share = running += std::exp(share - peak);
        return peak + std::log(running);
    }

    static std::size_t pick(Stream& stream, const std::vector<double>& cumulated, std::int32_t first, std::int32_t last) {
        const double wanted = stream.uniform() * cumulated[static_cast<std::size_t>(last) - 1];
        const auto begin = cumulated.begin() + first, end = cumulated.begin() + last;
        // The product can be rounded up to the total.
        return static_cast<std::size_t>(std::min(std::upper_bound(begin, end, wanted), end - 1) - cumulated.begin());
    }

    const ChartBatch& batch_;
    const JoinedEstimates& estimates_;
    const SentenceChart& chart_;
    double sharpness_;
    std::vector<double> inside_;             // of cells
    std::vector<double> totals_;             // of groups of rules
    std::vector<double> by_match_, by_rule_;  // running sums, of the matches of each cell and the rules of each side
    bool has_part_scores_;
    double glue_;
};

// The best derivation of the forest, without a look at context; nothing if there is none.
inline std::vector<Edge> best_of_forest(const ChartBatch& batch, const RuleOrder& order, const SentenceChart& chart) {
    std::vector<double> best(chart.cells(), no_score);
    std::vector<Edge> chosen(chart.cells(), Edge{-1, -1});
    for (std::int32_t match = 0; match < static_cast<std::int32_t>(chart.matches()); ++match) {
        const MatchRow& row = chart.match(match);
        double score = no_score;
        std::int32_t rule = -1;
        for (const std::int32_t other : order.of_side(row.side)) {
            const double estimate = order.estimates[other] + batch.match_score(chart.first_match() + match, other);
            if (estimate > score) score = estimate, rule = other;
            if (batch.classes() == 1) break;
        }
        for (int k = 0; k < SentenceChart::arity(row); ++k) score += best[chart.cell(row.holes[k][0], row.holes[k][1])];
        const std::size_t cell = chart.cell(row.begin, row.end);
        if (score > best[cell]) best[cell] = score, chosen[cell] = {match, rule};
    }
    const std::int32_t length = chart.length();
    std::vector<double> sums(static_cast<std::size_t>(length) + 1, no_score);
    std::vector<std::int32_t> from(sums.size(), -1);
    sums[0] = 0;
    for (std::int32_t end = 1; end <= length; ++end)
        for (std::int32_t begin = std::max(0, end - chart.width()); begin < end; ++begin) {
            if (!batch.glue && (begin > 0 || end < length)) continue;
            const double score = sums[static_cast<std::size_t>(begin)] + best[chart.cell(begin, end)] + batch.glue_weight + batch.part_score(chart.sentence(), begin, end);
            if (score > sums[static_cast<std::size_t>(end)]) sums[static_cast<std::size_t>(end)] = score, from[static_cast<std::size_t>(end)] = begin;
        }
    std::vector<Edge> edges;
    if (sums.back() == no_score) return edges;
    std::vector<std::pair<std::int32_t, std::int32_t>> stack;
    for (std::int32_t end = length; end > 0; end = from[static_cast<std::size_t>(end)]) stack.push_back({from[static_cast<std::size_t>(end)], end});
    while (!stack.empty()) {
        const auto [begin, end] = stack.back();
        stack.pop_back();
        edges.push_back(chosen[chart.cell(begin, end)]);
        const MatchRow& row = chart.match(edges.back().match);
        for (int k = SentenceChart::arity(row); k-- > 0;) stack.push_back({row.holes[k][0], row.holes[k][1]});
    }
    return edges;
}

}  // namespace dragoman::sampling::chart
