// Segmentations of sentences: into how many parts their graph under merging and splitting falls.
//
// A segmentation is a path from position 0 to n along the spans that have options. Paths are neighbours if one has a span
// (w, y) where the other has (w, x), (x, y). The parts of the paths to y: a path ends with some span (x, y), and what
// comes before it moves freely within its part of the paths to x; moves that concern the last span join (part of the
// paths to w, then (w, x), then (x, y)) and (the same, then (w, y)). So parts follow from those of earlier positions.
#include "base/arrays.hpp"
#include "base/parallel.hpp"

#include <numeric>

namespace dragoman::sampling::phrase {
namespace {

class Segmentations {
public:
    Segmentations(std::int32_t length, std::span<const std::int32_t> begins, std::span<const std::int32_t> ends) : length_(length) {
        for (std::size_t i = 0; i < begins.size(); ++i) longest_ = std::max(longest_, ends[i] - begins[i]);
        has_.assign(static_cast<std::size_t>(length + 1) * static_cast<std::size_t>(longest_ + 1), 0);
        for (std::size_t i = 0; i < begins.size(); ++i) has_[cell(begins[i], ends[i])] = 1;
    }

    // The number of parts, at most `most`.
    std::int64_t components(std::int64_t most) {
        counts_.assign(static_cast<std::size_t>(length_) + 1, 0);
        counts_[0] = 1;
        // The part of the paths to y that a part of those to x leads to by (x, y): into[cell(x, y)][part].
        into_.assign(has_.size(), {});
        for (std::int32_t y = 1; y <= length_; ++y) {
            const std::int32_t from = std::max(0, y - longest_);
            std::vector<std::size_t> first(static_cast<std::size_t>(y - from) + 1, 0);
            for (std::int32_t x = from; x < y; ++x)
                first[static_cast<std::size_t>(x - from) + 1] =
                    first[static_cast<std::size_t>(x - from)] + (has(x, y) ? static_cast<std::size_t>(counts_[static_cast<std::size_t>(x)]) : 0);
            parent_.resize(first.back());
            std::iota(parent_.begin(), parent_.end(), std::size_t{0});
            for (std::int32_t w = from; w < y; ++w)
                for (std::int32_t x = w + 1; has(w, y) && x < y; ++x)
                    for (std::size_t part = 0; has(w, x) && has(x, y) && part < static_cast<std::size_t>(counts_[static_cast<std::size_t>(w)]); ++part)
                        join(first[static_cast<std::size_t>(w - from)] + part, first[static_cast<std::size_t>(x - from)] + into_[cell(w, x)][part]);
            std::vector<std::size_t> number(parent_.size(), parent_.size());
            std::size_t parts = 0;
            for (std::int32_t x = from; x < y; ++x) {
                if (!has(x, y)) continue;
                auto& lead = into_[cell(x, y)];
                for (std::size_t i = first[static_cast<std::size_t>(x - from)]; i < first[static_cast<std::size_t>(x - from) + 1]; ++i) {
                    const std::size_t root = find(i);
                    if (number[root] == parent_.size()) number[root] = parts++;
                    lead.push_back(number[root]);
                }
            }
            if (static_cast<std::int64_t>(parts) >= most) return most;
            counts_[static_cast<std::size_t>(y)] = static_cast<std::int64_t>(parts);
        }
        return counts_.back();
    }

private:
    std::size_t cell(std::int32_t begin, std::int32_t end) const {
        return static_cast<std::size_t>(begin) * static_cast<std::size_t>(longest_ + 1) + static_cast<std::size_t>(end - begin);
    }
    bool has(std::int32_t begin, std::int32_t end) const { return end - begin <= longest_ && has_[cell(begin, end)]; }

    std::size_t find(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

    std::int32_t length_, longest_ = 1;
    std::vector<char> has_;
    std::vector<std::int64_t> counts_;
    std::vector<std::vector<std::size_t>> into_;
    std::vector<std::size_t> parent_;
};

auto segmentation_components(In1<std::int32_t> lengths, In1<std::int64_t> offsets, In1<std::int32_t> begin, In1<std::int32_t> end,
                             std::int64_t most, int threads) {
    std::vector<std::int64_t> components(lengths.shape(0));
    run_blocks(components.size(), threads, nb::none(), [&](std::size_t s) {
        const auto first = static_cast<std::size_t>(offsets.data()[s]), count = static_cast<std::size_t>(offsets.data()[s + 1]) - first;
        components[s] = Segmentations(lengths.data()[s], view(begin).subspan(first, count), view(end).subspan(first, count)).components(most);
    });
    return give(std::move(components));
}

}  // namespace

void bind_segmentations(nb::module_& m) {
    m.def("segmentation_components", &segmentation_components, nb::arg("lengths"), nb::arg("offsets"),
          nb::arg("begin"), nb::arg("end"), nb::arg("most"), nb::arg("threads") = 1,
          "The number of connected parts of each sentence's segmentation graph, at most `most`, given its options'\n"
          "spans.");
}

}  // namespace dragoman::sampling::phrase
