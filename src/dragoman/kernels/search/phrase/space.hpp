// The space of derivations of one sentence under a phrase-based model, shared by every search in it.
//
// A derivation is a sequence of options (phrase pairs placed on source spans) that covers each source word once, such
// that every jump |begin(next) - end(previous)| is at most the reordering limit. What a search must remember of a
// partial derivation is its coverage, the exit class of its last option (options of one class score alike as
// predecessors), and the states of the language models.
#pragma once

#include "base/hashing.hpp"
#include "lm/language_model.hpp"
#include "search/phrase/coverages.hpp"

#include <algorithm>
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

    PhraseSpace(const PhraseModelView& model, const OptionsView& options)
        : model(model), options(options), coverages(options.sentence_length), order_(static_cast<std::size_t>(options.count)),
          estimates(static_cast<std::size_t>(options.count)), cache_(1 << 12), cache_mask_(cache_.size() - 1), span_slots_(1 << 10) {
        index_spans();
        prepare_language_models();
        prepare_future();
    }

    const PhraseModelView& model;
    const OptionsView& options;
    Coverages coverages;

    std::int32_t length() const { return options.sentence_length; }

    // The options on a span, best estimate first.
    std::span<const std::int32_t> on_span(std::int32_t begin, std::int32_t end) const {
        const std::size_t cell = static_cast<std::size_t>(begin) * static_cast<std::size_t>(longest_) + static_cast<std::size_t>(end - begin - 1);
        return {order_.data() + first_[cell], order_.data() + first_[cell + 1]};
    }
    std::int32_t longest() const { return longest_; }

    // Local score plus the language models' score of the option's words without context: what an option is worth alone.
    double estimate(std::int32_t option) const { return estimates[option]; }

    std::int32_t start_lm() const { return start_lm_; }

    // Reads option's words after the combined language model state `lm`.
    Step read(std::int32_t lm, std::int32_t option) {
        const std::uint64_t key = std::uint64_t(static_cast<std::uint32_t>(lm)) << 32 | static_cast<std::uint32_t>(option + 1);
        std::size_t at = mix(key) & cache_mask_;
        for (; cache_[at].key != 0; at = (at + 1) & cache_mask_)
            if (cache_[at].key == key) return cache_[at].step;
        const Step step = read_words(lm, option);
        cache_[at] = {key, step};
        if (++cached_ * 2 > cache_.size()) grow_cache();
        return step;
    }

    // Language models' scores are remembered as weighted: after a change of weights, they must be forgotten.
    void forget_scores() {
        cache_.assign(std::size_t{1} << 9, {});
        cache_mask_ = cache_.size() - 1;
        cached_ = 0;
        span_slots_.assign(std::size_t{1} << 8, {});
        span_steps_.clear();
        span_rows_ = 0;
    }
    // How many scores are remembered.
    std::size_t remembered() const { return cached_ + span_steps_.size(); }

    // Says that `read` will be called soon.
    void prefetch(std::int32_t lm, std::int32_t option) const {
        const std::uint64_t key = std::uint64_t(static_cast<std::uint32_t>(lm)) << 32 | static_cast<std::uint32_t>(option + 1);
        __builtin_prefetch(&cache_[mix(key) & cache_mask_]);
    }

    // The same for all options on a span, in the order of `on_span`; good until the next call.
    const Step* read_span(std::int32_t lm, std::int32_t begin, std::int32_t end) {
        const std::uint64_t key = span_key(lm, begin, end);
        std::size_t at = mix(key) & (span_slots_.size() - 1);
        for (; span_slots_[at].key != 0; at = (at + 1) & (span_slots_.size() - 1))
            if (span_slots_[at].key == key) return span_steps_.data() + span_slots_[at].first;
        const auto options = on_span(begin, end);
        if (span_steps_.size() + options.size() > kMostSpanSteps) {
            span_steps_.clear();
            std::fill(span_slots_.begin(), span_slots_.end(), SpanSlot{});
            span_rows_ = 0;
            at = mix(key) & (span_slots_.size() - 1);
        }
        const std::size_t first = span_steps_.size();
        span_slots_[at] = {key, first};
        for (std::int32_t option : options) span_steps_.push_back(read_words(lm, option));
        if (++span_rows_ * 2 > span_slots_.size()) grow_span_slots();
        return span_steps_.data() + first;
    }

    // Says that `read_span` will be called soon, in two stages.
    void prefetch_slot(std::int32_t lm, std::int32_t begin, std::int32_t end) const {
        __builtin_prefetch(&span_slots_[mix(span_key(lm, begin, end)) & (span_slots_.size() - 1)]);
    }
    void prefetch_steps(std::int32_t lm, std::int32_t begin, std::int32_t end) const {
        const std::uint64_t key = span_key(lm, begin, end);
        const SpanSlot& slot = span_slots_[mix(key) & (span_slots_.size() - 1)];
        if (slot.key == key)
            for (std::size_t i = 0; i < on_span(begin, end).size(); i += 4) __builtin_prefetch(span_steps_.data() + slot.first + i);
    }

    // Reads </s>.
    double finish(std::int32_t lm) {
        double score = 0;
        for (std::size_t k = 0; k < lms(); ++k)
            score += model.lm_weights[k] * natural(model.language_models[k].query(state(lm, k), 2));
        return score;
    }

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

    // An optimistic estimate of what the uncovered words will still score.
    double future(std::int32_t coverage) {
        if (coverage >= static_cast<std::int32_t>(futures_.size())) futures_.resize(coverages.size(), std::numeric_limits<double>::quiet_NaN());
        double& value = futures_[coverage];
        if (!std::isnan(value)) return value;
        value = 0;
        for (std::int32_t p = coverages.first_gap(coverage); p < length();) {
            if (coverages.covers(coverage, p)) {
                ++p;
                continue;
            }
            std::int32_t end = p;
            while (end < length() && !coverages.covers(coverage, end)) ++end;
            value += gap(p, end);
            p = end;
        }
        return value;
    }

    // The same for words [begin, end), all of them uncovered.
    double gap(std::int32_t begin, std::int32_t end) {
        if (end == length()) return suffix_[begin];
        if (begin == end) return 0;
        double total = 0;
        for (; end - begin > width_; begin += width_) total += span(begin, begin + width_);
        return total + span(begin, end);
    }

    std::size_t lms() const { return model.language_models.size(); }
    std::int32_t state(std::int32_t lm, std::size_t k) const { return lms() == 1 ? lm : states_[static_cast<std::size_t>(lm) * lms() + k]; }

private:
    struct Cached {
        std::uint64_t key = 0;
        Step step{0, 0};
    };

    struct SpanSlot {
        std::uint64_t key = 0;
        std::size_t first = 0;
    };
    // 64 MB; when they are full, all are forgotten.
    static constexpr std::size_t kMostSpanSteps = std::size_t{1} << 22;

    std::uint64_t span_key(std::int32_t lm, std::int32_t begin, std::int32_t end) const {
        const std::int64_t cell = std::int64_t(begin) * longest_ + end - begin;  // from 1
        return std::uint64_t(static_cast<std::uint32_t>(lm)) << 32 | static_cast<std::uint32_t>(cell);
    }

    static double natural(LanguageModelView::Entry entry) { return double(entry.log10) * std::numbers::ln10; }

    double boundary(std::int32_t right, std::int32_t left) const {
        return model.boundary == nullptr ? 0.0 : model.boundary[right * model.boundary_columns + left];
    }

    void index_spans() {
        longest_ = 1;
        for (std::int32_t i = 0; i < options.count; ++i) longest_ = std::max(longest_, options.end[i] - options.begin[i]);
        first_.assign(static_cast<std::size_t>(length()) * longest_ + 1, 0);
        for (std::int32_t i = 0; i < options.count; ++i) ++first_[cell(i) + 1];
        for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
        std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
        for (std::int32_t i = 0; i < options.count; ++i) order_[next[cell(i)]++] = i;
    }

    std::size_t cell(std::int32_t option) const {
        return static_cast<std::size_t>(options.begin[option]) * longest_ + (options.end[option] - options.begin[option] - 1);
    }

    void prepare_language_models() {
        heads_.assign(static_cast<std::size_t>(options.count) * lms(), {});
        for (std::int32_t i = 0; i < options.count; ++i) {
            estimates[i] = options.local[i];
            const std::int64_t words = options.word_offsets[i + 1] - options.word_offsets[i];
            for (std::size_t k = 0; k < lms(); ++k) {
                Tail& tail = heads_[static_cast<std::size_t>(i) * lms() + k];
                const std::int64_t head = model.lm_orders[k] - 1;
                std::int32_t state = 0;
                double all = 0;
                for (std::int64_t w = 0; w < words; ++w) {
                    const auto found = model.language_models[k].query(state, options.words[k][options.word_offsets[i] + w]);
                    all += natural(found);
                    if (w >= head) tail.score += natural(found);
                    state = found.state;
                }
                tail.state = state;
                estimates[i] += model.lm_weights[k] * all;
            }
        }
        for (std::size_t c = 0; c + 1 < first_.size(); ++c)
            std::stable_sort(order_.begin() + first_[c], order_.begin() + first_[c + 1],
                             [&](std::int32_t a, std::int32_t b) { return estimates[a] > estimates[b]; });
        if (lms() == 1) {
            start_lm_ = model.lm_starts[0];
        } else {
            start_lm_ = intern_states(model.lm_starts);
        }
    }

    // Best score of every span up to a width, from options and from splits; longer gaps are summed from pieces.
    void prepare_future() {
        const std::int32_t n = length();
        width_ = std::min(n, std::max(128, longest_));
        constexpr double none = -std::numeric_limits<double>::infinity();
        spans_.assign(static_cast<std::size_t>(n) * width_, none);
        suffix_.assign(static_cast<std::size_t>(n) + 1, 0);
        for (std::int32_t i = 0; i < options.count; ++i) {
            double& best = span(options.begin[i], options.end[i]);
            best = std::max(best, estimates[i]);
        }
        for (std::int32_t size = 2; size <= width_; ++size)
            for (std::int32_t begin = 0; begin + size <= n; ++begin) {
                double best = span(begin, begin + size);
                for (std::int32_t split = begin + 1; split < begin + size; ++split)
                    best = std::max(best, span(begin, split) + span(split, begin + size));
                span(begin, begin + size) = best;
            }
        for (std::int32_t begin = n - 1; begin >= 0; --begin) {
            double best = none;
            for (std::int32_t end = begin + 1; end <= std::min(n, begin + longest_); ++end)
                best = std::max(best, span(begin, end) + suffix_[end]);
            suffix_[begin] = best;
        }
    }

    double& span(std::int32_t begin, std::int32_t end) { return spans_[static_cast<std::size_t>(begin) * width_ + (end - begin - 1)]; }

    // Only the first order - 1 words depend on what came before; the rest is known beforehand.
    Step read_words(std::int32_t lm, std::int32_t option) {
        const std::int64_t first = options.word_offsets[option], words = options.word_offsets[option + 1] - first;
        Step step{0, lm};
        next_.resize(lms());
        for (std::size_t k = 0; k < lms(); ++k) {
            const std::int64_t head = model.lm_orders[k] - 1;
            std::int32_t at = state(lm, k);
            double score = 0;
            for (std::int64_t w = 0; w < std::min(words, head); ++w) {
                const auto found = model.language_models[k].query(at, options.words[k][first + w]);
                score += natural(found);
                at = found.state;
            }
            const Tail& tail = heads_[static_cast<std::size_t>(option) * lms() + k];
            if (words > head) {
                score += tail.score;
                at = tail.state;
            }
            step.score += model.lm_weights[k] * score;
            next_[k] = at;
        }
        if (lms() == 1) step.lm = next_[0];
        if (lms() > 1) step.lm = intern_states(next_);
        return step;
    }

    std::int32_t intern_states(const std::vector<std::int32_t>& states) {
        if (lms() == 0) return 0;
        if (state_slots_.empty()) state_slots_.assign(64, -1);
        auto slot = [&](std::span<const std::int32_t> wanted) {
            std::size_t at = hash(wanted) & (state_slots_.size() - 1);
            while (state_slots_[at] >= 0 &&
                   !std::equal(wanted.begin(), wanted.end(), states_.begin() + static_cast<std::ptrdiff_t>(state_slots_[at] * lms())))
                at = (at + 1) & (state_slots_.size() - 1);
            return at;
        };
        const std::size_t at = slot(states);
        if (state_slots_[at] >= 0) return state_slots_[at];
        const auto id = static_cast<std::int32_t>(states_.size() / lms());
        state_slots_[at] = id;
        states_.insert(states_.end(), states.begin(), states.end());
        if (states_.size() / lms() * 2 > state_slots_.size()) {
            state_slots_.assign(state_slots_.size() * 2, -1);
            for (std::size_t i = 0; i < states_.size() / lms(); ++i)
                state_slots_[slot({states_.data() + i * lms(), lms()})] = static_cast<std::int32_t>(i);
        }
        return id;
    }

    static std::uint64_t hash(std::span<const std::int32_t> values) {
        std::uint64_t h = 0;
        for (std::int32_t value : values) h = mix(h * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(value));
        return h;
    }

    void grow_cache() {
        std::vector<Cached> old(cache_.size() * 2);
        old.swap(cache_);
        cache_mask_ = cache_.size() - 1;
        for (const Cached& entry : old) {
            if (entry.key == 0) continue;
            std::size_t at = mix(entry.key) & cache_mask_;
            while (cache_[at].key != 0) at = (at + 1) & cache_mask_;
            cache_[at] = entry;
        }
    }

    void grow_span_slots() {
        std::vector<SpanSlot> old(span_slots_.size() * 2);
        old.swap(span_slots_);
        for (const SpanSlot& slot : old) {
            if (slot.key == 0) continue;
            std::size_t at = mix(slot.key) & (span_slots_.size() - 1);
            while (span_slots_[at].key != 0) at = (at + 1) & (span_slots_.size() - 1);
            span_slots_[at] = slot;
        }
    }

    struct Tail {
        double score = 0;         // of the words whose context lies inside the option
        std::int32_t state = 0;  // after the option, if it is long enough to fix it
    };

    std::int32_t longest_ = 1, width_ = 0, start_lm_ = 0;
    std::vector<std::int32_t> order_, first_;
    std::vector<double> estimates, spans_, suffix_, futures_;
    std::vector<Tail> heads_;
    std::vector<Cached> cache_;
    std::size_t cache_mask_, cached_ = 0;
    std::vector<SpanSlot> span_slots_;
    std::vector<Step> span_steps_;
    std::size_t span_rows_ = 0;
    std::vector<std::int32_t> states_, state_slots_, next_;
};

}  // namespace dragoman::search::phrase
