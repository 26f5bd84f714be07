// What rules do with their holes.
#include "base/arrays.hpp"

#include <cstdint>
#include <vector>

namespace dragoman::search::chart {
namespace {

// A hole is reordered if it crosses a word link, or the other hole.
auto reordered_holes(In1<std::int64_t> sides, In2<std::int32_t> symbols, In1<std::int32_t> words, In1<std::int64_t> word_offsets,
                     In1<std::int64_t> rows, In1<std::uint16_t> links, In1<std::int64_t> link_offsets) {
    std::vector<std::uint8_t> reordered(2 * sides.size(), 0);
    {
        nb::gil_scoped_release release;
        for (std::size_t rule = 0; rule < sides.size(); ++rule) {
            const std::int32_t* const source = symbols.data() + 2 * sides.data()[rule];
            std::int32_t target[2] = {-1, -1};
            const std::int64_t first = word_offsets.data()[rule];
            for (std::int64_t i = first; i < word_offsets.data()[rule + 1]; ++i)
                if (const std::int32_t word = words.data()[i]; word == -1 || word == -2) target[-1 - word] = static_cast<std::int32_t>(i - first);
            std::uint8_t* const crosses = reordered.data() + 2 * rule;
            if (target[1] >= 0 && target[1] < target[0]) crosses[0] = crosses[1] = 1;
            const std::int64_t row = rows.data()[rule];
            for (std::int64_t i = row < 0 ? 0 : link_offsets.data()[row]; row >= 0 && i < link_offsets.data()[row + 1]; ++i) {
                const std::int32_t from = links.data()[i] >> 8, to = links.data()[i] & 255;
                for (int k = 0; k < 2; ++k)
                    if (target[k] >= 0 && (from < source[k]) != (to < target[k])) crosses[k] = 1;
            }
        }
    }
    return give(std::move(reordered), 2);
}

}  // namespace

void bind_holes(nb::module_& m) {
    m.def("reordered_holes", &reordered_holes, nb::arg("sides"), nb::arg("symbols"), nb::arg("words"), nb::arg("word_offsets"),
          nb::arg("rows"), nb::arg("links"), nb::arg("link_offsets"),
          "For each rule whether it reorders its two holes: whether these cross each other or a link. Of a rule are given its\n"
          "source side, for each side which symbols are holes, its target side (-1 and -2 are holes), and the row of its\n"
          "links (256 * source + target symbol), -1 if it has none.");
}

}  // namespace dragoman::search::chart
