#include "search/phrase/option_scores.hpp"

#include "base/arrays.hpp"
#include "base/parallel.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace dragoman::search::phrase {

double dot(const double* a, const double* b, std::size_t size) {
    double even = 0, odd = 0;
    std::size_t i = 0;
    for (; size - i >= 8; i += 8)
        for (std::size_t j = i + 8; j > i;) {
            j -= 2;
            even += a[j] * b[j];
            odd += a[j + 1] * b[j + 1];
        }
    for (; i < size; i += 2) {
        even += a[i] * b[i];
        if (i + 1 < size) odd += a[i + 1] * b[i + 1];
    }
    return even + odd;
}

std::vector<std::int32_t> best_of(std::span<const double> values, std::size_t limit) {
    std::vector<std::int32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    if (order.size() <= limit) return order;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(limit), order.end(), [&](std::int32_t a, std::int32_t b) {
        const bool x = std::isnan(values[a]), y = std::isnan(values[b]);
        if (x != y) return y;
        return !x && values[a] != values[b] ? values[a] > values[b] : a < b;
    });
    order.resize(limit);
    std::sort(order.begin(), order.end());
    return order;
}

namespace {

auto best_of_spans(In1<std::int64_t> offsets, In1<std::int32_t> begin, In1<std::int32_t> end, In1<double> estimates, int limit) {
    std::vector<std::int64_t> kept;
    {
        nb::gil_scoped_release release;
        for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
            const auto stop = static_cast<std::size_t>(offsets[s + 1]);
            for (auto first = static_cast<std::size_t>(offsets[s]), last = first; first < stop; first = last) {
                while (last < stop && begin[last] == begin[first] && end[last] == end[first]) ++last;
                for (const std::int32_t i : best_of(view(estimates).subspan(first, last - first), static_cast<std::size_t>(limit)))
                    kept.push_back(static_cast<std::int64_t>(first) + i);
            }
        }
    }
    return give(std::move(kept));
}

auto option_scores(In2<double> features, In1<double> weights) {
    std::vector<double> scores(features.shape(0));
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = dot(features.data() + i * weights.size(), weights.data(), weights.size());
    }
    return give(std::move(scores));
}

// Weighted scores of the three orientations towards the option before and after, summed over models, and classes of
// options that score alike as predecessors of every other option of their sentence.
auto option_orientations(In1<std::int64_t> offsets, In1<std::int32_t> begin, In1<std::int32_t> end, In1<std::int32_t> right,
                         In2<double> reordering, In2<double> weights, int threads) {
    const std::size_t options = begin.size(), models = weights.shape(0);
    std::vector<double> from(options * 3), to(options * 3);
    std::vector<std::int32_t> classes(options);
    run_blocks(offsets.size() - 1, threads, nb::none(), [&](std::size_t s) {
        orient(static_cast<std::size_t>(offsets[s]), static_cast<std::size_t>(offsets[s + 1]), weights.data(), models,
               [&](std::size_t i) { return std::array{end[i], right[i], models ? begin[i] : 0}; },
               [&](std::size_t i, std::size_t r) { return reordering.data() + (r * options + i) * 6; }, from.data(), to.data(), classes.data());
    });
    return together(give(std::move(from), 3), give(std::move(to), 3), give(std::move(classes)));
}

}  // namespace

void bind_option_scores(nb::module_& m) {
    m.def("best_of_spans", &best_of_spans, nb::arg("offsets"), nb::arg("begin"), nb::arg("end"), nb::arg("estimates"), nb::arg("limit"),
          "The options whose estimates are among the best `limit` of their spans, in ascending order.");
    m.def("option_scores", &option_scores, nb::arg("features"), nb::arg("weights"), "The weighted sum of each row of features.");
    m.def("option_orientations", &option_orientations, nb::arg("offsets"), nb::arg("begin"), nb::arg("end"), nb::arg("right"),
          nb::arg("reordering"), nb::arg("weights"), nb::arg("threads") = 1,
          "Weighted scores of three orientations towards the option before, and after; classes that score alike as predecessors.");
}

}  // namespace dragoman::search::phrase
