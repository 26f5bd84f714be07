#include "search/phrase/space.hpp"

namespace dragoman::search::phrase {
namespace {

std::uint64_t hash(std::span<const std::int32_t> values) {
    std::uint64_t h = 0;
    for (std::int32_t value : values) h = mix(h * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(value));
    return h;
}

}  // namespace

PhraseSpace::PhraseSpace(const PhraseModelView& model, const OptionsView& options)
    : model(model), options(options), coverages(options.sentence_length), order_(static_cast<std::size_t>(options.count)),
      estimates(static_cast<std::size_t>(options.count)), span_slots_(1 << 9) {
    index_spans();
    prepare_language_models();
    prepare_future();
}

bool PhraseSpace::is_finite() const {
    const auto largest = [](const double* scores) { return std::max({std::abs(scores[0]), std::abs(scores[1]), std::abs(scores[2])}); };
    for (std::int32_t i = 0; i < options.count; ++i)
        if (!(std::abs(estimates[i]) + largest(options.reorder_from + 3 * i) + largest(options.reorder_to + 3 * i) < 1e100)) return false;
    return true;
}

double PhraseSpace::finish(std::int32_t lm) {
    double score = 0;
    for (std::size_t k = 0; k < lms(); ++k)
        score += model.lm_weights[k] * natural(model.language_models[k].query(state(lm, k), 2).log10);
    return score;
}

PhraseSpace::SpanRow PhraseSpace::add_row(std::size_t options, std::uint64_t key, std::size_t at) {
    if (span_steps_.size() + options > kMostSpanSteps) {
        span_steps_.clear();
        std::fill(span_slots_.begin(), span_slots_.end(), SpanSlot{});
        span_rows_ = 0;
        at = mix(key) & (span_slots_.size() - 1);
    }
    span_slots_[at] = {key, static_cast<std::uint32_t>(span_steps_.size())};
    span_steps_.resize(span_steps_.size() + options, {0, unread});
    if (++span_rows_ * 2 > span_slots_.size()) {
        grow_span_slots();
        at = probe(mix(key), span_slots_.size(), [&](std::size_t slot) { return span_slots_[slot].key == key; });
    }
    return {span_steps_.data() + span_slots_[at].first, span_slots_[at].mark};
}

void PhraseSpace::index_spans() {
    longest_ = 1;
    for (std::int32_t i = 0; i < options.count; ++i) longest_ = std::max(longest_, options.end[i] - options.begin[i]);
    first_.assign(static_cast<std::size_t>(length()) * longest_ + 1, 0);
    for (std::int32_t i = 0; i < options.count; ++i) ++first_[cell(i) + 1];
    for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
    std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
    for (std::int32_t i = 0; i < options.count; ++i) order_[next[cell(i)]++] = i;
}

void PhraseSpace::prepare_language_models() {
    const std::int64_t words = options.word_offsets[options.count] - options.word_offsets[0];
    alone_.resize(static_cast<std::size_t>(words) * lms());
    tails_.assign(static_cast<std::size_t>(options.count) * lms(), 0);
    std::copy_n(options.local, options.count, estimates.begin());
    for (std::size_t k = 0; k < lms(); ++k) {
        Alone* alone = alone_.data() + k * static_cast<std::size_t>(words);
        for (std::int32_t i = 0; i < options.count; ++i) {
            std::int32_t state = 0;
            double all = 0;
            for (std::int64_t w = options.word_offsets[i]; w < options.word_offsets[i + 1]; ++w) {
                const auto found = model.language_models[k].query(state, options.words[k][w]);
                state = found.state;
                *alone++ = {natural(found.log10), state};
                all += natural(found.log10);
                if (w - options.word_offsets[i] >= model.lm_orders[k] - 1) tails_[k * static_cast<std::size_t>(options.count) + i] += natural(found.log10);
            }
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

void PhraseSpace::prepare_future() {
    const std::int32_t n = length();
    width_ = std::min(n, std::max(128, longest_));
    stretches_.assign(static_cast<std::size_t>(n) * width_, no_stretch);
    suffix_.assign(static_cast<std::size_t>(n) + 1, no_stretch);
    suffix_[n].score = 0;
    entries_.assign(3 * (first_.size() - 1), -std::numeric_limits<double>::infinity());
    most_entry_.fill(model.boundary == nullptr ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
    for (std::int32_t i = 0; i < options.count; ++i) {
        Stretch& best = stretches_[stretch_at(options.begin[i], options.end[i])];
        if (estimates[i] > best.score) best = {estimates[i], i, i};
        for (std::size_t o = 0, at = 3 * cell(i); o < 3; ++o) {
            entries_[at + o] = std::max(entries_[at + o], estimates[i] + options.reorder_from[3 * i + o]);
            most_entry_[o] = std::max(most_entry_[o], options.reorder_from[3 * i + o]);
        }
    }
    // From the last word on, so that what is read is still in the processor's cache however long the sentence is.
    for (std::int32_t begin = n - 1; begin >= 0; --begin) {
        for (std::int32_t size = 2; size <= std::min(width_, n - begin); ++size)
            for (std::int32_t split = begin + 1; split < begin + size; ++split)
                improve(stretches_[stretch_at(begin, begin + size)], stretch(begin, split), stretch(split, begin + size));
        for (std::int32_t end = begin + 1; end <= std::min(n, begin + longest_); ++end)
            improve(suffix_[begin], stretch(begin, end), suffix_[end]);
    }
}

PhraseSpace::Step PhraseSpace::read_words(std::int32_t lm, std::int32_t option) {
    Step step{0, lm};
    next_.resize(lms());
    for (std::size_t k = 0; k < lms(); ++k) {
        const Alone read = read_words(k, state(lm, k), option);
        step.score += model.lm_weights[k] * read.score;
        next_[k] = read.state;
    }
    if (lms() == 1) step.lm = next_[0];
    if (lms() > 1) step.lm = intern_states(next_);
    return step;
}

PhraseSpace::Alone PhraseSpace::read_words(std::size_t k, std::int32_t state, std::int32_t option) const {
    const std::int64_t first = options.word_offsets[option], words = options.word_offsets[option + 1] - first;
    const std::int64_t before = first - options.word_offsets[0], all = options.word_offsets[options.count] - options.word_offsets[0];
    const Alone* const alone = alone_.data() + static_cast<std::int64_t>(k) * all + before;
    const std::int32_t* const word = options.words[k] + first;
    const std::int64_t head = std::min<std::int64_t>(words, model.lm_orders[k] - 1);
    double score = 0;
    for (std::int64_t w = 0; w < head;) {
        const auto found = model.language_models[k].query(state, word[w]);
        score += natural(found.log10);
        state = found.state;
        if (state == alone[w++].state)
            for (; w < head; ++w) score += alone[w].score, state = alone[w].state;
    }
    if (words > head) {
        score += tails_[k * static_cast<std::size_t>(options.count) + static_cast<std::size_t>(option)];
        state = alone[words - 1].state;
    }
    return {score, state};
}

std::int32_t PhraseSpace::intern_states(const std::vector<std::int32_t>& states) {
    if (lms() == 0) return 0;
    const auto known = [&](std::int32_t id) { return std::span(states_).subspan(static_cast<std::size_t>(id) * lms(), lms()); };
    std::int32_t& slot = state_ids_.slot(hash(states), [&](std::int32_t id) { return std::ranges::equal(known(id), states); });
    if (slot >= 0) return slot;
    const auto id = slot = static_cast<std::int32_t>(states_.size() / lms());
    states_.insert(states_.end(), states.begin(), states.end());
    state_ids_.make_room(states_.size() / lms(), [&](std::int32_t number) { return hash(known(number)); });
    return id;
}

void PhraseSpace::grow_span_slots() {
    std::vector<SpanSlot> old(span_slots_.size() * 2);
    old.swap(span_slots_);
    for (const SpanSlot& slot : old) {
        if (slot.key == 0) continue;
        std::size_t at = mix(slot.key) & (span_slots_.size() - 1);
        while (span_slots_[at].key != 0) at = (at + 1) & (span_slots_.size() - 1);
        span_slots_[at] = slot;
    }
}

void PhraseSpace::find_gaps(std::int32_t coverage, std::vector<Gap>& gaps) const {
    gaps.clear();
    const std::int32_t reach = coverages.reach(coverage);
    for (std::int32_t p = coverages.first_gap(coverage); p < reach; ++p) {
        if (coverages.covers(coverage, p)) continue;
        if (gaps.empty() || gaps.back().end != p) gaps.push_back({p, p});
        ++gaps.back().end;
    }
    if (reach < length()) gaps.push_back({reach, length()});
}

double PhraseSpace::future(std::span<const Gap> gaps, std::int32_t begin, std::int32_t end) const {
    double value = 0;
    std::int32_t at = end;
    const auto visit = [&](std::int32_t from, std::int32_t to) {
        if (from == to) return;
        const bool is_last = to == length();
        const Stretch& first = is_last ? suffix_[from] : stretch(from, std::min(to, from + width_));
        value += gap(from, to) - model.distortion_weight * std::abs(from - at);
        if (first.first >= 0) value += options.reorder_from[3 * first.first + (from == at ? MONOTONE : OTHER)];
        if (!is_last && first.last >= 0) value += options.reorder_to[3 * first.last + OTHER];
        at = to;
    };
    for (const Gap& gap : gaps) {
        if (end <= gap.begin || gap.end <= begin) {
            visit(gap.begin, gap.end);
        } else {
            visit(gap.begin, begin);
            visit(end, gap.end);
        }
    }
    return value;
}

}  // namespace dragoman::search::phrase
