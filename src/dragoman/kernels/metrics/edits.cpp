// Edit distances between hypotheses and references, without shifts (WER) and with them (TER).
#include "base/parallel.hpp"
#include "metrics/compared.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace dragoman::metrics {
namespace {

std::int64_t edit_distance(Words hypothesis, Words reference, std::vector<std::int64_t>& row, const std::atomic<bool>& stop) {
    row.resize(reference.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < hypothesis.size(); ++i) {
        heed(stop);
        std::int64_t diagonal = row[0]++;
        for (std::size_t j = 0; j < reference.size(); ++j) {
            const std::int64_t substituted = diagonal + (hypothesis[i] != reference[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

// The limits of Tercom as sacreBLEU has them.
constexpr int kLongestShift = 10, kFarthestShift = 50, kBeam = 25, kMostCandidates = 1000;

// Translation edit rate as sacreBLEU defines it: a greedy search for the shift that lowers the edit distance most,
// where the distance is computed in a beam around the diagonal. All sentences that are compared are permutations of
// one hypothesis, so the beam (columns begin[i] to end[i] of row i) is computed once.
class ShiftSearch {
public:
    explicit ShiftSearch(const std::atomic<bool>& stop) : stop_(stop) {}

    std::int64_t edits(Words hypothesis, Words reference) {
        if (reference.empty()) return static_cast<std::int64_t>(hypothesis.size());
        words_.assign(hypothesis.begin(), hypothesis.end());
        reference_ = reference;
        lay_out();
        fill_base(0);
        int shifts = 0, checked = 0;
        while (true) {
            const Shift best = best_shift(checked);
            if (checked >= kMostCandidates || best.gain <= 0) break;
            ++shifts;
            perform(best);
            words_.swap(shifted_);
            fill_base(std::min(best.begin, best.target));
        }
        return shifts + base_score();
    }

private:
    // Ordered as Tercom ranks shifts: largest gain, longest, earliest, earliest target.
    struct Shift {
        int gain = 0, length = 0, begin = 0, target = 0;
        bool any = false;
        auto rank() const { return std::tuple(gain, length, -begin, -target); }
    };

    enum Operation : std::uint8_t { kUndefined, kMatch, kSubstitute, kInsert, kDelete };
    static constexpr std::int32_t kInfinity = 1 << 29;

    int rows() const { return static_cast<int>(words_.size()); }
    int columns() const { return static_cast<int>(reference_.size()); }
    int base_score() const { return base_[place_[rows()] + columns() - low_[rows()]]; }

    // Which cells of each row lie in the beam, and where they are kept: with one cell to the left and those that the
    // next row looks at to the right, which stay infinite.
    void lay_out() {
        const int n = rows(), m = columns();
        const double ratio = n ? double(m) / n : 1.0;
        const int width = kBeam < ratio / 2 ? static_cast<int>(std::ceil(ratio / 2 + kBeam)) : kBeam;
        begin_.assign(n + 1, 0);
        end_.assign(n + 1, m + 1);
        for (int i = 1; i <= n; ++i) {
            const int diagonal = static_cast<int>(std::floor(i * ratio));
            begin_[i] = std::max(0, diagonal - width);
            if (i < n) end_[i] = std::min(m + 1, diagonal + width);
        }
        low_.resize(n + 1);
        place_.assign(n + 2, 0);
        for (int i = 0; i <= n; ++i) {
            low_[i] = std::max(0, begin_[i] - 1);
            const int high = i < n ? std::max(end_[i], end_[i + 1]) : end_[i];
            place_[i + 1] = place_[i] + high - low_[i];
        }
        base_.assign(place_.back(), kInfinity);
        scratch_.assign(place_.back(), kInfinity);
        operations_.assign(place_.back(), kUndefined);
        for (int j = 0; j <= m; ++j) base_[j] = j, operations_[j] = kInsert;
    }

    // Computes row i from the row before it.
    template <bool kTrace>
    void fill_row(int i, std::int32_t word, const std::int32_t* before, std::int32_t* row, std::uint8_t* operations) {
        heed(stop_);
        const int low_before = low_[i - 1], low = low_[i];
        std::int32_t left = kInfinity;
        for (int j = begin_[i]; j < end_[i]; ++j) {
            std::int32_t cost = kInfinity;
            std::uint8_t operation = kUndefined;
            const std::int32_t above = before[j - low_before] + 1;
            if (j == 0) {
                cost = above;
                operation = kDelete;
            } else {
                const bool same = word == reference_[j - 1];
                const std::int32_t diagonal = before[j - 1 - low_before] + !same;
                if (diagonal < cost) cost = diagonal, operation = same ? kMatch : kSubstitute;
                if (above < cost) cost = above, operation = kDelete;
                if (left + 1 < cost) cost = left + 1, operation = kInsert;
            }
            row[j - low] = left = cost;
            if constexpr (kTrace) operations[j - low] = operation;
        }
    }

    // Computes the matrix of the current words from the row after `from`.
    void fill_base(int from) {
        for (int i = from + 1; i <= rows(); ++i)
            fill_row<true>(i, words_[i - 1], base_.data() + place_[i - 1], base_.data() + place_[i],
                           operations_.data() + place_[i]);
        trace();
    }

    // The distance of the shifted words, whose first `from` words are those of the current words.
    int shifted_score(int from) {
        const std::int32_t* before = base_.data() + place_[from];
        for (int i = from + 1; i <= rows(); ++i) {
            std::int32_t* row = scratch_.data() + place_[i];
            fill_row<false>(i, shifted_[i - 1], before, row, nullptr);
            before = row;
        }
        return before[columns() - low_[rows()]];
    }

    // From the best path: for each reference word the hypothesis word that it is aligned to (-1 before the first), and
    // running sums of the wrong words on both sides.
    void trace() {
        const int n = rows(), m = columns();
        aligned_.assign(m, -1);
        wrong_.assign(n + 1, 0);
        wrong_reference_.assign(m + 1, 0);
        for (int i = n, j = m; i > 0 || j > 0;) {
            switch (operations_[place_[i] + j - low_[i]]) {
                case kMatch: aligned_[--j] = --i; break;
                case kSubstitute:
                    aligned_[--j] = --i;
                    wrong_[i + 1] = wrong_reference_[j + 1] = 1;
                    break;
                case kInsert:
                    aligned_[--j] = i - 1;
                    wrong_reference_[j + 1] = 1;
                    break;
                case kDelete: wrong_[i--] = 1; break;
                default: throw std::logic_error("the beam lost the path");
            }
        }
        std::partial_sum(wrong_.begin(), wrong_.end(), wrong_.begin());
        std::partial_sum(wrong_reference_.begin(), wrong_reference_.end(), wrong_reference_.begin());
    }

    // The best shift of words that match the reference elsewhere; counts the shifts that were tried.
    Shift best_shift(int& checked) {
        Shift best;
        const int n = rows(), m = columns();
        for (int h = 0; h < n; ++h)
            for (int r = std::max(0, h - kFarthestShift); r <= std::min(m - 1, h + kFarthestShift); ++r)
                for (int length = 1; length <= std::min({kLongestShift, n - h, m - r}); ++length) {
                    if (words_[h + length - 1] != reference_[r + length - 1]) break;
                    try_targets(h, r, length, best, checked);
                    if (checked >= kMostCandidates) return best;
                }
        return best;
    }

    void try_targets(int h, int r, int length, Shift& best, int& checked) {
        // Both the words and the place in the reference must be wrong as yet, and the place elsewhere.
        if (wrong_[h + length] == wrong_[h] || wrong_reference_[r + length] == wrong_reference_[r]) return;
        if (aligned_[r] >= h && aligned_[r] < h + length) return;
        for (int at = r - 1, previous = -1; at < std::min(r + length, columns()); ++at) {
            const int target = at < 0 ? 0 : aligned_[at] + 1;
            if (target == previous) continue;
            previous = target;
            Shift shift{0, length, h, target, true};
            perform(shift);
            shift.gain = base_score() - shifted_score(std::min(h, target));
            ++checked;
            if (!best.any || shift.rank() > best.rank()) best = shift;
        }
    }

    // Writes the current words with the shift done to shifted_. A target within the shifted words moves them right.
    void perform(const Shift& shift) {
        const int begin = shift.begin, end = begin + shift.length;
        shifted_ = words_;
        if (shift.target < begin) {
            std::rotate(shifted_.begin() + shift.target, shifted_.begin() + begin, shifted_.begin() + end);
        } else {
            const int last = shift.target > end ? shift.target : std::min(shift.target + shift.length, rows());
            std::rotate(shifted_.begin() + begin, shifted_.begin() + end, shifted_.begin() + last);
        }
    }

    const std::atomic<bool>& stop_;
    std::vector<std::int32_t> words_, shifted_, base_, scratch_;
    std::vector<std::uint8_t> operations_;
    std::vector<int> begin_, end_, low_, aligned_, wrong_, wrong_reference_;
    std::vector<std::ptrdiff_t> place_;
    Words reference_;
};

// Calls distance(hypothesis, reference) for each hypothesis and the reference of its sentence.
template <class MakeDistance>
auto each(const Compared& compared, int threads, Progress& progress, MakeDistance&& make_distance) {
    const std::size_t n = compared.size();
    std::vector<std::int64_t> edits(n);
    constexpr std::size_t kPerBlock = 256;
    run_blocks((n + kPerBlock - 1) / kPerBlock, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        auto distance = make_distance(stop);
        for (std::size_t i = block * kPerBlock; i < std::min(n, (block + 1) * kPerBlock); ++i)
            edits[i] = distance((*compared.hypotheses)[i], compared.reference(i));
    });
    return give(std::move(edits));
}

auto edit_distances(const Compared& compared, int threads, Progress progress) {
    return each(compared, threads, progress, [](const std::atomic<bool>& stop) {
        return [&stop, row = std::vector<std::int64_t>()](Words hypothesis, Words reference) mutable {
            return edit_distance(hypothesis, reference, row, stop);
        };
    });
}

auto translation_edits(const Compared& compared, int threads, Progress progress) {
    return each(compared, threads, progress, [](const std::atomic<bool>& stop) {
        return [search = ShiftSearch(stop)](Words hypothesis, Words reference) mutable {
            return search.edits(hypothesis, reference);
        };
    });
}

}  // namespace

void bind_edits(nb::module_& m) {
    bind_record(m, "Compared",
                "Hypotheses and what they are compared with: hypothesis i translates `sentences[i]`.\n\n"
                "Words are in the same ids; those that no reference has are below 0.",
                Field{"hypotheses", &Compared::hypotheses}, Field{"sentences", &Compared::sentences},
                Field{"references", &Compared::references});
    m.def("edit_distances", &edit_distances, nb::arg("compared"), nb::arg("threads") = 1,
          nb::arg("progress").none() = nb::none(),
          "Levenshtein distance of each hypothesis to its sentence's reference.");
    m.def("translation_edits", &translation_edits, nb::arg("compared"), nb::arg("threads") = 1,
          nb::arg("progress").none() = nb::none(),
          "Shifts and edits from each hypothesis to its sentence's reference, found as sacreBLEU's TER finds them.");
}

}  // namespace dragoman::metrics
