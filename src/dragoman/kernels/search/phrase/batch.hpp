// A batch of sentences as Python hands it to the kernels that work in the space of space.hpp.
#pragma once

#include "base/arrays.hpp"
#include "search/phrase/space.hpp"

#include <tuple>
#include <vector>

namespace dragoman::search::phrase {

// The Python tuple `PhraseArrays`.
using PhraseArrays =
    Tuple<In1<std::int32_t>, In1<std::int64_t>, In1<std::int32_t>, In1<std::int32_t>, In1<double>, In2<double>, In2<double>,
          In1<std::int32_t>, In1<std::int32_t>, In1<std::int32_t>, In1<std::int64_t>, In2<std::int32_t>, nb::typed<nb::list, AnyTuple>, double,
          In2<double>>;

// Its fields, in its order. Options of a sentence are numbered from 0.
class PhraseBatch {
public:
    PhraseBatch(const nb::tuple& arrays, int reordering_limit);

    PhraseModelView model;

    std::size_t sentences() const { return lengths_.shape(0); }
    std::int64_t first_option(std::size_t sentence) const { return option_offsets_.data()[sentence]; }

    OptionsView options(std::size_t sentence) const;

private:
    // Slots, states and unigrams of a language model, its order, the state after <s>, and its weight.
    using Automaton = std::tuple<In2<std::uint64_t>, In2<std::uint64_t>, In1<std::uint64_t>, int, int, double>;

    In1<std::int32_t> lengths_;
    In1<std::int64_t> option_offsets_;
    In1<std::int32_t> begin_, end_;
    In1<double> local_;
    In2<double> reorder_from_, reorder_to_;
    In1<std::int32_t> exit_, left_, right_;
    In1<std::int64_t> word_offsets_;
    In2<std::int32_t> lm_words_;
    std::vector<Automaton> automata_;
    In2<double> boundary_;
};

}  // namespace dragoman::search::phrase
