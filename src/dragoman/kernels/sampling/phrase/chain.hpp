// A Markov chain over the derivations of one sentence (Arun et al. 2009; Arun's thesis, chapter 5).
//
// Each operator works at a point: a source word, a position between two source words, or two source words. A point and
// the derivation define a block of derivations, and every member of the block has the same block there; the operator
// draws a member by its probability within the block. So each step leaves the distribution as it is, in whatever order
// points are visited, as long as that order does not look at the derivation: points are places in the source, not phrases.
//
//   RETRANSLATE at a word: all options for the span of the phrase that begins there.
//   MERGE_SPLIT at a position: if one phrase covers it, or two phrases that meet there follow each other in the target,
//     all options for the span of both, and all pairs of options for its two parts. If the two are apart, or the other
//     way round, all pairs of options for them where they stand. No jump changes in either case.
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
#include "search/phrase/endings.hpp"
#include "search/phrase/neighbourhood.hpp"

#include <array>

namespace dragoman::sampling::phrase {

using search::phrase::Beginning;
using search::phrase::Change;
using search::phrase::Derivation;
using search::phrase::Endings;
using search::phrase::OptionsView;
using search::phrase::LocalSpace;
using search::phrase::Window;

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

    void set_temperature(double temperature) { sharpness_ = 1 / temperature; }

    // One step; returns whether the derivation changed.
    bool retranslate(std::int32_t word) {
        const std::int32_t phrase = proposal_.phrase_of(word);
        if (proposal_.begin(phrase) != word) return false;
        const auto options = proposal_.space().on_span(proposal_.begin(phrase), proposal_.end(phrase));
        if (options.size() == 1) return false;
        scores_.clear();
        add_singles(options, {phrase, phrase + 1});
        sums_.assign(options.size(), 1.0);
        const std::size_t drawn = draw(scores_, sums_);
        if (options[drawn] == proposal_.phrases()[phrase]) return false;
        return propose(replace(proposal_, {phrase, phrase + 1}, options[drawn]), scores_[drawn]);
    }

    bool merge_split(std::int32_t position) {
        const std::int32_t left = proposal_.phrase_of(position - 1), right = proposal_.phrase_of(position);
        const LocalSpace& space = proposal_.space();
        const std::int32_t begin = proposal_.begin(left), end = proposal_.end(right);
        const auto lefts = space.on_span(begin, position), rights = space.on_span(position, end);
        scores_.clear();
        if (right - left > 1 || right < left) {
            const bool forward = left < right;
            const auto ones = forward ? lefts : rights, others = forward ? rights : lefts;
            return draw_pair(std::min(left, right), std::max(left, right), {}, ones, others);
        }
        const auto merged = end - begin <= space.longest() ? space.on_span(begin, end) : std::span<const std::int32_t>{};
        add_singles(merged, {left, right + 1});
        return draw_pair(left, right, merged, lefts, rights);
    }

    bool reorder(std::int32_t one, std::int32_t other) {
        const std::int32_t left = proposal_.phrase_of(one), right = proposal_.phrase_of(other);
        if (left == right || proposal_.begin(left) != one || proposal_.begin(right) != other) return false;
        const Change change = exchange(proposal_, std::min(left, right), std::max(left, right));
        if (!proposal_.allows(change)) return false;
        const double difference = proposal_.difference(change);
        if (stream_.uniform() * (1 + std::exp(-difference * sharpness_)) >= 1) return false;
        return propose(change, difference);
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
    // The scores of single options in place of a window, less the present score.
    void add_singles(std::span<const std::int32_t> options, Window window) {
        if (options.empty()) return;
        LocalSpace& space = proposal_.space();
        const Beginning start = proposal_.before(window.first);
        space.read_all(start.lm, options, steps_);
        endings_.restart(proposal_, window.last);
        proposal_.seams(options, window.last, seams_);
        const LocalSpace::Joint joint = space.joint(start.previous, options[0]);
        for (std::size_t i = 0; i < options.size(); ++i) {
            Beginning beginning = start;
            proposal_.place(beginning, options[i], steps_[i], joint);
            scores_.push_back(beginning.score + seams_[i] + endings_.after(beginning.lm) - proposal_.score());
        }
    }

    // Draws either a single option (those whose scores are there already) or options for the phrases `first` and `second`
    // (the same if one phrase covers both). Pairs are drawn one after the other: the first by the sum over all seconds.
    bool draw_pair(std::int32_t first, std::int32_t second, std::span<const std::int32_t> singles, std::span<const std::int32_t> ones,
                   std::span<const std::int32_t> others) {
        const std::size_t width = others.size();
        if (width > 0 && !ones.empty()) add_rows(first, second, ones, others);
        if (scores_.size() == 1 && width < 2) return false;
        if (width == 0 || ones.empty()) sums_.assign(scores_.size(), 1.0);
        std::size_t drawn = draw(scores_, sums_);
        if (drawn < singles.size()) {
            if (first == second && singles[drawn] == proposal_.phrases()[first]) return false;
            return propose(replace(proposal_, {first, second + 1}, singles[drawn]), scores_[drawn]);
        }
        const Row& row = rows_[static_cast<std::size_t>(row_of_[drawn - singles.size()])];
        const double before = scores_[drawn] - row.peak;
        drawn -= singles.size();
        const std::size_t other = pick({row_weights_.data() + row.first, width}, row.sum);
        if (first != second && ones[drawn] == proposal_.phrases()[first] && others[other] == proposal_.phrases()[second]) return false;
        const Change change = Change()
                                  .keep(0, first)
                                  .place(ones[drawn])
                                  .keep(first + 1, second)
                                  .place(others[other])
                                  .keep(second + 1, proposal_.size());
        return propose(change, before + row_scores_[row.first + other]);
    }

    // All second options after a first: their scores depend on the state that it leaves, and on its exit class.
    struct Row {
        std::int32_t lm, exit;
        std::size_t first;  // of its scores and weights
        double peak, sum;   // of exp(sharpness * (score - peak))
    };

    void add_rows(std::int32_t first, std::int32_t second, std::span<const std::int32_t> ones, std::span<const std::int32_t> others) {
        LocalSpace& space = proposal_.space();
        rows_.clear();
        row_of_.clear();
        row_scores_.clear();
        const Beginning start = proposal_.before(first);
        space.read_all(start.lm, ones, steps_);
        endings_.restart(proposal_, second + 1);
        firsts_.clear();
        proposal_.seams(others, second + 1, seams_);
        for (std::size_t i = 0; i < others.size(); ++i) seams_[i] += space.options.local[others[i]];
        const LocalSpace::Joint joint = space.joint(start.previous, ones[0]);
        for (std::size_t i = 0; i < ones.size(); ++i) {
            Beginning beginning = start;
            proposal_.place(beginning, ones[i], steps_[i], joint);
            if (first + 1 < second) proposal_.keep(beginning, first + 1, second);
            firsts_.push_back(beginning.score - proposal_.score());
            row_of_.push_back(row_after(beginning, others));
        }
        sums_.assign(scores_.size(), 1.0);
        for (std::size_t i = 0; i < ones.size(); ++i) {
            const Row& row = rows_[static_cast<std::size_t>(row_of_[i])];
            scores_.push_back(firsts_[i] + row.peak);
            sums_.push_back(row.sum);
        }
    }

    // The row after a first option, which may be that of an earlier one.
    std::int32_t row_after(const Beginning& beginning, std::span<const std::int32_t> others) {
        LocalSpace& space = proposal_.space();
        const std::int32_t exit = space.exit_of(beginning.previous);
        for (std::size_t row = 0; row < rows_.size(); ++row)
            if (rows_[row].lm == beginning.lm && rows_[row].exit == exit) return static_cast<std::int32_t>(row);
        Row row{beginning.lm, exit, row_scores_.size(), -std::numeric_limits<double>::infinity(), 0};
        space.read_all(beginning.lm, others, row_steps_);
        const LocalSpace::Joint joint = space.joint(beginning.previous, others[0]);
        for (std::size_t i = 0; i < others.size(); ++i) {
            const double score = space.join(joint, others[i]) + row_steps_[i].score + seams_[i] + endings_.after(row_steps_[i].lm);
            row.peak = std::max(row.peak, score);
            row_scores_.push_back(score);
        }
        row_weights_.resize(row_scores_.size());
        for (std::size_t i = row.first; i < row_scores_.size(); ++i)
            row.sum += row_weights_[i] = std::exp(sharpness_ * (row_scores_[i] - row.peak));
        rows_.push_back(row);
        return static_cast<std::int32_t>(rows_.size()) - 1;
    }

    // Draws an index in proportion to factor * exp(sharpness * score).
    std::size_t draw(std::span<const double> scores, std::span<const double> factors) {
        const double peak = *std::max_element(scores.begin(), scores.end());
        weights_.resize(scores.size());
        double total = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) total += weights_[i] = factors[i] * std::exp(sharpness_ * (scores[i] - peak));
        return pick(weights_, total);
    }

    std::size_t pick(std::span<const double> weights, double total) {
        double wanted = stream_.uniform() * total;
        std::size_t picked = 0;
        while (picked + 1 < weights.size() && wanted >= weights[picked]) wanted -= weights[picked++];
        return picked;
    }

    bool accepts(double log_ratio) { return log_ratio >= 0 || stream_.uniform() < std::exp(log_ratio); }

    // Accepts a draw from a block, or not; `difference` is by how much it scores more as the proposal sees it.
    bool propose(const Change& change, double difference) {
        if (!whole_scans_ && (target_ || correction_ != nullptr)) {
            double gain = target_ ? target_->difference(change) - difference : 0;
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

    // Of the step under way, kept for their memory.
    std::vector<double> scores_, sums_, weights_, firsts_, seams_, row_scores_, row_weights_;
    std::vector<Row> rows_;
    std::vector<std::int32_t> row_of_, phrases_;
    std::vector<LocalSpace::Step> steps_, row_steps_;
    Endings endings_;
};

}  // namespace dragoman::sampling::phrase
