// Hypotheses without duplicates.
#include "base/open_addressing.hpp"
#include "base/records.hpp"

#include <algorithm>

namespace dragoman {
namespace {

// Of the rows of each group, those whose words or features (each once, in the order of ids, without zeros) differ from
// those of all rows before them. Groups are small, so that all that is compared is near.
auto distinct_hypotheses(const Rows& groups, const Rows& words, const FeatureRows& features) {
    std::vector<std::int32_t> kept;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        const auto ids = [&](std::int32_t row) { return std::span(features.ids.data() + features.offsets[row], features.ids.data() + features.offsets[row + 1]); };
        const auto values = [&](std::int32_t row) {
            return std::span(reinterpret_cast<const std::uint8_t*>(features.values.data() + features.offsets[row]), ids(row).size() * sizeof(double));
        };
        const auto words_of = [&](std::int32_t row) { return words[static_cast<std::size_t>(row)]; };
        NumberTable seen(0);
        std::vector<std::uint64_t> hashes(words.size());
        for (std::size_t g = 0; g < groups.size(); ++g) {
            seen.restart(groups[g].size());
            for (const std::int32_t row : groups[g]) {
                const std::uint64_t hash = hashes[static_cast<std::size_t>(row)] =
                    hash_words(words_of(row)) ^ hash_bytes(values(row).data(), values(row).size());
                std::int32_t& slot = seen.slot(hash, [&](std::int32_t other) {
                    return hashes[static_cast<std::size_t>(other)] == hash && std::ranges::equal(words_of(other), words_of(row)) &&
                           std::ranges::equal(ids(other), ids(row)) && std::ranges::equal(values(other), values(row));
                });
                if (slot >= 0) continue;
                slot = row;
                kept.push_back(row);
            }
            bounds.push_back(static_cast<std::int64_t>(kept.size()));
        }
    }
    return together(give(std::move(kept)), give(std::move(bounds)));
}

}  // namespace

void bind_distinct(nb::module_& m) {
    m.def("distinct_hypotheses", &distinct_hypotheses, nb::arg("groups"), nb::arg("words"), nb::arg("features"),
          "The rows of each group without those that have the words and features of an earlier one, and their offsets.\n\n"
          "Rows of features have each feature once, in the order of ids, and no zeros.");
}

}  // namespace dragoman
