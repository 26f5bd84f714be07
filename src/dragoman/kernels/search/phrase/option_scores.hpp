// What options score alone, and which are the best: for all options of a batch, and for those of one source phrase.
#pragma once

#include "base/open_addressing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::search::phrase {

// Two sums side by side, in blocks of eight, each from its end: the order of NumPy's einsum, which made scores once.
double dot(const double* a, const double* b, std::size_t size);

// The positions of the best `limit` values, in ascending order; of equal ones the first, and what is no number last.
std::vector<std::int32_t> best_of(std::span<const double> values, std::size_t limit);

// Weighted scores of the three orientations, summed over reordering models, and classes of options that score alike
// towards what follows. `key(i)` is what they must share besides, `scores(i, r)` six logarithms.
template <class Key, class Scores>
void orient(std::size_t first, std::size_t last, const double* weights, std::size_t models, Key&& key, Scores&& scores, double* from,
            double* to, std::int32_t* classes) {
    std::vector<std::int32_t> keys;
    std::size_t width = 0;
    const auto own = [&](std::int32_t i) { return Words(keys).subspan((static_cast<std::size_t>(i) - first) * width, width); };
    NumberTable table(table_size(last - first));
    for (std::size_t i = first; i < last; ++i) {
        for (const std::int32_t part : key(i)) keys.push_back(part);
        for (std::size_t r = 0; r < models; ++r) {
            const double* const six = scores(i, r);
            for (std::size_t o = 0; o < 3; ++o) {
                from[3 * i + o] += six[o] * weights[6 * r + o];
                to[3 * i + o] += six[3 + o] * weights[6 * r + 3 + o];
                keys.push_back(std::bit_cast<std::int32_t>(static_cast<float>(six[3 + o])));
            }
        }
        if (i == first) width = keys.size();
        const auto number = static_cast<std::int32_t>(i);
        std::int32_t& like = table.slot(hash_words(own(number)), [&](std::int32_t j) { return std::ranges::equal(own(number), own(j)); });
        if (like < 0) like = number;
        classes[i] = like;
    }
}

}  // namespace dragoman::search::phrase
