// A Markov chain over the derivations of a chart, p(derivation) ∝ exp(score / temperature), language models included.
//
// All moves draw from the forest without language models, in which the probability of what was drawn and of what it
// replaces is known up to the same factor, and accept by the rule of Metropolis and Hastings:
//   subtree  a node is chosen, uniformly among the N of the derivation, and what is below it is drawn anew from its span's
//            inside chart; the way back chooses the same node among N', so that the ratio has a factor N / N'.
//   rule     a node is chosen, and another rule with the same source side is drawn for it; nothing else changes.
//   glue     a part is chosen, uniformly among K, and one of the c ends of parts that are at most as far from its begin
//            as the longest span; the stretch between is cut into parts anew. The factor is K c / (K' c').
//   jump     everything is drawn anew.
// How many moves a scan has depends on the sentence alone, never on the derivation: else scans would not leave the
// distribution as it is.
#pragma once

#include "sampling/chart/derivation.hpp"
#include "sampling/chart/forest_proposal.hpp"
#include "sampling/global_function.hpp"

#include <optional>

namespace dragoman::sampling::chart {

// Features of a whole sentence, whose translation they see as symbols.
class SentenceFeatures {
public:
    SentenceFeatures(const GlobalFeatures& features, const ChartBatch& batch, std::size_t first_word,
                     std::size_t length)
        : features_(features), batch_(batch), first_word_(first_word), length_(length) {}

    bool any() const { return !features_.empty(); }

    // The weighted sum of the features of a derivation.
    double score(const ChartDerivation& derivation) {
        double sum = 0;
        for (const auto& feature : features_) {
            target_.clear();
            derivation.for_words([&](std::int32_t rule, std::size_t place) {
                target_.push_back(feature->words[static_cast<std::size_t>(batch_.first_word(rule)) + place]);
            });
            const std::int64_t source_offsets[] = {0, static_cast<std::int64_t>(length_)};
            const std::int64_t target_offsets[] = {0, static_cast<std::int64_t>(target_.size())};
            sum += feature->weight * call(feature->function(), view(feature->source).subspan(first_word_, length_),
                                          source_offsets, target_, target_offsets, 0);
        }
        return sum;
    }

private:
    const GlobalFeatures& features_;
    const ChartBatch& batch_;
    std::size_t first_word_, length_;
    std::vector<std::int32_t> target_;
};

enum Move : std::uint8_t { SUBTREE, RULE, GLUE, MOVES };

class ChartChain {
public:
    ChartChain(const SentenceChart& chart, ChartDerivation derivation, SentenceFeatures features, Stream stream)
        : chart_(chart), derivation_(std::move(derivation)), features_(std::move(features)), stream_(stream) {
        if (features_.any()) {
            trial_.emplace(derivation_);
            feature_score_ = features_.score(derivation_);
        }
    }

    const ChartDerivation& derivation() const { return derivation_; }
    Stream& stream() { return stream_; }
    double score() const { return derivation_.score() + feature_score_; }

    void set_temperature(double temperature, const ForestProposal& proposal) {
        sharpness_ = 1 / temperature;
        proposal_ = &proposal;
    }

    // Each returns whether the derivation is another one now.
    bool move(Move kind) {
        if (derivation_.size() == 0) return false;
        drawn_.clear();
        switch (kind) {
            case SUBTREE: return subtree();
            case RULE: return rule();
            default: return glue();
        }
    }

    bool jump() {
        drawn_.clear();
        if (derivation_.size() == 0 || !proposal_->draw_parts(stream_, space_, 0, chart_.length(), drawn_)) return false;
        return replace_parts(0, derivation_.parts(), [](double, double) { return 0.0; });
    }

private:
    bool subtree() {
        const auto node = static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(derivation_.size())));
        const MatchRow& match = derivation_.match(node);
        proposal_->draw_span(stream_, space_, match.begin, match.end, drawn_);
        const std::size_t count = derivation_.below(node);
        if (derivation_.has(node, count, drawn_)) return false;
        const double drawn = drawn_weight(node, count);
        const double gain = derivation_.propose_subtree(node, drawn_);
        return accept(gain, drawn, std::log(static_cast<double>(derivation_.size()) / static_cast<double>(derivation_.proposed_size())));
    }

    bool rule() {
        const auto node = static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(derivation_.size())));
        const Edge old = derivation_.edge(node);
        const Edge drawn{old.match, proposal_->draw_rule(stream_, old.match)};
        if (drawn == old) return false;
        const double gain = derivation_.propose_rule(node, drawn.rule);
        return accept(gain, proposal_->weight(drawn) - proposal_->weight(old), 0);
    }

    bool glue() {
        const std::size_t parts = derivation_.parts();
        const auto first = static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(parts)));
        const std::int32_t begin = derivation_.begin_of(first);
        std::size_t last = first;
        while (last < parts && derivation_.end_of_part(last) - begin <= chart_.width()) ++last;
        const auto ends = static_cast<double>(last - first);
        last = first + 1 + static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(last - first)));
        if (!proposal_->draw_parts(stream_, space_, begin, derivation_.end_of_part(last - 1), drawn_)) return false;
        return replace_parts(first, last, [&](double before, double after) { return std::log(before * ends / (after * (ends + after - before))); });
    }

    // `factor` has the logarithm of a factor of the ratio, given the number of parts before and after.
    template <class Factor>
    bool replace_parts(std::size_t first, std::size_t last, Factor&& factor) {
        const std::size_t node = derivation_.first_of(first), count = derivation_.first_of(last) - node;
        if (derivation_.has(node, count, drawn_)) return false;
        const double gain = derivation_.propose_parts(first, last, drawn_);
        const auto before = static_cast<double>(derivation_.parts()), after = static_cast<double>(derivation_.proposed_parts());
        double drawn = drawn_weight(node, count) + (after - before) * proposal_->glue();
        if (proposal_->has_part_scores()) {
            derivation_.for_proposed_parts([&](std::int32_t begin, std::int32_t end) { drawn += proposal_->part_weight(begin, end); });
            for (std::size_t part = first; part < last; ++part)
                drawn -= proposal_->part_weight(derivation_.begin_of(part), derivation_.end_of_part(part));
        }
        return accept(gain, drawn, factor(before, after));
    }

    // How much more likely, by its logarithm, the draw is than what it replaces.
    double drawn_weight(std::size_t first, std::size_t count) const {
        double sum = 0;
        for (const Edge& edge : drawn_) sum += proposal_->weight(edge);
        for (std::size_t i = 0; i < count; ++i) sum -= proposal_->weight(derivation_.edge(first + i));
        return sum;
    }

    // Of a proposal with this gain in score: `drawn` is how much more likely it was drawn than what it replaces would be.
    bool accept(double gain, double drawn, double factor) {
        if (!features_.any()) {
            if (!passes(sharpness_ * gain - drawn + factor)) return false;
            derivation_.commit();
            return true;
        }
        *trial_ = derivation_;
        trial_->commit();
        const double features = features_.score(*trial_);
        if (!passes(sharpness_ * (gain + features - feature_score_) - drawn + factor)) return false;
        std::swap(*trial_, derivation_);
        feature_score_ = features;
        return true;
    }

    bool passes(double log_ratio) { return log_ratio >= 0 || stream_.uniform() < std::exp(log_ratio); }

    const SentenceChart& chart_;
    ChartDerivation derivation_;
    SentenceFeatures features_;
    Stream stream_;
    const ForestProposal* proposal_ = nullptr;
    double sharpness_ = 1;
    double feature_score_ = 0;
    std::optional<ChartDerivation> trial_;
    DrawSpace space_;
    std::vector<Edge> drawn_;
};

}  // namespace dragoman::sampling::chart
