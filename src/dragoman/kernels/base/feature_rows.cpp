// Sparse vectors of features as rows of ids and values.
#include "base/arrays.hpp"

#include <algorithm>

namespace dragoman {
namespace {

// Sparse rows summed over groups of rows; each feature once, in the order of ids.
auto sum_feature_rows(In1<std::int32_t> groups, In1<std::int64_t> group_offsets, In1<std::int64_t> row_offsets,
                      In1<std::int32_t> ids, In1<double> values, std::size_t names) {
    std::vector<std::int32_t> sum_ids;
    std::vector<double> sums;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        std::vector<double> total(names, 0.0);
        std::vector<std::uint8_t> seen(names, 0);
        std::vector<std::int32_t> touched;
        const auto row_of = view(groups);
        const auto group = view(group_offsets), row = view(row_offsets);
        for (std::size_t g = 0; g + 1 < group.size(); ++g) {
            for (auto at = group[g]; at < group[g + 1]; ++at)
                for (auto j = row[row_of[at]]; j < row[row_of[at] + 1]; ++j) {
                    const auto id = static_cast<std::size_t>(ids.data()[j]);
                    if (!seen[id]) touched.push_back(static_cast<std::int32_t>(id));
                    seen[id] = 1;
                    total[id] += values.data()[j];
                }
            std::ranges::sort(touched);
            for (const std::int32_t id : touched) {
                sum_ids.push_back(id);
                sums.push_back(total[static_cast<std::size_t>(id)]);
                total[static_cast<std::size_t>(id)] = 0;
                seen[static_cast<std::size_t>(id)] = 0;
            }
            touched.clear();
            bounds.push_back(static_cast<std::int64_t>(sums.size()));
        }
    }
    return together(give(std::move(bounds)), give(std::move(sum_ids)), give(std::move(sums)));
}

}  // namespace

void bind_feature_rows(nb::module_& m) {
    m.def("sum_feature_rows", &sum_feature_rows, nb::arg("groups"), nb::arg("group_offsets"), nb::arg("row_offsets"),
          nb::arg("ids"), nb::arg("values"), nb::arg("names"),
          "Sparse rows summed over groups of rows: offsets, ids and values.");
}

}  // namespace dragoman
