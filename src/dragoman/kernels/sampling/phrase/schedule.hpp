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
    // With a `joint` best, the chain is part of a document, as sentence `place`, and keeps no best of its own. A `settled`
    // chain needs no heating, and jumps after each scan.
    ScheduledChain(const Schedule& schedule, GibbsChain chain, const GlobalCorrection* correction, JumpProposal* jumps, JointBest* joint,
                   std::size_t place, bool settled)
        : schedule_(schedule), chain_(std::move(chain)), correction_(correction), jumps_(jumps), joint_(joint), place_(place),
          settled_(settled) {
        length_ = chain_.derivation().space().length();
        const int limit = chain_.derivation().space().model.reordering_limit;
        // Phrases that change places begin at most so far from each other. (Others might, in rare cases, by two jumps in
        // opposite directions; they would cost as much as all the rest.)
        reach_ = std::max(0, limit < 0 ? length_ - 1 : std::min(limit, length_ - 1));
        points_ = {std::max(0, length_ - 1), std::int64_t(length_) * reach_, length_};
        std::vector<Kind> used;
        for (std::uint8_t kind = 0; kind < KINDS; ++kind)
            if (schedule_.rates[kind] > 0) used.push_back(static_cast<Kind>(kind));
        for (std::size_t i = 0; i < used.size(); ++i) mirrored_[used[i]] = used[used.size() - 1 - i];
        if (schedule_.by_changes)
            for (auto& changes : changes_at_) changes.assign(static_cast<std::size_t>(length_), 0);
        if (joint_ == nullptr) note_best();
    }

    const Derivation& derivation() const { return chain_.derivation(); }
    Collector found;
    std::vector<std::int32_t> trace;
    Statistics<KINDS> statistics;
    double best_score = -std::numeric_limits<double>::infinity();  // with global features, of documents apart
    std::vector<std::int32_t> best;

    void begin_scan() { backward_ = chain_.whole_scans() && !schedule_.random && chain_.stream().uniform() < 0.5; }

    // One pass of a scan; returns false when the time is over.
    bool pass(Kind kind, double temperature, Watch& watch) {
        chain_.set_temperature(settled_ ? schedule_.temperature : temperature);
        if (schedule_.random) return random_pass(watch);
        return backward_ ? backward_pass(mirrored_[kind], watch) : systematic_pass(kind, watch);
    }

    // What comes after the passes of a scan.
    void end_scan(double temperature) {
        chain_.set_temperature(settled_ ? schedule_.temperature : temperature);
        if (chain_.whole_scans()) {
            ++statistics.scans_tested;
            const bool accepted = chain_.test_scan();
            statistics.scans_accepted += accepted;
            if (accepted) note_best();
        }
        if (schedule_.jump_every > 0 && ++scans_ % (settled_ ? 1 : schedule_.jump_every) == 0) jump();
    }

    // From here on, the points of random scans have fixed probabilities: half of them is uniform, so that no point is left
    // out, and half goes by the number of changes in the burn-in (plus 1).
    void end_burn_in() {
        if (!schedule_.by_changes || !cumulated_[0].empty()) return;
        for (std::size_t kind = 0; kind < KINDS; ++kind) {
            const auto first = static_cast<std::size_t>(kind == MERGES_AND_SPLITS);
            double total = 0, running = 0;
            for (std::size_t point = first; point < changes_at_[kind].size(); ++point) total += changes_at_[kind][point] + 1;
            const auto points = static_cast<double>(changes_at_[kind].size() - first);
            cumulated_[kind].assign(changes_at_[kind].size(), 0.0);
            for (std::size_t point = first; point < changes_at_[kind].size(); ++point)
                cumulated_[kind][point] = running += 0.5 / points + 0.5 * (changes_at_[kind][point] + 1) / total;
        }
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
                if (!begins_phrase(one)) continue;
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

    // The same steps in the opposite order.
    bool backward_pass(Kind kind, Watch& watch) {
        for (std::int32_t point = length_ - 1; point >= (kind == MERGES_AND_SPLITS ? 1 : 0); --point) {
            if (kind != REORDERINGS) {
                if (!step(kind, point, 0, watch)) return false;
                continue;
            }
            if (!begins_phrase(point)) continue;
            for (std::int32_t other = std::min(length_ - 1, point + reach_); other > point; --other)
                if (begins_phrase(other) && !step(kind, point, other, watch)) return false;
        }
        return true;
    }

    // Where the phrase ends that covers a source word.
    std::int32_t next_phrase(std::int32_t word) const { return chain_.drawn().end(chain_.drawn().phrase_of(word)); }
    bool begins_phrase(std::int32_t word) const { return chain_.drawn().begin(chain_.drawn().phrase_of(word)) == word; }

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
            const std::int32_t point = draw_point(static_cast<Kind>(kind));
            if (kind == REORDERINGS) {
                const auto other = point + 1 + static_cast<std::int32_t>(stream.below(reach_));
                if (other < length_ && !step(REORDERINGS, point, other, watch)) return false;
            } else if (!step(static_cast<Kind>(kind), point, 0, watch)) {
                return false;
            }
        }
        return true;
    }

    // A point of a random scan: uniform, or by the probabilities of `end_burn_in`.
    std::int32_t draw_point(Kind kind) {
        const std::int32_t first = kind == MERGES_AND_SPLITS ? 1 : 0;
        const auto& cumulated = cumulated_[kind];
        if (cumulated.empty()) return first + static_cast<std::int32_t>(chain_.stream().below(length_ - first));
        const double wanted = chain_.stream().uniform() * cumulated.back();
        const auto found = std::upper_bound(cumulated.begin() + first, cumulated.end() - 1, wanted);
        return static_cast<std::int32_t>(found - cumulated.begin());
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
        if (changed && schedule_.by_changes) ++changes_at_[kind][static_cast<std::size_t>(point)];
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
    bool settled_, backward_ = false;
    std::int32_t length_, reach_;
    std::array<std::int64_t, KINDS> points_;
    std::array<Kind, KINDS> mirrored_{};
    std::array<std::vector<double>, KINDS> changes_at_, cumulated_;  // by point, for `by_changes`
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
