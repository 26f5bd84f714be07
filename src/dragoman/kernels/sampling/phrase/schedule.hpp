// What a chain does in which order, and what is kept of it: scans, passes, jumps, collected derivations.
#pragma once

#include "sampling/collector.hpp"
#include "sampling/phrase/chain.hpp"
#include "sampling/phrase/forward_proposal.hpp"
#include "sampling/phrase/global_feature.hpp"
#include "sampling/phrase/lattice_proposal.hpp"
#include "sampling/schedule.hpp"

#include <array>
#include <cmath>
#include <optional>

namespace dragoman::sampling::phrase {

// Where jumps lead: mostly into the lattice, now and then anywhere, so that the chain can get everywhere.
class JumpProposal {
public:
    // Without a lattice, everything is drawn forward.
    JumpProposal(const LatticeProposal* lattice, PhraseSpace& space, double sharpness, double forward_share)
        : lattice_(lattice), forward_(space, sharpness), share_(lattice == nullptr ? 1.0 : forward_share) {}

    // Draws a derivation and returns the logarithm of its probability; nothing if the draw failed.
    std::optional<double> draw(Stream& stream, std::vector<std::int32_t>& derivation) {
        if (stream.uniform() < share_) {
            const auto forward = forward_.draw(stream, derivation);
            if (!forward) return std::nullopt;
            return mixed(lattice_ == nullptr ? no_score : lattice_->log_probability(derivation), *forward);
        }
        const double inside = lattice_->draw(stream, derivation);
        return mixed(inside, share_ > 0 ? forward_.log_probability(derivation) : no_score);
    }

    double log_probability(const std::vector<std::int32_t>& derivation) {
        return mixed(lattice_ == nullptr ? no_score : lattice_->log_probability(derivation),
                     share_ > 0 ? forward_.log_probability(derivation) : no_score);
    }

private:
    double mixed(double inside, double forward) const {
        LogSum sum;
        sum.add(inside + std::log1p(-share_));
        sum.add(forward + std::log(share_));
        return sum.value();
    }

    const LatticeProposal* lattice_;
    ForwardProposal forward_;
    double share_;
};

class JointBest;

// A chain with its schedule and all that it collects.
class ScheduledChain {
public:
    // With a `joint` best, the chain is part of a document, as sentence `place`, and keeps no best of its own.
    ScheduledChain(const Schedule& schedule, GibbsChain chain, const GlobalCorrection* correction, JumpProposal* jumps, JointBest* joint,
                   std::size_t place)
        : schedule_(schedule), chain_(std::move(chain)), correction_(correction), jumps_(jumps), joint_(joint), place_(place) {
        length_ = chain_.derivation().space().length();
        const int limit = chain_.derivation().space().model.reordering_limit;
        // Phrases that change places begin at most so far from each other. (Others might, in rare cases, by two jumps in
        // opposite directions; they would cost as much as all the rest.)
        reach_ = std::max(0, limit < 0 ? length_ - 1 : std::min(limit, length_ - 1));
        points_ = {std::max(0, length_ - 1), std::int64_t(length_) * reach_, length_};
        if (joint_ == nullptr) note_best();
    }

    const Derivation& derivation() const { return chain_.derivation(); }
    Collector found;
    std::vector<std::int32_t> trace;
    Statistics<KINDS> statistics;
    double best_score = -std::numeric_limits<double>::infinity();  // with global features, of documents apart
    std::vector<std::int32_t> best;

    // One pass of a scan; returns false when the time is over.
    bool pass(Kind kind, double temperature, Watch& watch) {
        chain_.set_temperature(temperature);
        return schedule_.random ? random_pass(watch) : systematic_pass(kind, watch);
    }

    // What comes after the passes of a scan.
    void end_scan(double temperature) {
        chain_.set_temperature(temperature);
        if (schedule_.jump_every > 0 && ++scans_ % schedule_.jump_every == 0) jump();
    }

    // Offers the present derivation as a sample; returns whether it became one.
    bool collect() {
        if (++offered_ % schedule_.thin != 0 || done()) return false;
        collect_now();
        return true;
    }

    // The present score, features of documents apart.
    double score() const { return derivation().score() + (correction_ == nullptr ? 0.0 : correction_->weighted(false)); }
    double document_score() const { return correction_ == nullptr ? 0.0 : correction_->weighted(true); }

    bool done() const { return statistics.collected >= schedule_.samples; }

    // Takes the present derivation as a sample, whatever the schedule says.
    void collect_now() {
        ++statistics.collected;
        const std::int32_t row = found.add(derivation().phrases(), derivation().score());
        if (schedule_.trace) trace.push_back(row);
    }

private:
    bool systematic_pass(Kind kind, Watch& watch) {
        if (kind == REORDERINGS) {
            for (std::int32_t one = 0; one < length_; ++one) {
                if (derivation().begin(derivation().phrase_of(one)) != one) continue;
                const std::int32_t stop = std::min(length_, one + reach_ + 1);
                for (std::int32_t other = next_phrase(one); other < stop; other = next_phrase(other))
                    if (!step(kind, one, other, watch)) return false;
            }
            return true;
        }
        for (std::int32_t point = kind == MERGES_AND_SPLITS ? 1 : 0; point < length_; ++point)
            if (!step(kind, point, 0, watch)) return false;
        return true;
    }

    // Where the phrase ends that covers a source word.
    std::int32_t next_phrase(std::int32_t word) const { return derivation().end(derivation().phrase_of(word)); }

    // As many steps as all systematic passes have, shared out among the passes.
    bool random_pass(Watch& watch) {
        std::array<double, KINDS> weights;
        std::int64_t steps = 0;
        double total = 0;
        for (std::size_t kind = 0; kind < KINDS; ++kind) {
            if (schedule_.rates[kind] > 0) steps += points_[kind];
            total += weights[kind] = schedule_.rates[kind] * static_cast<double>(points_[kind]);
        }
        if (total <= 0) return true;
        Stream& stream = chain_.stream();
        for (std::int64_t i = 0; i < (steps + schedule_.passes() - 1) / schedule_.passes(); ++i) {
            double wanted = stream.uniform() * total;
            std::size_t kind = 0;
            while (kind + 1 < KINDS && (wanted >= weights[kind] || weights[kind] == 0)) wanted -= weights[kind++];
            if (points_[kind] == 0 || weights[kind] == 0) continue;
            const auto point = static_cast<std::int32_t>(stream.below(kind == MERGES_AND_SPLITS ? length_ - 1 : length_));
            if (kind == REORDERINGS) {
                const auto other = point + 1 + static_cast<std::int32_t>(stream.below(reach_));
                if (other < length_ && !step(REORDERINGS, point, other, watch)) return false;
            } else if (!step(static_cast<Kind>(kind), kind == MERGES_AND_SPLITS ? point + 1 : point, 0, watch)) {
                return false;
            }
        }
        return true;
    }

    bool step(Kind kind, std::int32_t point, std::int32_t other, Watch& watch) {
        bool changed = false;
        switch (kind) {
            case MERGES_AND_SPLITS: changed = chain_.merge_split(point); break;
            case REORDERINGS: changed = chain_.reorder(point, other); break;
            default: changed = chain_.retranslate(point);
        }
        ++statistics.steps[kind];
        statistics.changes[kind] += changed;
        if (changed) note_best();
        return !watch.over();
    }

    void jump() {
        ++statistics.jumps;
        const auto probability = jumps_->draw(chain_.stream(), jump_);
        if (!probability) return;
        const bool accepted = chain_.jump(jump_, jumps_->log_probability(derivation().phrases()) - *probability);
        statistics.accepted += accepted;
        if (accepted) note_best();
    }

    void note_best();

    const Schedule& schedule_;
    GibbsChain chain_;
    const GlobalCorrection* correction_;
    JumpProposal* jumps_;
    JointBest* joint_;
    std::size_t place_;
    std::int32_t length_, reach_;
    std::array<std::int64_t, KINDS> points_;
    std::int64_t scans_ = 0, offered_ = 0;
    std::vector<std::int32_t> jump_;
};

// The best that the sentences of a document were in at the same time, which features of documents judge together.
class JointBest {
public:
    // Begins with the present derivations.
    void begin(std::vector<ScheduledChain*> chains) {
        chains_ = std::move(chains);
        scores_.resize(chains_.size());
        is_changed_.assign(chains_.size(), false);
        for (std::size_t i = 0; i < chains_.size(); ++i) mark(i);
        if (!chains_.empty()) note(0);
    }

    // After a change of one sentence. Only what has changed since the last best is written down.
    void note(std::size_t place) {
        mark(place);
        double total = chains_[place]->document_score();
        for (double score : scores_) total += score;
        if (!(total > score_)) return;
        score_ = total;
        for (std::size_t i : changed_) {
            chains_[i]->best_score = scores_[i];
            chains_[i]->best = chains_[i]->derivation().phrases();
            is_changed_[i] = false;
        }
        changed_.clear();
    }

    double score() const { return score_; }

private:
    void mark(std::size_t place) {
        scores_[place] = chains_[place]->score();
        if (!is_changed_[place]) changed_.push_back(place);
        is_changed_[place] = true;
    }

    std::vector<ScheduledChain*> chains_;
    std::vector<double> scores_;
    std::vector<bool> is_changed_;
    std::vector<std::size_t> changed_;
    double score_ = -std::numeric_limits<double>::infinity();
};

inline void ScheduledChain::note_best() {
    if (joint_ != nullptr) return joint_->note(place_);
    const double present = score();
    if (!(present > best_score)) return;
    best_score = present;
    best = derivation().phrases();
}

}  // namespace dragoman::sampling::phrase
