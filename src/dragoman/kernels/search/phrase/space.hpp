// The space of derivations of one sentence under a phrase-based model, shared by every search in it.
//
// A derivation is a sequence of options (phrase pairs placed on source spans) that covers each source word once, such
// that every jump |begin(next) - end(previous)| is at most the reordering limit. What a search must remember of a
// partial derivation is its coverage, the exit class of its last option (options of one class score alike as
// predecessors), and the states of the language models.
#pragma once

#include "base/open_addressing.hpp"
#include "lm/language_model.hpp"
#include "search/phrase/coverages.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace dragoman::search::phrase {

using lm::LanguageModelView;

// What a batch of sentences shares: weights, language models, limits.
struct PhraseModelView {
    std::vector<LanguageModelView> language_models;
    std::vector<std::int32_t> lm_orders;
    std::vector<std::int32_t> lm_starts;  // state after <s>
    std::vector<double> lm_weights;       // per natural-log unit
    double distortion_weight = 0;
    const double* boundary = nullptr;  // score of (right symbol of previous, left symbol of next), row-major
    std::int64_t boundary_columns = 0;
    int reordering_limit = 6;  // -1: none
};

// The options of one sentence, as columns; option i's words for language model k are words[k][word_offsets[i] ...].
struct OptionsView {
    std::int32_t count = 0;
    std::int32_t sentence_length = 0;
    const std::int32_t* begin;
    const std::int32_t* end;
    const double* local;
    const double* reorder_from;  // [count, 3]: score of the orientation towards the previous option
    const double* reorder_to;    // [count, 3]: score of the orientation towards the next option
    const std::int32_t* exit;    // exit class
    const std::int32_t* left;    // boundary symbols
    const std::int32_t* right;
    const std::int64_t* word_offsets;
    std::vector<const std::int32_t*> words;
};

enum Orientation { MONOTONE = 0, SWAP = 1, OTHER = 2 };

// Scores of options in context: language models, distortion, orientation, boundary symbols.
class PhraseSpace {
public:
    struct Step {
        double score;     // weighted, of all language models
        std::int32_t lm;  // the combined state that follows
    };

    PhraseSpace(const PhraseModelView& model, const OptionsView& options);

    const PhraseModelView& model;
    const OptionsView& options;
    Coverages coverages;

    std::int32_t length() const { return options.sentence_length; }

    // The options on a span, best estimate first.
    std::span<const std::int32_t> on_span(std::int32_t begin, std::int32_t end) const {
        const std::size_t at = cell(begin, end);
        return {order_.data() + first_[at], order_.data() + first_[at + 1]};
    }
    std::int32_t longest() const { return longest_; }

    // Local score plus the language models' score of the option's words without context: what an option is worth alone.
    double estimate(std::int32_t option) const { return estimates[option]; }

    // Whether the scores of all options are numbers that can be added up; in step with LARGEST_SCORE in search/batch.py.
    bool is_finite() const;

    std::int32_t start_lm() const { return start_lm_; }

    // Language models' scores of all options on a span after the combined state `lm`, in the order of `on_span`: those that
    // nobody has read yet have the state `unread`; `mark` is 0 before, or what the caller left. Good until the next call.
    struct SpanRow {
        Step* steps;
        std::uint32_t& mark;
    };
    static constexpr std::int32_t unread = -1;
    SpanRow span_row(std::int32_t lm, std::int32_t begin, std::int32_t end) {
        const std::uint64_t key = span_key(lm, begin, end);
        std::size_t at = mix(key) & (span_slots_.size() - 1);
        for (; span_slots_[at].key != 0; at = (at + 1) & (span_slots_.size() - 1))
            if (span_slots_[at].key == key) return {span_steps_.data() + span_slots_[at].first, span_slots_[at].mark};
        return add_row(on_span(begin, end).size(), key, at);
    }
    const Step& read(const SpanRow& row, std::size_t i, std::int32_t lm, std::int32_t option) {
        if (row.steps[i].lm == unread) row.steps[i] = read_words(lm, option);
        return row.steps[i];
    }

    // Reads </s>.
    double finish(std::int32_t lm);

    // Everything that depends on two neighbouring options apart from language models; previous -1 is the sentence start.
    double join(std::int32_t previous, std::int32_t option) const { return join(joint(previous, option), option); }

    // What all options on the span of `option` have in common after a previous one.
    struct Joint {
        double score;  // distortion, and the previous option's side of the orientation
        std::int32_t orientation, right;
    };
    Joint joint(std::int32_t previous, std::int32_t option) const {
        const std::int32_t orientation = this->orientation(previous, option);
        const double jump = -model.distortion_weight * std::abs(options.begin[option] - end_of(previous));
        if (previous < 0) return {jump, orientation, 0};
        return {jump + options.reorder_to[3 * previous + orientation], orientation, options.right[previous]};
    }
    double join(const Joint& joint, std::int32_t option) const {
        return joint.score + options.reorder_from[3 * option + joint.orientation] + boundary(joint.right, options.left[option]);
    }

    // Calls visit(i, join(previous[i], option)) for previous options that are all on one span.
    template <class Visit>
    void join_all(std::span<const std::int32_t> previous, std::int32_t option, Visit&& visit) const {
        const std::int32_t orientation = this->orientation(previous[0], option);
        const double score = -model.distortion_weight * std::abs(options.begin[option] - end_of(previous[0])) +
                             options.reorder_from[3 * option + orientation];
        for (std::size_t i = 0; i < previous.size(); ++i)
            visit(i, score + options.reorder_to[3 * previous[i] + orientation] + boundary(options.right[previous[i]], options.left[option]));
    }

    // The boundary between the last option and the sentence's end.
    double close(std::int32_t previous) const { return boundary(previous < 0 ? 0 : options.right[previous], 0); }

    std::int32_t orientation(std::int32_t previous, std::int32_t option) const {
        if (options.begin[option] == end_of(previous)) return MONOTONE;
        return previous >= 0 && options.end[option] == options.begin[previous] ? SWAP : OTHER;
    }

    std::int32_t end_of(std::int32_t option) const { return option < 0 ? 0 : options.end[option]; }
    std::int32_t exit_of(std::int32_t option) const { return option < 0 ? -1 : options.exit[option]; }

    bool within_limit(std::int32_t previous_end, std::int32_t begin) const {
        return model.reordering_limit < 0 || std::abs(begin - previous_end) <= model.reordering_limit;
    }

    // Words [begin, end), none of which is covered; those around them are, or there are none.
    struct Gap {
        std::int32_t begin, end;
    };
    void find_gaps(std::int32_t coverage, std::vector<Gap>& gaps) const;

    // What the words in gaps will score once words [begin, end) of one of them have been translated: their best options,
    // and the jumps between gaps, from left to right.
    double future(std::span<const Gap> gaps, std::int32_t begin, std::int32_t end) const;

    // The best options of words [begin, end), alone.
    double gap(std::int32_t begin, std::int32_t end) const {
        if (end == length()) return suffix_[begin].score;
        if (begin == end) return 0;
        double total = 0;
        for (; end - begin > width_; begin += width_) total += stretch(begin, begin + width_).score;
        return total + stretch(begin, end).score;
    }

    // The most that `join` can be with any option.
    double most_join(const Joint& joint) const { return joint.score + most_entry_[static_cast<std::size_t>(joint.orientation)]; }

    // The best that an option on a span scores after a previous one, with its estimate.
    double best_join(const Joint& joint, std::int32_t begin, std::int32_t end) const {
        if (model.boundary == nullptr) return joint.score + entries_[3 * cell(begin, end) + static_cast<std::size_t>(joint.orientation)];
        double best = -std::numeric_limits<double>::infinity();
        for (const std::int32_t option : on_span(begin, end)) best = std::max(best, join(joint, option) + estimate(option));
        return best;
    }

    std::size_t lms() const { return model.language_models.size(); }
    std::int32_t state(std::int32_t lm, std::size_t k) const { return lms() == 1 ? lm : states_[static_cast<std::size_t>(lm) * lms() + k]; }

protected:
    // Words as a language model reads them: their score, and the state after them.
    struct Alone {
        double score;
        std::int32_t state;
    };

    static double natural(float log10) { return double(log10) * std::numbers::ln10; }

    // Reads option's words after a combined state, or after a state of language model k. Only the first order - 1 words
    // depend on what came before, and only until the state is that without context; the rest is known beforehand.
    Step read_words(std::int32_t lm, std::int32_t option);
    Alone read_words(std::size_t k, std::int32_t state, std::int32_t option) const;

private:
    struct SpanSlot {
        std::uint64_t key = 0;
        std::uint32_t first = 0, mark = 0;
    };
    // 64 MB; when they are full, all are forgotten.
    static constexpr std::size_t kMostSpanSteps = std::size_t{1} << 22;

    std::uint64_t span_key(std::int32_t lm, std::int32_t begin, std::int32_t end) const {
        const std::int64_t cell = std::int64_t(begin) * longest_ + end - begin;  // from 1
        return std::uint64_t(static_cast<std::uint32_t>(lm)) << 32 | static_cast<std::uint32_t>(cell);
    }

    double boundary(std::int32_t right, std::int32_t left) const {
        return model.boundary == nullptr ? 0.0 : model.boundary[right * model.boundary_columns + left];
    }

    SpanRow add_row(std::size_t options, std::uint64_t key, std::size_t at);

    void index_spans();

    std::size_t cell(std::int32_t begin, std::int32_t end) const {
        return static_cast<std::size_t>(begin) * static_cast<std::size_t>(longest_) + static_cast<std::size_t>(end - begin - 1);
    }
    std::size_t cell(std::int32_t option) const { return cell(options.begin[option], options.end[option]); }

    void prepare_language_models();

    // Best score of every span up to a width, from options and from splits; longer gaps are summed from pieces.
    void prepare_future();

    // The best options of some words alone: their score, and the first and the last of them.
    struct Stretch {
        double score;
        std::int32_t first, last;
    };
    static constexpr Stretch no_stretch{-std::numeric_limits<double>::infinity(), -1, -1};
    static void improve(Stretch& best, const Stretch& left, const Stretch& right) {
        if (left.score + right.score > best.score) best = {left.score + right.score, left.first, right.first < 0 ? left.last : right.last};
    }
    std::size_t stretch_at(std::int32_t begin, std::int32_t end) const { return static_cast<std::size_t>(begin) * width_ + (end - begin - 1); }
    const Stretch& stretch(std::int32_t begin, std::int32_t end) const { return stretches_[stretch_at(begin, end)]; }

    std::int32_t intern_states(const std::vector<std::int32_t>& states);

    void grow_span_slots();

    std::int32_t longest_ = 1, width_ = 0, start_lm_ = 0;
    std::vector<std::int32_t> order_, first_;
    std::vector<double> estimates, entries_;
    std::array<double, 3> most_entry_;  // of all options, for each orientation
    std::vector<Stretch> stretches_, suffix_;
    std::vector<Alone> alone_;   // for each language model: the words of all options
    std::vector<double> tails_;  // and the score of the words of each whose context lies inside the option
    std::vector<SpanSlot> span_slots_;
    std::vector<Step> span_steps_;
    std::size_t span_rows_ = 0;
    std::vector<std::int32_t> states_, next_;
    NumberTable state_ids_{64};
};

}  // namespace dragoman::search::phrase
