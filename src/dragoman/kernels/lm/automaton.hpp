// A language model as Python hands it over.
#pragma once

#include "base/records.hpp"
#include "lm/language_model.hpp"

namespace dragoman::lm {

struct Automaton {
    Held2<std::uint64_t> slots, states;
    Held1<std::uint64_t> unigrams;
    Held1<std::int64_t> bounds;  // first state of each length

    std::int32_t order() const { return static_cast<std::int32_t>(bounds.size()) - 1; }
    LanguageModelView view() const { return {slots.data(), slots.shape(0), states.data(), unigrams.data()}; }

    void check() const {
        require(slots.shape(1) == 2 && states.shape(1) == LanguageModelView::COLUMNS && slots.shape(0) > 0,
                "a language model needs slots of two numbers and states of four");
        require(unigrams.size() > eos && order() > 0 && static_cast<std::size_t>(bounds[order()]) == states.shape(0),
                "a language model needs unigrams, and bounds of lengths");
    }
};

}  // namespace dragoman::lm
