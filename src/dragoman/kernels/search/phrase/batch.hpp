// A batch of sentences as Python hands it to the kernels that work in the space of space.hpp.
#pragma once

#include "base/arrays.hpp"
#include "search/phrase/space.hpp"

#include <nanobind/stl/vector.h>

#include <tuple>

namespace dragoman::search::phrase {

// The fields of the Python tuple `PhraseArrays`, in its order. Keeps the arrays alive; options of a sentence are
// numbered from 0.
class PhraseBatch {
public:
    PhraseBatch(const nb::tuple& arrays, int reordering_limit)
        : lengths_(array_at<std::int32_t>(arrays, 0)), option_offsets_(array_at<std::int64_t>(arrays, 1)),
          begin_(array_at<std::int32_t>(arrays, 2)), end_(array_at<std::int32_t>(arrays, 3)),
          local_(array_at<double>(arrays, 4)), reorder_from_(nb::cast<In2<double>>(arrays[5], false)),
          reorder_to_(nb::cast<In2<double>>(arrays[6], false)), exit_(array_at<std::int32_t>(arrays, 7)),
          left_(array_at<std::int32_t>(arrays, 8)), right_(array_at<std::int32_t>(arrays, 9)),
          word_offsets_(array_at<std::int64_t>(arrays, 10)), lm_words_(nb::cast<In2<std::int32_t>>(arrays[11], false)),
          automata_(nb::cast<std::vector<Automaton>>(arrays[12], false)),
          boundary_(nb::cast<In2<double>>(arrays[14], false)) {
        for (const auto& [slots, states, unigrams, order, start, weight] : automata_) {
            model.language_models.push_back({slots.data(), slots.shape(0) - 1, states.data(), unigrams.data()});
            model.lm_orders.push_back(order);
            model.lm_starts.push_back(start);
            model.lm_weights.push_back(weight);
        }
        model.distortion_weight = nb::cast<double>(arrays[13]);
        model.boundary = boundary_.size() ? boundary_.data() : nullptr;
        model.boundary_columns = static_cast<std::int64_t>(boundary_.shape(1));
        model.reordering_limit = reordering_limit;
    }

    PhraseModelView model;

    std::size_t sentences() const { return lengths_.shape(0); }
    std::int64_t first_option(std::size_t sentence) const { return option_offsets_.data()[sentence]; }

    OptionsView options(std::size_t sentence) const {
        const std::int64_t first = option_offsets_.data()[sentence];
        OptionsView options;
        options.count = static_cast<std::int32_t>(option_offsets_.data()[sentence + 1] - first);
        options.sentence_length = lengths_.data()[sentence];
        options.begin = begin_.data() + first;
        options.end = end_.data() + first;
        options.local = local_.data() + first;
        options.reorder_from = reorder_from_.data() + 3 * first;
        options.reorder_to = reorder_to_.data() + 3 * first;
        options.exit = exit_.data() + first;
        options.left = left_.data() + first;
        options.right = right_.data() + first;
        options.word_offsets = word_offsets_.data() + first;
        for (std::size_t k = 0; k < automata_.size(); ++k) options.words.push_back(lm_words_.data() + k * lm_words_.shape(1));
        return options;
    }

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
