// The space of a search that changes one derivation again and again, and so reads the same options after the same
// contexts over and over. What it remembers of a single language model is kept small enough for the processor's cache.
//
// After most contexts of several words the language model does not know the next word, and goes on from the context's
// suffix: but for the back-off weight, options then score as they do after that. So all options are remembered after
// contexts that have no suffix but the empty one, which are few, in rows; after others, only those whose first word is known there.
#pragma once

#include "search/phrase/space.hpp"

namespace dragoman::search::phrase {

class LocalSpace : public PhraseSpace {
public:
    LocalSpace(const PhraseModelView& model, const OptionsView& options);

    // Reads option's words after the combined language model state `lm`.
    Step read(std::int32_t lm, std::int32_t option) {
        const std::int32_t word = first_words_[option];
        if (word < 0) return remembered_step(lm, option);
        if (lm != traced_) trace(lm);
        float backoff = 0;
        const Context* context = trace_.data();
        for (; context->suffix >= 0; ++context) {
            if (knows(*context, word, option)) return remembered_step(lm, option);
            backoff += context->backoff;
        }
        Reading& after = rows_[context->first + static_cast<std::size_t>(option)];
        if (after.lm == not_read) after = read_after(*context, option);
        // In the order in which the language model itself adds up.
        if (after.lm < 0) backoff += context->backoff;
        return {model.lm_weights[0] * (after.rest + natural(backoff + after.first)), after.lm < 0 ? ~after.lm : after.lm};
    }

    // The same for several options.
    void read_all(std::int32_t lm, std::span<const std::int32_t> options, std::vector<Step>& steps) {
        steps.resize(options.size());
        for (std::size_t i = 0; i < options.size(); ++i) steps[i] = read(lm, options[i]);
    }

    // Some scores are remembered as weighted: after a change of weights, they must be forgotten.
    void forget_weighted();
    // How many of them there are.
    std::size_t weighted() const { return steps_.size(); }

private:
    // A state of the language model, with the state and the back-off weight with which it goes on where it does not know
    // a word. `first` is where its row begins or, if it has a suffix, what is known of the words after it.
    struct Context {
        std::int32_t state = -1, suffix = -1;
        float backoff = 0;
        std::uint32_t first = 0;
    };

    // An option after a state, unweighted: the first word's base-10 logarithm, the score of the rest, and the next state;
    // its complement where the first word is not known after the state, and its logarithm is that without context.
    struct Reading {
        double rest;
        float first;
        std::int32_t lm;
    };
    static constexpr std::int32_t not_read = std::numeric_limits<std::int32_t>::min();

    // What is known of a word after a context: two bits each, as many as fit.
    enum : std::uint64_t { NOT_ASKED = 0, UNKNOWN = 1, KNOWN = 2, ANSWER = 3 };
    static constexpr std::int32_t kAnswers = 32;

    // 64 MB of rows, or as many steps; when they are full, all are forgotten.
    static constexpr std::size_t kMost = std::size_t{1} << 22;

    std::size_t position(std::int32_t state) const {
        return probe(static_cast<std::uint32_t>(state) * 0x9e3779b97f4a7c15ULL >> 32, contexts_.size(),
                     [&](std::size_t at) { return contexts_[at].state == state || contexts_[at].state < 0; });
    }
    // Finds a state with all its suffixes, for the reads to come.
    void trace(std::int32_t state);
    const Context& add_context(std::int32_t state);
    void grow_contexts();

    bool knows(const Context& context, std::int32_t word, std::int32_t option) {
        std::uint64_t& answers = answers_[context.first + static_cast<std::size_t>(word / kAnswers)];
        const int shift = 2 * (word % kAnswers);
        if ((answers >> shift & ANSWER) == NOT_ASKED) answers |= ask(context.state, option) << shift;
        return (answers >> shift & ANSWER) == KNOWN;
    }
    std::uint64_t ask(std::int32_t state, std::int32_t option) const;

    Reading read_after(const Context& context, std::int32_t option) const;

    Step remembered_step(std::int32_t lm, std::int32_t option);

    std::int32_t first_word(std::int32_t option) const { return options.words[0][options.word_offsets[option]]; }

    std::vector<std::int32_t> first_words_;  // of the options, numbered; -1: options without words, other numbers of models
    std::size_t answers_each_ = 0;
    std::vector<Context> contexts_, trace_;
    std::int32_t traced_ = -1;
    std::size_t contexts_used_ = 0;
    std::vector<std::uint64_t> answers_;
    std::vector<Reading> rows_;
    KeyTable step_numbers_;
    std::vector<Step> steps_;
};

}  // namespace dragoman::search::phrase
