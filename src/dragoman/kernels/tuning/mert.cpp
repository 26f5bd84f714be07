// Exact line search for minimum error rate training (Och 2003): the candidates that are best somewhere on a line of
// weights, and the sums of statistics between the places where one of them changes.
#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "forest/lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace dragoman::tuning {
namespace {

using forest::infinity;
using forest::overtakes;

using Rows = std::span<const std::int32_t>;
using Values = std::span<const double>;

std::size_t sentence_count(const In1<std::int64_t>& sentences) { return sentences.shape(0) - 1; }

// The first row with the highest score of each sentence.
std::vector<std::int32_t> first_best(const std::vector<double>& scores, std::span<const std::int64_t> sentences) {
    std::vector<std::int32_t> best(sentences.size() - 1);
    for (std::size_t s = 0; s < best.size(); ++s) {
        auto found = sentences[s];
        double highest = scores[static_cast<std::size_t>(found)];
        for (auto row = found + 1; row < sentences[s + 1]; ++row)
            if (const double score = scores[static_cast<std::size_t>(row)]; score > highest) highest = score, found = row;
        best[s] = static_cast<std::int32_t>(found);
    }
    return best;
}

// The score of each candidate, summed in the order of features, and the first best candidate of each sentence.
auto mert_scores(In2<double> columns, In1<double> weights, In1<std::int64_t> sentences) {
    const std::size_t rows = columns.shape(1);
    std::vector<double> scores(rows, 0.0);
    std::vector<std::int32_t> best;
    {
        nb::gil_scoped_release release;
        constexpr std::size_t block = 1024;  // stays in the nearest cache
        for (std::size_t begin = 0; begin < rows; begin += block) {
            const std::size_t end = std::min(rows, begin + block);
            for (std::size_t k = 0; k < columns.shape(0); ++k) {
                const double weight = weights.data()[k];
                const double* column = columns.data() + k * rows;
                if (weight == 0) continue;
                for (std::size_t row = begin; row < end; ++row) scores[row] += weight * column[row];
            }
        }
        best = first_best(scores, view(sentences));
    }
    return together(give(std::move(scores)), give(std::move(best)));
}

// The same after a step along a direction in which scores have the given slopes.
auto mert_moved(In1<double> scores, In1<double> slopes, double step, In1<std::int64_t> sentences) {
    std::vector<double> moved(scores.shape(0));
    std::vector<std::int32_t> best;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = 0; row < moved.size(); ++row) moved[row] = scores.data()[row] + step * slopes.data()[row];
        best = first_best(moved, view(sentences));
    }
    return together(give(std::move(moved)), give(std::move(best)));
}

// The candidates of each sentence by falling slope; equal ones in their order.
auto mert_order(In1<double> slopes, In1<std::int64_t> sentences) {
    std::vector<std::int32_t> order(slopes.shape(0));
    {
        nb::gil_scoped_release release;
        std::vector<std::pair<double, std::int32_t>> keys;
        for (std::size_t s = 0; s < sentence_count(sentences); ++s) {
            keys.clear();
            for (auto row = sentences.data()[s]; row < sentences.data()[s + 1]; ++row)
                keys.emplace_back(-slopes.data()[row], static_cast<std::int32_t>(row));
            std::ranges::sort(keys);
            std::ranges::transform(keys, order.begin() + sentences.data()[s], [](const auto& key) { return key.second; });
        }
    }
    return give(std::move(order));
}

// For each row the first one of its sentence with the same statistics.
auto mert_same_statistics(In2<double> statistics, In1<std::int64_t> sentences) {
    std::vector<std::int32_t> first(statistics.shape(0));
    {
        nb::gil_scoped_release release;
        const std::size_t bytes = statistics.shape(1) * sizeof(double);
        const auto* data = reinterpret_cast<const std::uint8_t*>(statistics.data());
        auto row_bytes = [&](std::int64_t row) { return data + static_cast<std::size_t>(row) * bytes; };
        NumberTable seen(0);
        for (std::size_t s = 0; s < sentence_count(sentences); ++s) {
            const auto begin = sentences.data()[s], end = sentences.data()[s + 1];
            seen.restart(static_cast<std::size_t>(end - begin));
            for (auto row = begin; row < end; ++row) {
                std::int32_t& slot = seen.slot(hash_bytes(row_bytes(row), bytes),
                                               [&](std::int32_t other) { return std::memcmp(row_bytes(other), row_bytes(row), bytes) == 0; });
                if (slot < 0) slot = static_cast<std::int32_t>(row);
                first[static_cast<std::size_t>(row)] = slot;
            }
        }
    }
    return give(std::move(first));
}

// The upper envelope of one sentence's lines, in two halves that meet at t = 0.
//
// Going from the largest slope down, a line can only be best at some t > 0 if its intercept is above all before it.
// Few lines are (about log n of n in random order), so that one comparison settles most of them. The search ends at the
// line that is best at 0; those beyond it belong to the other half, which is the mirror image. Every line is looked at
// about once.
class Envelope {
public:
    Envelope(Values intercepts, Values slopes) : intercepts_(intercepts), slopes_(slopes) {}

    // `order` holds the sentence's rows by falling slope, `best` is one with the highest intercept. Calls
    // change(t, row before, row after) for each break, from left to right, and returns the row at -infinity.
    template <class OnChange>
    std::int32_t build(Rows order, std::int32_t best, OnChange&& change) {
        const double highest = intercepts_[best];
        half(order.rbegin(), order.rend(), -1.0, highest, left_);
        half(order.begin(), order.end(), 1.0, highest, right_);
        for (std::size_t i = 0; i + 1 < left_.size(); ++i) change(-left_[i].from + 0.0, left_[i].row, left_[i + 1].row);
        if (left_.back().row != right_.back().row) change(0.0, left_.back().row, right_.back().row);
        for (std::size_t i = right_.size() - 1; i-- > 0;) change(right_[i].from, right_[i + 1].row, right_[i].row);
        return left_.front().row;
    }

private:
    struct Piece {
        double intercept, slope, from;  // from: the distance from 0 at which it takes over from the next one
        std::int32_t row;
    };

    template <class Iterator>
    void half(Iterator at, Iterator end, double sign, double highest, std::vector<Piece>& pieces) const {
        double record = -infinity;
        pieces.clear();
        for (; at != end; ++at) {
            const std::int32_t row = *at;
            const double intercept = intercepts_[row];
            if (intercept < record) continue;
            const double slope = sign * slopes_[row];
            if (!pieces.empty() && intercept == record) {
                // The line that set the record is at least as steep; of equal lines the first candidate counts.
                if (slope == pieces.back().slope) pieces.back().row = std::min(pieces.back().row, row);
                continue;
            }
            if (!pieces.empty() && slope == pieces.back().slope) pieces.pop_back();
            while (!pieces.empty()) {
                Piece& last = pieces.back();
                last.from = overtakes(intercept, slope, last.intercept, last.slope);
                if (last.from < (pieces.size() > 1 ? pieces[pieces.size() - 2].from : infinity)) break;
                pieces.pop_back();
            }
            pieces.push_back({intercept, slope, infinity, row});
            record = intercept;
            if (record == highest) break;
        }
        for (Piece& last = pieces.back(); at != end && sign * slopes_[*at] == last.slope; ++at)
            if (intercepts_[*at] == highest) last.row = std::min(last.row, *at);
    }

    Values intercepts_, slopes_;
    std::vector<Piece> left_, right_;
};

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
void sort_changes(std::vector<Change>& changes, std::vector<Change>& spare) {
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

// The places on the line where sums of statistics change, and the sums before, between and after them.
auto mert_line(In1<double> intercepts, In1<std::int32_t> best, In1<double> slopes, In1<std::int32_t> order,
               In1<std::int64_t> sentences, In1<std::int32_t> same, In2<double> statistics) {
    const std::size_t columns = statistics.shape(1);
    std::vector<double> breaks, sums(columns, 0.0);
    {
        nb::gil_scoped_release release;
        auto of = [&](std::int32_t row) { return statistics.data() + static_cast<std::size_t>(row) * columns; };
        std::vector<Change> changes, spare;
        Envelope envelope(view(intercepts), view(slopes));
        for (std::size_t s = 0; s < sentence_count(sentences); ++s) {
            const Rows rows(order.data() + sentences.data()[s], order.data() + sentences.data()[s + 1]);
            const std::int32_t first = envelope.build(rows, best.data()[s], [&](double t, std::int32_t from, std::int32_t to) {
                if (same.data()[from] != same.data()[to]) changes.emplace_back(t, same.data()[from], same.data()[to]);
            });
            for (std::size_t k = 0; k < columns; ++k) sums[k] += of(same.data()[first])[k];
        }
        sort_changes(changes, spare);
        sums.resize((changes.size() + 1) * columns);
        breaks.reserve(changes.size());
        double* sum = sums.data();
        for (std::size_t i = 0; i < changes.size(); ++i) {
            if (i == 0 || changes[i].key != changes[i - 1].key) {
                std::copy(sum, sum + columns, sum + columns);
                sum += columns;
                breaks.push_back(changes[i].t());
            }
            const double *from = of(changes[i].from), *to = of(changes[i].to);
            for (std::size_t k = 0; k < columns; ++k) sum[k] += to[k] - from[k];
        }
        sums.resize((breaks.size() + 1) * columns);
    }
    return together(give(std::move(breaks)), give(std::move(sums), columns));
}

}  // namespace

void bind_mert(nb::module_& m) {
    m.def("mert_scores", &mert_scores, nb::arg("columns"), nb::arg("weights"), nb::arg("sentences"),
          "The weighted sum of each candidate's features (`columns` has a row for each feature), and the first best\n"
          "ones.");
    m.def("mert_moved", &mert_moved, nb::arg("scores"), nb::arg("slopes"), nb::arg("step"), nb::arg("sentences"),
          "Scores after a step along a direction in which they have the given slopes, and the first best candidates.");
    m.def("mert_order", &mert_order, nb::arg("slopes"), nb::arg("sentences"),
          "The candidates of each sentence by falling slope, equal ones in their order.");
    m.def("mert_same_statistics", &mert_same_statistics, nb::arg("statistics"), nb::arg("sentences"),
          "For each candidate the first one of its sentence with the same statistics.");
    m.def("mert_line", &mert_line, nb::arg("intercepts"), nb::arg("best"), nb::arg("slopes"), nb::arg("order"),
          nb::arg("sentences"), nb::arg("same"), nb::arg("statistics"),
          "Where the sum of the best candidates' statistics changes along a line, and the sums around those breaks.\n\n"
          "Candidate i scores intercepts[i] + t * slopes[i]; `best` is the first best one of each sentence at t =\n"
          "0, and `order` is that of mert_order.");
}

}  // namespace dragoman::tuning
