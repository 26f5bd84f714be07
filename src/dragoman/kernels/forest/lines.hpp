// Straight lines a + t b and their upper envelope.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace dragoman::forest {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Where a line with a larger slope begins to be above one with a smaller slope. Written once, so that breaks are the
// same numbers however an envelope was built. Adding 0 makes -0 into 0.
inline double overtakes(double lower_intercept, double lower_slope, double upper_intercept, double upper_slope) {
    return (lower_intercept - upper_intercept) / (upper_slope - lower_slope) + 0.0;
}

// Adds a line to an envelope, `kept` from `first` on, whose lines come by rising slope. It has the lines that are highest
// somewhere, each with where it begins to be; of equal lines the first.
template <class Line>
void add_line(Line line, std::vector<Line>& kept, std::size_t first) {
    if (kept.size() > first && kept.back().slope == line.slope) {
        if (kept.back().intercept >= line.intercept) return;
        kept.pop_back();
    }
    line.from = -infinity;
    while (kept.size() > first) {
        const Line& last = kept.back();
        line.from = overtakes(last.intercept, last.slope, line.intercept, line.slope);
        if (line.from > last.from) break;
        kept.pop_back();
        line.from = -infinity;
    }
    if (line.from < infinity) kept.push_back(line);
}

}  // namespace dragoman::forest
