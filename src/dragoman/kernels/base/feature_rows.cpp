// Sparse vectors of features as rows of ids and values.
#include "base/records.hpp"

#include <algorithm>

namespace dragoman {
namespace {

// Sparse rows summed over groups of rows; each feature once, in the order of ids.
auto sum_feature_rows(const Rows& groups, const FeatureRows& rows, std::size_t names) {
    std::vector<std::int32_t> sum_ids;
    std::vector<double> sums;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        std::vector<double> total(names, 0.0);
        std::vector<std::uint8_t> seen(names, 0);
        std::vector<std::int32_t> touched;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            for (const std::int32_t row : groups[g])
                rows.each(static_cast<std::size_t>(row), [&](std::size_t id, double value) {
                    if (!seen[id]) touched.push_back(static_cast<std::int32_t>(id));
                    seen[id] = 1;
                    total[id] += value;
                });
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
    m.def("sum_feature_rows", &sum_feature_rows, nb::arg("groups"), nb::arg("rows"), nb::arg("names"),
          "Sparse rows summed over groups of rows: offsets, ids and values.");
}

}  // namespace dragoman
