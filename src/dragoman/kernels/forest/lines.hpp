// Straight lines a + t b and their upper envelope.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace dragoman::forest {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Where a line with a larger slope begins to be above one with a smaller slope. Written once, so that breaks are the
// same numbers however an envelope was built. Adding 0 makes -0 into 0.
inline double overtakes(double lower_intercept, double lower_slope, double upper_intercept, double upper_slope) {
    return (lower_intercept - upper_intercept) / (upper_slope - lower_slope) + 0.0;
}

// Sorts lines (by slope, then from the highest intercept down: what Line's < must do) and appends those that are highest
// somewhere to `kept`, by rising slope, each with where it begins to be.
template <class Line>
void keep_highest(std::vector<Line>& lines, std::vector<Line>& kept) {
    std::sort(lines.begin(), lines.end());
    for (Line line : lines) {
        if (!kept.empty() && kept.back().slope == line.slope) continue;
        line.from = -infinity;
        while (!kept.empty()) {
            const Line& last = kept.back();
            line.from = overtakes(last.intercept, last.slope, line.intercept, line.slope);
            if (line.from > last.from) break;
            kept.pop_back();
            line.from = -infinity;
        }
        if (line.from < infinity) kept.push_back(line);
    }
}

}  // namespace dragoman::forest
