#include "search/chart/batch.hpp"

#include "base/parallel.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numbers>
#include <numeric>

namespace dragoman::search::chart {

ChartBatch::ChartBatch(const nb::tuple& arrays)
    : glue_weight(nb::cast<double>(arrays[10])), glue(nb::cast<bool>(arrays[11])), lengths_(array_at<std::int32_t>(arrays, 0)),
      match_offsets_(array_at<std::int64_t>(arrays, 1)), matches_(array_at<std::int32_t, 2>(arrays, 2)),
      match_scores_(array_at<double, 2>(arrays, 3)), first_rule_(array_at<std::int64_t>(arrays, 4)), local_(array_at<double>(arrays, 5)),
      word_offsets_(array_at<std::int64_t>(arrays, 6)), words_(array_at<std::int32_t>(arrays, 7)),
      lm_words_(array_at<std::int32_t, 2>(arrays, 8)), automata_(nb::cast<std::vector<Automaton>>(arrays[9], false)),
      rule_classes_(array_at<std::uint8_t>(arrays, 12)) {
    for (const auto& [slots, states, unigrams, order, start, weight, extended, bounds, closed] : automata_)
        models.push_back({{slots.data(), slots.shape(0) - 1, states.data(), unigrams.data()}, order, start, weight, extended.data(), bounds.data(), closed});
}

RuleOrder::RuleOrder(const ChartBatch& batch, int threads) : estimates(batch.rules()), rules(batch.rules()), first_(batch.first_rule()) {
    constexpr std::size_t block = 4096;  // sides
    std::iota(rules.begin(), rules.end(), 0);
    run_blocks((batch.sides() + block - 1) / block, threads, nb::none(), [&](std::size_t b) {
        const std::size_t last_side = std::min(batch.sides(), (b + 1) * block);
        for (auto rule = static_cast<std::int32_t>(first_[b * block]); rule < first_[last_side]; ++rule) {
            double total = batch.local(rule);
            for (std::size_t k = 0; k < batch.models.size(); ++k) {
                const ChartLanguageModel& model = batch.models[k];
                double log10 = 0;
                std::int32_t state = 0;
                for (const std::int32_t word : batch.words(rule, k)) {
                    if (word < 0) {
                        state = 0;
                        continue;
                    }
                    const auto found = model.view.query(state, word);
                    log10 += double(found.log10);
                    state = found.state;
                }
                total += model.weight * std::numbers::ln10 * log10;
            }
            estimates[rule] = total;
        }
        for (std::size_t side = b * block; side < last_side; ++side)
            std::stable_sort(rules.begin() + first_[side], rules.begin() + first_[side + 1],
                             [&](std::int32_t x, std::int32_t y) { return estimates[x] > estimates[y]; });
    });
}

}  // namespace dragoman::search::chart
