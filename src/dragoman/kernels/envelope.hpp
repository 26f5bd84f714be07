// Straight lines a + t b, their upper envelope, and the order in which steps along t are added up.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace dragoman {

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

// At some t, a sentence goes from one row of statistics to another.
struct Change {
    std::uint64_t key;  // t, as bits that sort like it
    std::int32_t from, to;

    Change() = default;
    Change(double t, std::int32_t from_row, std::int32_t to_row) : key(key_of(t)), from(from_row), to(to_row) {}

    double t() const { return std::bit_cast<double>(key >> 63 ? key ^ (std::uint64_t{1} << 63) : ~key); }
    bool operator<(const Change& other) const { return key != other.key ? key < other.key : from < other.from; }

private:
    static std::uint64_t key_of(double t) {
        const auto bits = std::bit_cast<std::uint64_t>(t);
        return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
    }
};

// Sorts changes by t, then by row. Three passes over 11 bits each put the leading 33 bits (sign, exponent, 21 of the
// fraction) in order, which leaves little to compare; several times as fast as comparing alone.
inline void sort_changes(std::vector<Change>& changes, std::vector<Change>& spare) {
    constexpr int bits = 11, lowest = 64 - 3 * bits;
    constexpr std::size_t buckets = std::size_t{1} << bits;
    if (changes.size() < 256 || changes.size() > std::numeric_limits<std::uint32_t>::max()) {
        std::ranges::sort(changes, std::less{});
        return;
    }
    std::array<std::array<std::uint32_t, buckets>, 3> starts{};
    for (const Change& change : changes)
        for (int pass = 0; pass < 3; ++pass) ++starts[pass][(change.key >> (lowest + pass * bits)) & (buckets - 1)];
    spare.resize(changes.size());
    for (int pass = 0; pass < 3; ++pass) {
        std::uint32_t sum = 0;
        for (std::uint32_t& start : starts[pass]) sum += std::exchange(start, sum);
        for (const Change& change : changes)
            spare[starts[pass][(change.key >> (lowest + pass * bits)) & (buckets - 1)]++] = change;
        changes.swap(spare);
    }
    for (auto begin = changes.begin(); begin != changes.end();) {
        auto end = begin + 1;
        while (end != changes.end() && end->key >> lowest == begin->key >> lowest) ++end;
        if (end - begin > 1) std::sort(begin, end);
        begin = end;
    }
}

}  // namespace dragoman
