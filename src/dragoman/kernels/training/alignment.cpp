// Models that generate each word on its own: IBM Model 1, and its cousin that favours the diagonal (Dyer, Chahuneau &
// Smith 2013), whose prior for linking generated position j of m to given position i of n is, with the tension λ,
//     p(NULL) = p0,   p(i | j, m, n) = (1 - p0) exp(-λ |i/n - j/m|) / Z(j, m, n, λ),   positions counted from 1.
#include "base/parallel.hpp"
#include "training/alignment.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>
#include <optional>

namespace dragoman::training {
namespace {

// The prior of all given positions for one generated token. Away from the diagonal the unnormalised probabilities are
// two geometric series with the ratio exp(-λ/n), so one exponential is enough for a token.
class Prior {
public:
    Prior(std::size_t longest, double null_probability, std::optional<double> tension)
        : null_probability_(null_probability), tension_(tension) {
        if (tension_)
            for (std::size_t n = 0; n <= longest; ++n) ratio_.push_back(n ? std::exp(-*tension_ / double(n)) : 0.0);
    }

    struct Weights {
        double null;   // the prior of NULL
        double scale;  // what to multiply the row's values with
    };

    // Fills row[0..n) up to the returned scale, for generated position j (from 0) of m.
    Weights fill(std::size_t j, std::size_t m, std::size_t n, double* row) const {
        if (!tension_) {
            std::fill(row, row + n, 1.0);
            return {1.0 / double(n + 1), 1.0 / double(n + 1)};
        }
        const double at = double(j + 1) / double(m), ratio = ratio_[n];
        const auto below = static_cast<std::size_t>(double(j + 1) * double(n) / double(m));
        const double first_above = std::exp(-*tension_ * (double(below + 1) / double(n) - at));
        double sum = 0.0;
        double value = first_above;
        for (std::size_t i = below; i < n; ++i, value *= ratio) sum += row[i] = value;
        value = ratio / first_above;
        for (std::size_t i = below; i-- > 0; value *= ratio) sum += row[i] = value;
        return {null_probability_, (1.0 - null_probability_) / sum};
    }

    // The same, but each value straight from the definition: words that occur twice, equally far from the diagonal, are
    // then told apart by the same rounding as in fast_align.
    Weights fill_exactly(std::size_t j, std::size_t m, std::size_t n, double* row) const {
        const Weights weights = fill(j, m, n, row);
        if (tension_)
            for (std::size_t i = 0; i < n; ++i)
                row[i] = std::exp(-std::fabs(double(i + 1) / double(n) - double(j + 1) / double(m)) * *tension_);
        return weights;
    }

private:
    double null_probability_;
    std::optional<double> tension_;
    std::vector<double> ratio_;
};

std::size_t longest_given(const Cooccurrence& table) {
    std::size_t longest = 0;
    for (std::size_t s = 0; s < table.sentences(); ++s) longest = std::max(longest, table.given(s).size());
    return longest;
}

// E-step. `linked` is, if it is wanted, for each token of the corpus the posterior of its having a link at all. With
// `as_fast_align` the feature's generated position is one too low (see diagonal_expectation). A table may have some of the
// generated words only, so the feature is not summed over words: that is done in their order, whatever the tables.
auto expected_counts(const Cooccurrence& table, In1<double> probabilities, double null_probability,
                     std::optional<double> tension, int threads, Progress progress, bool as_fast_align,
                     bool wants_linked) {
    const std::size_t longest = longest_given(table);
    const Prior prior(longest, null_probability, tension);
    const auto bounds = balanced_blocks(view(table.groups), kTokenBlocks);
    std::vector<double> counts(table.pair_given.size());
    std::vector<double> log_likelihood(table.words()), feature(table.words());
    std::vector<double> linked(wants_linked ? table.tokens() : 0);
    const double first = as_fast_align ? 0.0 : 1.0;
    struct Entry {
        double probability, count;
    };
    run_blocks(bounds.size() - 1, threads, progress, [&](std::size_t block) {
        std::vector<double> weight(longest);
        std::unique_ptr<Entry[]> entries(new Entry[std::size_t(table.null_word) + 1]);
        for (std::size_t word = bounds[block]; word < bounds[block + 1]; ++word) {
            table.each_pair(word, [&](std::int64_t pair, std::int32_t given) {
                entries[given] = {probabilities.data()[pair], 0.0};
            });
            Entry& null = entries[table.null_word];
            table.each_token(word, [&](std::int64_t token, std::int32_t s, std::int32_t j) {
                const auto given = table.given(s);
                const std::size_t m = table.generated_length(s), n = given.size();
                const auto [null_prior, scale] = prior.fill(j, m, n, weight.data());
                double sum = 0.0;
                for (std::size_t i = 0; i < n; ++i) sum += weight[i] *= entries[given[i]].probability;
                const double null_weight = null_prior * null.probability;
                sum = sum * scale + null_weight;
                if (!(sum > kVanished)) return;
                log_likelihood[word] += std::log(sum);
                null.count += null_weight / sum;
                const double normaliser = scale / sum;
                if (wants_linked) linked[token] = 1.0 - null_weight / sum;
                const double step = 1.0 / double(n), at = (double(j) + first) / double(m);
                double distance = 0.0;
                for (std::size_t i = 0; i < n; ++i) {
                    const double posterior = weight[i] * normaliser;
                    entries[given[i]].count += posterior;
                    distance += posterior * std::fabs(double(i + 1) * step - at);
                }
                feature[word] -= distance;
            });
            table.each_pair(word, [&](std::int64_t pair, std::int32_t given) { counts[pair] = entries[given].count; });
        }
    });
    double total_likelihood = 0.0;
    for (const double of_word : log_likelihood) total_likelihood += of_word;
    return together(give(std::move(counts)), total_likelihood, give(std::move(feature)), give(std::move(linked)));
}

// For each generated token the position of its likeliest given word, or -1 for NULL, which wins ties; among given words
// the leftmost does.
auto likeliest_given(const Cooccurrence& table, In1<double> probabilities, double null_probability,
                     std::optional<double> tension, int threads, Progress progress) {
    const std::size_t longest = longest_given(table);
    const Prior prior(longest, null_probability, tension);
    const auto bounds = balanced_blocks(view(table.groups), kTokenBlocks);
    std::vector<std::int32_t> best(table.tokens(), -1);
    run_blocks(bounds.size() - 1, threads, progress, [&](std::size_t block) {
        std::vector<double> weight(longest);
        std::unique_ptr<double[]> probability(new double[std::size_t(table.null_word) + 1]);
        for (std::size_t word = bounds[block]; word < bounds[block + 1]; ++word) {
            table.each_pair(word, [&](std::int64_t pair, std::int32_t given) {
                probability[given] = probabilities.data()[pair];
            });
            table.each_token(word, [&](std::int64_t token, std::int32_t s, std::int32_t j) {
                const auto given = table.given(s);
                const auto [null_prior, scale] =
                    prior.fill_exactly(j, table.generated_length(s), given.size(), weight.data());
                double highest = null_prior * probability[table.null_word];
                for (std::size_t i = 0; i < given.size(); ++i) {
                    const double value = probability[given[i]] * (weight[i] * scale);
                    if (value > highest) {
                        highest = value;
                        best[token] = static_cast<std::int32_t>(i);
                    }
                }
            });
        }
    });
    return give(std::move(best));
}

struct Asymptote {
    double argument, series;  // digamma(x) = log(argument) + series
};

// The digamma function: the recurrence ψ(x) = ψ(x + 1) - 1/x up to x >= 7, with the reciprocals gathered in one
// fraction, then the asymptotic series of ψ(y + 1/2), y = x - 1/2.
Asymptote digamma_parts(double x) {
    double numerator = 0.0, denominator = 1.0;
    for (; x < 7.0; x += 1.0) {
        numerator = numerator * x + denominator;
        denominator *= x;
    }
    const double y = x - 0.5, z = 1.0 / (y * y);
    const double tail = z * (1.0 / 24 - z * (7.0 / 960 - z * (31.0 / 8064 - z * (127.0 / 30720))));
    return {y, tail - numerator / denominator};
}

// Sums of counts for each given word, in the order of the pairs, on top of those of other pairs.
auto given_totals(In1<std::int32_t> pair_given, In1<double> counts, In1<double> before, std::optional<double> alpha) {
    std::vector<double> totals(before.data(), before.data() + before.size());
    {
        nb::gil_scoped_release release;
        const auto given = view(pair_given);
        const double prior = alpha.value_or(0.0);
        for (std::size_t pair = 0; pair < given.size(); ++pair) totals[given[pair]] += counts.data()[pair] + prior;
    }
    return give(std::move(totals));
}

// The M-step, p(generated | given): relative frequencies, or with a Dirichlet prior `alpha` the variational Bayesian
// exp(ψ(count + alpha) - ψ(total + alpha × types)).
auto translation_probabilities(In1<std::int32_t> pair_given, In1<double> counts, In1<double> given_totals,
                               std::optional<double> alpha, int threads) {
    const auto given = view(pair_given);
    const std::size_t pairs = given.size();
    std::vector<double> totals(given_totals.data(), given_totals.data() + given_totals.size());
    std::vector<double> probabilities(pairs);
    {
        nb::gil_scoped_release release;
        for (double& total : totals) {
            if (!alpha || total == 0.0) continue;
            const auto [argument, series] = digamma_parts(total);
            total = std::log(argument) + series;
        }
    }
    constexpr std::size_t kPairs = 1 << 14;
    run_blocks((pairs + kPairs - 1) / kPairs, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t pair = block * kPairs; pair < std::min(pairs, (block + 1) * kPairs); ++pair) {
            const double count = counts.data()[pair], total = totals[given[pair]];
            if (alpha) {
                const auto [argument, series] = digamma_parts(count + *alpha);
                probabilities[pair] = argument * std::exp(series - total);
            } else {
                probabilities[pair] = total > 0.0 ? count / total : 0.0;
            }
        }
    });
    return give(std::move(probabilities));
}

// Σ exp(-λ |i/n - j/m|) over i: on either side of the diagonal a geometric series with the ratio exp(-λ/n). For j > m
// the diagonal may lie beyond the last i, and the upper series then has no end.
double prior_mass(double j, double m, double n, double tension) {
    const double at = j / m, below = std::floor(j * n / m);
    const double above = below > n ? std::numeric_limits<double>::infinity() : n - below;
    const double upper = std::exp(-tension * ((below + 1.0) / n - at)) * std::expm1(-tension * above / n);
    const double lower = std::exp(-tension * (at - below / n)) * std::expm1(-tension * below / n);
    return (upper + lower) / std::expm1(-tension / n);
}

// Σ (a + k/n) exp(-λ (a + k/n)) for k = 0..terms-1: distances on one side of the diagonal, of which a is the smallest.
double distance_on_side(double a, double n, double terms, double tension) {
    if (terms == 0.0) return 0.0;
    const double rest = -std::expm1(-tension / n);  // 1 - r, for the ratio r
    const double mass = -std::expm1(-tension * terms / n) / rest;
    const double moment = ((1.0 - rest) * mass - terms * std::exp(-tension * terms / n)) / rest;  // Σ k r^k
    return std::exp(-tension * a) * (a * mass + moment / n);
}

// Σ |i/n - j/m| exp(-λ |i/n - j/m|) over i.
double distances(double j, double m, double n, double tension) {
    const double at = j / m, below = std::floor(j * n / m);
    return distance_on_side((below + 1.0) / n - at, n, n - below, tension) +
           distance_on_side(at - below / n, n, below, tension);
}

// Σ over generated positions j of lengths (m, n) of the feature -|i/n - j/m| under the prior of those with a link. There
// are masses[...] of these at each position, size after size: without NULL, whose share has no distance. It is the
// derivative of Σ mass log Z(j, m, n, λ), as the gradient of the likelihood wants it.
auto linked_expectation(In1<std::int64_t> generated_lengths, In1<std::int64_t> given_lengths, In1<double> masses,
                        double tension, int threads) {
    const std::size_t sizes = generated_lengths.shape(0);
    std::vector<std::size_t> begin(sizes + 1);
    for (std::size_t size = 0; size < sizes; ++size)
        begin[size + 1] = begin[size] + std::size_t(generated_lengths.data()[size]);
    if (given_lengths.shape(0) != sizes || masses.shape(0) != begin[sizes])
        throw nb::value_error("linked_expectation needs a mass for each position of each size");
    std::vector<double> sums(sizes);
    constexpr std::size_t kSizes = 16;
    run_blocks((sizes + kSizes - 1) / kSizes, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t size = block * kSizes; size < std::min(sizes, (block + 1) * kSizes); ++size) {
            const auto m = double(generated_lengths.data()[size]), n = double(given_lengths.data()[size]);
            const double* mass = masses.data() + begin[size];
            for (double j = 1.0; j <= m; j += 1.0)
                sums[size] -= *mass++ * distances(j, m, n, tension) / prior_mass(j, m, n, tension);
        }
    });
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

// Σ over sentence pairs and generated positions of the feature -|i/n - j/m| under the prior, as fast_align reckons it:
// its normaliser has the two lengths exchanged, and words that come from NULL count as well.
auto diagonal_expectation(In1<std::int64_t> generated_lengths, In1<std::int64_t> given_lengths,
                          In1<std::int64_t> frequencies, double tension, int threads) {
    const std::size_t sizes = generated_lengths.shape(0);
    std::vector<double> sums(sizes);
    constexpr std::size_t kSizes = 16;
    run_blocks((sizes + kSizes - 1) / kSizes, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t size = block * kSizes; size < std::min(sizes, (block + 1) * kSizes); ++size) {
            const auto m = double(generated_lengths.data()[size]), n = double(given_lengths.data()[size]);
            double sum = 0.0;
            for (double j = 1.0; j <= m; j += 1.0)
                sum -= distances(j, m, n, tension) / prior_mass(j, n, m, tension);
            sums[size] = sum * double(frequencies.data()[size]);
        }
    });
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

void bind_alignment(nb::module_& m) {
    using Table = Cooccurrence;
    bind_record(
        m, "Cooccurrence",
        "A bitext, of which one side is generated from words of the other that is given, or from NULL.\n\n"
        "Tokens of each generated word stand together, from `token_groups` on, and so do the pairs that its row has.",
        Field{"given", &Table::given_text}, Field{"generated", &Table::generated_text},
        Field{"token_sentences", &Table::sentence}, Field{"token_positions", &Table::position},
        Field{"token_groups", &Table::groups}, Field{"pair_offsets", &Table::pair_offsets},
        Field{"pair_given", &Table::pair_given}, Field{"null_word", &Table::null_word});
    m.def("expected_counts", &expected_counts, nb::arg("cooccurrence"), nb::arg("probabilities"),
          nb::arg("null_probability"), nb::arg("tension").none(), nb::arg("threads"), nb::arg("progress").none(),
          nb::arg("as_fast_align") = false, nb::arg("wants_linked") = true,
          "E-step of Model 1 (no tension) or the diagonal model: counts of pairs, log likelihood, sum of the feature for "
          "each word, and the share of each token that has a link.");
    m.def("linked_expectation", &linked_expectation, nb::arg("generated_lengths"), nb::arg("given_lengths"),
          nb::arg("masses"), nb::arg("tension"), nb::arg("threads"),
          "Sum over generated positions of the feature's expectation under the diagonal prior, times their masses.");
    m.def("likeliest_given", &likeliest_given, nb::arg("cooccurrence"), nb::arg("probabilities"),
          nb::arg("null_probability"), nb::arg("tension").none(), nb::arg("threads"), nb::arg("progress").none(),
          "For each generated token the likeliest given position, -1 for NULL.");
    m.def("given_totals", &given_totals, nb::arg("pair_given"), nb::arg("counts"), nb::arg("before"),
          nb::arg("alpha").none(),
          "What each given word counts, with the prior of its pairs, added to what it counted before.");
    m.def("translation_probabilities", &translation_probabilities, nb::arg("pair_given"), nb::arg("counts"),
          nb::arg("given_totals"), nb::arg("alpha").none(), nb::arg("threads"),
          "M-step: p(generated | given) of each pair, variational Bayesian if there is an alpha.");
    m.def("diagonal_expectation", &diagonal_expectation, nb::arg("generated_lengths"), nb::arg("given_lengths"),
          nb::arg("frequencies"), nb::arg("tension"), nb::arg("threads"),
          "Sum over all generated tokens of the feature's expectation under the diagonal prior, as fast_align has it.");
}

}  // namespace dragoman::training
