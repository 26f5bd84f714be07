#include "search/phrase/batch.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace dragoman::search::phrase {

PhraseBatch::PhraseBatch(const nb::tuple& arrays, int reordering_limit)
    : lengths_(array_at<std::int32_t>(arrays, 0)), option_offsets_(array_at<std::int64_t>(arrays, 1)),
      begin_(array_at<std::int32_t>(arrays, 2)), end_(array_at<std::int32_t>(arrays, 3)),
      local_(array_at<double>(arrays, 4)), reorder_from_(array_at<double, 2>(arrays, 5)),
      reorder_to_(array_at<double, 2>(arrays, 6)), exit_(array_at<std::int32_t>(arrays, 7)),
      left_(array_at<std::int32_t>(arrays, 8)), right_(array_at<std::int32_t>(arrays, 9)),
      word_offsets_(array_at<std::int64_t>(arrays, 10)), lm_words_(array_at<std::int32_t, 2>(arrays, 11)),
      automata_(nb::cast<std::vector<Automaton>>(arrays[12], false)),
      boundary_(array_at<double, 2>(arrays, 14)) {
    for (const auto& [slots, states, unigrams, order, start, weight] : automata_) {
        model.language_models.push_back({slots.data(), slots.shape(0) - 1, states.data(), unigrams.data()});
        model.lm_orders.push_back(order);
        model.lm_starts.push_back(start);
        model.lm_weights.push_back(weight);
    }
    model.distortion_weight = nb::cast<double>(arrays[13]);
    model.boundary = boundary_.size() ? boundary_.data() : nullptr;
    model.boundary_columns = static_cast<std::int64_t>(boundary_.shape(1));
    // No jump is longer than its sentence, and a limit that is not either can be added to a position.
    const auto lengths = view(lengths_);
    model.reordering_limit = std::min(reordering_limit, lengths.empty() ? 0 : *std::ranges::max_element(lengths));
}

OptionsView PhraseBatch::options(std::size_t sentence) const {
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

}  // namespace dragoman::search::phrase
