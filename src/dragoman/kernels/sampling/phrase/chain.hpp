// A Markov chain over the derivations of one sentence (Arun et al. 2009; Arun's thesis, chapter 5).
//
// Each operator works at a point: a source word, a position between two source words, or two source words. A point and
// the derivation define a block of derivations, and every member of the block has the same block there; the operator
// draws a member by its probability within the block. So each step leaves the distribution as it is, in whatever order
// points are visited, as long as that order does not look at the derivation: points are places in the source, not phrases.
//
//   RETRANSLATE at a word: all options for the span of the phrase that begins there.
//   MERGE_SPLIT at a position: if one phrase covers it, or two phrases that meet there follow each other in the target,
//     all options for the span of both, and all pairs of options for its two parts, so that no jump changes. If the two are
//     apart, or the other way round, nothing: RETRANSLATE has other options for them.
//   REORDER at two words: the phrases that begin there stand as they do, or change places, if no jump gets too long.
//
// The chain may draw from one model (the proposal) and have the distribution of another (the target), with whatever a
// `Correction` adds: a draw is then accepted by the Metropolis-Hastings rule. Because a draw does not depend on which
// member of the block the chain is in, its ratio is that of the targets over that of the proposals.
//
// Whole scans can be accepted or rejected instead (thesis, 8.2.1), so that the target is asked once a scan. Let p~ be the
// proposal's distribution and S the kernel of a scan under it. If S is reversible, p~(d) S(d, d') = p~(d') S(d', d), and the
// ratio is p(d') p~(d) / (p(d) p~(d')). Each step K_i is reversible, as it draws from a block by p~. A scan in a fixed order
// is not: F = K_1 ... K_n has the adjoint B = K_n ... K_1. But (F + B) / 2 is its own adjoint: a fair coin says whether the
// scan goes forward or backward. A scan of n random points is the n-th power of a mixture of the K_i, and reversible too.
#pragma once

#include "base/random_stream.hpp"
#include "sampling/phrase/block.hpp"
#include "sampling/phrase/block_memo.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dragoman::sampling::phrase {

using search::phrase::OptionsView;

// What steps there are, in the order in which a scan makes them.
enum Kind : std::uint8_t { MERGES_AND_SPLITS, REORDERINGS, RETRANSLATIONS, KINDS };

// What the score of a derivation has beside the phrase model's.
class Correction {
public:
    virtual ~Correction() = default;
    // What the derivation in its place would have more than the present one; remembers it.
    virtual double gain(const std::vector<std::int32_t>& phrases) = 0;
    // Makes the derivation of the last call the present one.
    virtual void accept() = 0;
};

class GibbsChain {
public:
    // `target` may be null: the proposal is the target then. So may `correction`. With `whole_scans` and a target, steps are
    // accepted or rejected together, by `test_scan`.
    GibbsChain(LocalSpace& proposal, LocalSpace* target, Correction* correction, std::vector<std::int32_t> start, Stream stream,
               bool whole_scans = false)
        : proposal_(proposal, start), stream_(stream), correction_(correction), whole_scans_(whole_scans && target != nullptr) {
        if (target != nullptr) target_.emplace(*target, std::move(start));
    }

    // The present derivation, scored by the target (without the correction).
    const Derivation& derivation() const { return target_ ? *target_ : proposal_; }
    // The same, but within a scan that is not yet tested what it has drawn so far.
    const Derivation& drawn() const { return proposal_; }
    Stream& stream() { return stream_; }
    bool whole_scans() const { return whole_scans_; }

    void set_temperature(double temperature) {
        if (sharpness_ != 1 / temperature) memo_.restart();
        sharpness_ = 1 / temperature;
    }

    // One step; returns whether the derivation changed.
    bool retranslate(std::int32_t word) {
        block_.retranslate(proposal_, word);
        return draw(RETRANSLATIONS, word);
    }

    bool merge_split(std::int32_t position) {
        const std::int32_t left = proposal_.phrase_of(position - 1), right = proposal_.phrase_of(position);
        if (left != right && left + 1 != right) return false;
        block_.merge_split(proposal_, position);
        return draw(MERGES_AND_SPLITS, position);
    }

    bool reorder(std::int32_t one, std::int32_t other) {
        const std::int32_t left = proposal_.phrase_of(one), right = proposal_.phrase_of(other);
        if (left == right || proposal_.begin(left) != one || proposal_.begin(right) != other) return false;
        const Change change = exchange(proposal_, std::min(left, right), std::max(left, right));
        if (!proposal_.allows(change)) return false;
        const double difference = proposal_.difference(change);
        if (stream_.uniform() * (1 + std::exp(-difference * sharpness_)) >= 1) return false;
        return propose(change);
    }

    // Accepts the steps since the last test, or takes all of them back; returns whether they were accepted.
    bool test_scan() {
        const std::vector<std::int32_t> drawn = proposal_.phrases();
        if (drawn == target_->phrases()) return true;
        const double proposed = proposal_.score();
        const Derivation changed(target_->space(), drawn);
        proposal_.become(target_->phrases());
        double gain = (changed.score() - target_->score()) - (proposed - proposal_.score());
        if (correction_ != nullptr) gain += correction_->gain(drawn);
        if (!accepts(gain * sharpness_)) return false;
        if (correction_ != nullptr) correction_->accept();
        target_->become(drawn);
        proposal_.become(drawn);
        return true;
    }

    // Proposes a whole derivation, however it was made; `log_ratio` is the logarithm of the probability to propose the
    // present derivation less that to propose the new one.
    bool jump(const std::vector<std::int32_t>& phrases, double log_ratio) {
        if (phrases == proposal_.phrases()) return true;
        const Derivation changed(derivation().space(), phrases);
        double gain = changed.score() - derivation().score();
        if (correction_ != nullptr) gain += correction_->gain(phrases);
        if (!accepts(gain * sharpness_ + log_ratio)) return false;
        if (correction_ != nullptr) correction_->accept();
        if (target_) target_->become(phrases);
        proposal_.become(phrases);
        return true;
    }

private:
    // Draws a member of a kind's block at a point, in proportion to exp(sharpness * score).
    bool draw(Kind kind, std::int32_t point) {
        if (block_.size() == 1) return false;
        const Window window = block_.window();
        key_.assign({kind, point, proposal_.begin(window.first), proposal_.end(window.last - 1)});
        proposal_.context(window.first, window.last, key_);
        auto weights = memo_.find(key_);
        if (weights.empty()) {
            block_.score();
            cumulate(block_.scores());
            memo_.add(key_, cumulated_);
            weights = cumulated_;
        }
        const double wanted = stream_.uniform() * weights.back();
        const auto drawn = static_cast<std::size_t>(std::upper_bound(weights.begin(), weights.end() - 1, wanted) - weights.begin());
        return drawn != block_.present() && propose(block_.change(drawn));
    }

    void cumulate(std::span<const double> scores) {
        const double peak = *std::ranges::max_element(scores);
        cumulated_.resize(scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i) cumulated_[i] = std::exp(sharpness_ * (scores[i] - peak));
        std::partial_sum(cumulated_.begin(), cumulated_.end(), cumulated_.begin());
    }

    bool accepts(double log_ratio) { return log_ratio >= 0 || stream_.uniform() < std::exp(log_ratio); }

    // Accepts a draw from a block, or not.
    bool propose(const Change& change) {
        if (!whole_scans_ && (target_ || correction_ != nullptr)) {
            double gain = target_ ? target_->difference(change) - proposal_.difference(change) : 0;
            if (correction_ != nullptr) {
                proposal_.changed(change, phrases_);
                gain += correction_->gain(phrases_);
            }
            if (!accepts(gain * sharpness_)) return false;
            if (correction_ != nullptr) correction_->accept();
            if (target_) target_->apply(change);
        }
        proposal_.apply(change);
        return true;
    }

    Derivation proposal_;
    std::optional<Derivation> target_;
    Stream stream_;
    Correction* correction_;
    bool whole_scans_;
    double sharpness_ = 1;

    BlockMemo memo_;

    // Of the step under way, kept for their memory.
    PhraseBlock block_;
    std::vector<double> cumulated_;
    std::vector<std::int32_t> key_, phrases_;
};

}  // namespace dragoman::sampling::phrase
