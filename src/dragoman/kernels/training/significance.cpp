// Co-occurrence of phrases in sentence pairs, and Fisher's exact test on the counts.
#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace dragoman::training {
namespace {

constexpr std::size_t kPairsPerBlock = 1 << 14;

// Distinct phrases and a hash index over them that extends a phrase word by word.
class PhraseIndex {
public:
    PhraseIndex(Words words, std::span<const std::int64_t> offsets) : words_(words), offsets_(offsets) {
        slots_.assign(table_size(size()), -1);
        tags_.assign(slots_.size(), 0);
        for (std::size_t id = 0; id < size(); ++id) {
            const Words phrase = (*this)[id];
            // Negative ids stand for words that the text does not have.
            if (phrase.empty() || std::ranges::min(phrase) < 0) continue;
            if (phrase.size() >= lengths_.size()) lengths_.resize(phrase.size() + 1, false);
            lengths_[phrase.size()] = true;
            std::uint64_t h = 0;
            for (const std::int32_t word : phrase) h = extend(h, word);
            const std::size_t at = probe(h, slots_.size(), [&](std::size_t slot) { return slots_[slot] < 0; });
            slots_[at] = static_cast<std::int32_t>(id);
            tags_[at] = static_cast<std::uint32_t>(h >> 32);
        }
    }

    std::size_t size() const { return offsets_.size() - 1; }

    // Calls found(id) for every phrase that starts at the first of these words.
    template <class Found>
    void match(Words text, Found&& found) const {
        std::uint64_t h = 0;
        const std::size_t longest = std::min(text.size() + 1, lengths_.size());
        for (std::size_t length = 1; length < longest; ++length) {
            h = extend(h, text[length - 1]);
            if (!lengths_[length]) continue;
            std::size_t at = h & (slots_.size() - 1);
            for (; slots_[at] >= 0; at = (at + 1) & (slots_.size() - 1))
                if (tags_[at] == static_cast<std::uint32_t>(h >> 32) &&
                    std::ranges::equal((*this)[slots_[at]], text.first(length))) {
                    found(slots_[at]);
                    break;
                }
        }
    }

private:
    Words operator[](std::size_t id) const { return words_.subspan(offsets_[id], offsets_[id + 1] - offsets_[id]); }

    static std::uint64_t extend(std::uint64_t h, std::int32_t word) {
        return mix(h * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(word) + 1);
    }

    Words words_;
    std::span<const std::int64_t> offsets_;
    std::vector<std::int32_t> slots_;
    std::vector<std::uint32_t> tags_;
    std::vector<bool> lengths_;
};

auto phrase_occurrences(In1<std::int32_t> phrase_words, In1<std::int64_t> phrase_offsets, In1<std::int32_t> words,
                        In1<std::int64_t> offsets, int threads, Progress progress) {
    struct Occurrence {
        std::int32_t phrase, sentence;
        bool operator==(const Occurrence&) const = default;
    };
    const PhraseIndex index(view(phrase_words), view(phrase_offsets));
    const auto offset = view(offsets);
    const std::size_t rows = offset.size() - 1;
    constexpr std::size_t kPerBlock = 1024;
    std::vector<std::vector<Occurrence>> parts((rows + kPerBlock - 1) / kPerBlock);
    run_blocks(parts.size(), threads, progress, [&](std::size_t block) {
        auto& part = parts[block];
        const std::size_t end = std::min(rows, (block + 1) * kPerBlock);
        for (std::size_t row = block * kPerBlock; row < end; ++row) {
            const auto mark = static_cast<std::ptrdiff_t>(part.size());
            for (auto at = offset[row]; at < offset[row + 1]; ++at)
                index.match(view(words).subspan(at, offset[row + 1] - at),
                            [&](std::int32_t id) { part.push_back({id, static_cast<std::int32_t>(row)}); });
            // A sentence counts once, however often it holds the phrase.
            std::sort(part.begin() + mark, part.end(), [](auto& a, auto& b) { return a.phrase < b.phrase; });
            part.erase(std::unique(part.begin() + mark, part.end()), part.end());
        }
    });
    std::vector<std::int64_t> begin(index.size() + 1, 0);
    std::vector<std::int32_t> sentences;
    {
        nb::gil_scoped_release release;
        for (const auto& part : parts)
            for (const Occurrence& o : part) ++begin[o.phrase + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        sentences.resize(begin.back());
        std::vector<std::int64_t> at(begin.begin(), begin.end() - 1);
        for (auto& part : parts) {
            for (const Occurrence& o : part) sentences[at[o.phrase]++] = o.sentence;
            part = {};
        }
    }
    return together(give(std::move(sentences)), give(std::move(begin)));
}

using Sorted = std::span<const std::int32_t>;

std::int64_t common(Sorted few, Sorted many) {
    if (few.size() > many.size()) std::swap(few, many);
    std::int64_t count = 0;
    auto from = many.begin();
    for (const std::int32_t wanted : few) {
        std::ptrdiff_t step = 1;
        auto to = from;
        while (to < many.end() && *to < wanted) {
            from = to + 1;
            to = many.end() - to > step ? to + step : many.end();
            step *= 2;
        }
        from = std::lower_bound(from, to, wanted);
        if (from == many.end()) break;
        if (*from == wanted) ++count, ++from;
    }
    return count;
}

auto count_common(In1<std::int32_t> source_sentences, In1<std::int64_t> source_offsets,
                  In1<std::int32_t> target_sentences, In1<std::int64_t> target_offsets,
                  In1<std::int32_t> source_ids, In1<std::int32_t> target_ids, int threads, Progress progress) {
    auto list = [](const In1<std::int32_t>& sentences, const In1<std::int64_t>& offsets, std::int32_t id) {
        const auto offset = view(offsets);
        return view(sentences).subspan(offset[id], offset[id + 1] - offset[id]);
    };
    const std::size_t n = source_ids.shape(0);
    std::vector<std::int64_t> counts(n);
    run_blocks((n + kPairsPerBlock - 1) / kPairsPerBlock, threads, progress, [&](std::size_t block) {
        for (std::size_t i = block * kPairsPerBlock; i < std::min(n, (block + 1) * kPairsPerBlock); ++i)
            counts[i] = common(list(source_sentences, source_offsets, source_ids.data()[i]),
                               list(target_sentences, target_offsets, target_ids.data()[i]));
    });
    return give(std::move(counts));
}

// Binomial log probabilities by Loader's saddle-point expansion ("Fast and accurate computation of binomial
// probabilities", 2000): no differences of large logarithms of factorials, so that the tails keep their digits.

// log n! minus Stirling's formula.
double stirling_error(double n) {
    static const auto small = [] {
        std::array<double, 16> table{};
        long double factorial = 1;
        for (int i = 1; i < 16; ++i) {
            factorial *= i;
            const long double x = i;
            table[i] = static_cast<double>(std::log(factorial) - (x + 0.5L) * std::log(x) + x -
                                           0.5L * std::log(2 * std::numbers::pi_v<long double>));
        }
        return table;
    }();
    if (n < 16) return small[static_cast<int>(n)];
    const double square = n * n;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / square) / square) / square) / square) / n;
}

// x log(x/m) + m - x without cancellation where x is close to m.
double deviance(double x, double m) {
    if (std::abs(x - m) >= 0.1 * (x + m)) return x * std::log(x / m) + m - x;
    const double v = (x - m) / (x + m);
    double sum = (x - m) * v, power = 2 * x * v;
    for (int j = 1;; ++j) {
        power *= v * v;
        const double next = sum + power / (2 * j + 1);
        if (next == sum) return sum;
        sum = next;
    }
}

// log of the probability of x successes in n trials when `hits` of `all` are successes.
double log_binomial(double x, double n, double hits, double all) {
    const double misses = all - hits;
    if (x == 0) return n == 0 || hits == 0 ? 0 : n * std::log1p(-hits / all);
    if (x == n) return n * (hits < misses ? std::log(hits / all) : std::log1p(-misses / all));
    return stirling_error(n) - stirling_error(x) - stirling_error(n - x) - deviance(x, n * hits / all) -
           deviance(n - x, n * misses / all) + 0.5 * std::log(n / (2 * std::numbers::pi * x * (n - x)));
}

// -log of the probability that two phrases that occur in `source` and `target` of `all` sentence pairs meet by chance
// in `joint` or more of them (a sum of hypergeometric probabilities).
double fisher(double joint, double source, double target, double all) {
    const double lowest = std::max(0.0, source + target - all), highest = std::min(source, target);
    if (joint <= lowest) return 0;
    // P(k) is proportional to binomial(k of source) binomial(target - k of the rest); sum away from the mode.
    auto log_probability = [&](double k) {
        return log_binomial(k, source, target, all) + log_binomial(target - k, all - source, target, all) -
               log_binomial(target, all, target, all);
    };
    const bool upper = joint > (source + 1) * (target + 1) / (all + 2);
    double k = upper ? joint : joint - 1, term = 1, sum = 1;
    const double start = log_probability(k);
    while (upper ? k < highest : k > lowest) {
        if (upper) term *= (source - k) * (target - k) / ((k + 1) * (all - source - target + k + 1)), ++k;
        else term *= k * (all - source - target + k) / ((source - k + 1) * (target - k + 1)), --k;
        if (term < sum * std::numeric_limits<double>::epsilon() * 0.01) break;
        sum += term;
    }
    const double tail = start + std::log(sum);
    // Rounding must not turn a certain event into more than one.
    return upper ? std::max(0.0, -tail) : tail < 0 ? -std::log1p(-std::exp(tail)) : 0;
}

auto fisher_exact(In1<std::int64_t> joint, In1<std::int64_t> source, In1<std::int64_t> target, std::int64_t sentences,
                  int threads, Progress progress) {
    const std::size_t n = joint.shape(0);
    std::vector<double> result(n);
    run_blocks((n + kPairsPerBlock - 1) / kPairsPerBlock, threads, progress, [&](std::size_t block) {
        for (std::size_t i = block * kPairsPerBlock; i < std::min(n, (block + 1) * kPairsPerBlock); ++i)
            result[i] = fisher(double(joint.data()[i]), double(source.data()[i]), double(target.data()[i]),
                               double(sentences));
    });
    return give(std::move(result));
}

}  // namespace

void bind_significance(nb::module_& m) {
    m.def("phrase_occurrences", &phrase_occurrences, nb::arg("phrase_words"), nb::arg("phrase_offsets"),
          nb::arg("words"), nb::arg("offsets"), nb::arg("threads"), nb::arg("progress").none(),
          "The sentences that hold each of the distinct phrases, ascending, and the phrases' offsets among them.");
    m.def("count_common", &count_common, nb::arg("source_sentences"), nb::arg("source_offsets"),
          nb::arg("target_sentences"), nb::arg("target_offsets"), nb::arg("source_ids"), nb::arg("target_ids"),
          nb::arg("threads"), nb::arg("progress").none(),
          "For each pair of phrases the number of sentences that hold both.");
    m.def("fisher_exact", &fisher_exact, nb::arg("joint"), nb::arg("source"), nb::arg("target"), nb::arg("sentences"),
          nb::arg("threads"), nb::arg("progress").none(),
          "-log p of the one-sided Fisher exact test: that by chance alone `joint` or more pairs hold both phrases.");
}

}  // namespace dragoman::training
