// Counting n-grams by sorting. An n-gram is a pair: the n-gram without its last word, as a number, and that word. So
// one function that numbers the distinct pairs of a list counts every order, each from the one below it, with exact
// 64-bit keys whatever the order and the vocabulary.
#include "base/arrays.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

namespace dragoman::lm {
namespace {

struct Item {
    std::uint64_t key;
    std::uint32_t position;
};

constexpr int digit_bits = 11;
constexpr std::size_t digits = std::size_t{1} << digit_bits;

std::int32_t largest(std::span<const std::int32_t> values) {
    return values.empty() ? 0 : *std::ranges::max_element(values);
}

// Stable parallel radix sort, least significant digit first. A stable sort has one result, however it is cut up.
void sort_by_key(std::vector<Item>& items, int key_bits, int threads) {
    const std::size_t n = items.size();
    const std::size_t block = std::max<std::size_t>(std::size_t{1} << 15, n / 256 + 1);
    const std::size_t blocks = (n + block - 1) / block;
    std::vector<Item> sorted(n);
    std::vector<std::array<std::size_t, digits>> starts(blocks);
    for (int shift = 0; shift < key_bits; shift += digit_bits) {
        const auto digit = [shift](const Item& item) { return (item.key >> shift) & (digits - 1); };
        run_blocks(blocks, threads, nb::none(), [&](std::size_t b) {
            auto& counts = starts[b];
            counts.fill(0);
            for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) ++counts[digit(items[i])];
        });
        std::size_t sum = 0;
        for (std::size_t d = 0; d < digits; ++d)
            for (auto& counts : starts) sum += std::exchange(counts[d], sum);
        run_blocks(blocks, threads, nb::none(), [&](std::size_t b) {
            auto& to = starts[b];
            for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) sorted[to[digit(items[i])]++] = items[i];
        });
        items.swap(sorted);
    }
}

auto rank_pairs(In1<std::int32_t> first, In1<std::int32_t> second, int threads) {
    const auto a = view(first), b = view(second);
    if (a.size() > std::numeric_limits<std::int32_t>::max()) throw std::length_error("more than 2^31 pairs");
    std::vector<std::int32_t> ids(a.size());
    std::vector<std::int64_t> positions, counts;
    std::vector<Item> items(a.size());
    int low_bits = 0, key_bits = 0;
    {
        nb::gil_scoped_release release;
        low_bits = std::bit_width(static_cast<std::uint32_t>(largest(b)));
        key_bits = low_bits + std::bit_width(static_cast<std::uint32_t>(largest(a)));
        for (std::size_t i = 0; i < a.size(); ++i)
            items[i] = {std::uint64_t(a[i]) << low_bits | std::uint64_t(b[i]), static_cast<std::uint32_t>(i)};
    }
    sort_by_key(items, key_bits, threads);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i == 0 || items[i].key != items[i - 1].key) {
                positions.push_back(items[i].position);
                counts.push_back(0);
            }
            ++counts.back();
            ids[items[i].position] = static_cast<std::int32_t>(counts.size() - 1);
        }
    }
    return together(give(std::move(ids)), give(std::move(positions)), give(std::move(counts)));
}

}  // namespace

void bind_ngram_counts(nb::module_& m) {
    m.def("rank_pairs", &rank_pairs, nb::arg("first"), nb::arg("second"), nb::arg("threads"),
          "Number the distinct pairs (first[i], second[i]) in sorted order, none negative: id of each pair; for\n"
          "each id the first position at which it occurs, and how often it does.");
}

}  // namespace dragoman::lm
