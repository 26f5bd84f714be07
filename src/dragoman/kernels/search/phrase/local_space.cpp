#include "search/phrase/local_space.hpp"

namespace dragoman::search::phrase {

LocalSpace::LocalSpace(const PhraseModelView& model, const OptionsView& options)
    : PhraseSpace(model, options), first_words_(static_cast<std::size_t>(options.count), -1), contexts_(1 << 8), step_numbers_(1 << 8) {
    if (lms() != 1) return;
    KeyTable numbers(first_words_.size());
    std::int32_t words = 0;
    for (std::int32_t i = 0; i < options.count; ++i) {
        if (options.word_offsets[i] == options.word_offsets[i + 1]) continue;
        const auto word = static_cast<std::uint64_t>(first_word(i));
        KeyTable::Slot& slot = numbers.slot(word);
        first_words_[i] = slot.number < 0 ? words : slot.number;
        if (slot.number < 0) numbers.put(slot, word, words++);
    }
    answers_each_ = static_cast<std::size_t>(words / kAnswers + 1);
}

void LocalSpace::forget_weighted() {
    steps_.clear();
    step_numbers_.restart(1 << 8);
}

void LocalSpace::trace(std::int32_t state) {
    if (rows_.size() > kMost || answers_.size() > kMost) {
        contexts_.assign(contexts_.size(), {});
        contexts_used_ = 0;
        answers_.clear();
        rows_.clear();
    }
    traced_ = state;
    trace_.clear();
    for (; state >= 0; state = trace_.back().suffix) {
        const Context& found = contexts_[position(state)];
        trace_.push_back(found.state == state ? found : add_context(state));
    }
}

const LocalSpace::Context& LocalSpace::add_context(std::int32_t state) {
    if (++contexts_used_ * 2 > contexts_.size()) grow_contexts();
    Context& added = contexts_[position(state)];
    const auto shorter = model.language_models[0].context(state);
    added.state = state;
    added.backoff = shorter.log10;
    if (state == 0 || shorter.state == 0) {
        added.first = static_cast<std::uint32_t>(rows_.size());
        rows_.resize(rows_.size() + static_cast<std::size_t>(options.count), {0, 0, not_read});
    } else {
        added.suffix = shorter.state;
        added.first = static_cast<std::uint32_t>(answers_.size());
        answers_.resize(answers_.size() + answers_each_, 0);
    }
    return added;
}

void LocalSpace::grow_contexts() {
    std::vector<Context> old(contexts_.size() * 2);
    old.swap(contexts_);
    for (const Context& context : old)
        if (context.state >= 0) contexts_[position(context.state)] = context;
}

std::uint64_t LocalSpace::ask(std::int32_t state, std::int32_t option) const {
    const LanguageModelView& lm = model.language_models[0];
    const std::int32_t word = first_word(option);
    return lm.find(state, word, lm.slot(state, word)) == nullptr ? UNKNOWN : KNOWN;
}

LocalSpace::Reading LocalSpace::read_after(const Context& context, std::int32_t option) const {
    const LanguageModelView& lm = model.language_models[0];
    const Alone all = read_words(0, context.state, option);
    const std::int32_t word = first_word(option);
    const double rest = all.score - natural(lm.query(context.state, word).log10);
    const bool known = context.state == 0 || ask(context.state, option) == KNOWN;
    return {rest, lm.query(known ? context.state : 0, word).log10, known ? all.state : ~all.state};
}

PhraseSpace::Step LocalSpace::remembered_step(std::int32_t lm, std::int32_t option) {
    const std::uint64_t key = std::uint64_t(static_cast<std::uint32_t>(lm)) << 32 | static_cast<std::uint32_t>(option);
    KeyTable::Slot& slot = step_numbers_.slot(key);
    if (slot.number >= 0) return steps_[static_cast<std::size_t>(slot.number)];
    if (steps_.size() == kMost) {
        forget_weighted();
        return remembered_step(lm, option);
    }
    step_numbers_.put(slot, key, static_cast<std::int32_t>(steps_.size()));
    return steps_.emplace_back(read_words(lm, option));
}

}  // namespace dragoman::search::phrase
