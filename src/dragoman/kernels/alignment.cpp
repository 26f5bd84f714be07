// Models that generate each word on its own: IBM Model 1, and its cousin that favours the diagonal (Dyer, Chahuneau &
// Smith 2013), whose prior for linking generated position j of m to given position i of n is, with the tension λ,
//     p(NULL) = p0,   p(i | j, m, n) = (1 - p0) exp(-λ |i/n - j/m|) / Z(j, m, n, λ),   positions counted from 1.
#include "alignment.hpp"
#include "parallel.hpp"

#include <cmath>
#include <optional>

namespace dragoman {
namespace {

constexpr std::size_t kBlocks = 256;

// A word whose probabilities are all smaller says nothing: shares of them are not numbers any more.
constexpr double kVanished = 1e-290;

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

auto expected_counts(nb::tuple arrays, In1<double> probabilities, double null_probability,
                     std::optional<double> tension, int threads, nb::object progress) {
    const Cooccurrence table(arrays);
    const std::size_t longest = longest_given(table);
    const Prior prior(longest, null_probability, tension);
    const auto bounds = balanced_blocks(table.groups, kBlocks);
    std::vector<double> counts(table.pair_given.size());
    std::vector<double> log_likelihood(table.words()), feature(table.words());
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
            table.each_token(word, [&](std::int64_t, std::int32_t s, std::int32_t j) {
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
                // fast_align measures the feature from one position to the left, which the tension learns to allow for.
                const double step = 1.0 / double(n), at = double(j) / double(m);
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
    double total_likelihood = 0.0, total_feature = 0.0;
    for (std::size_t word = 0; word < table.words(); ++word) {
        total_likelihood += log_likelihood[word];
        total_feature += feature[word];
    }
    return nb::make_tuple(give(std::move(counts)), total_likelihood, total_feature);
}

// For each generated token the position of its likeliest given word, or -1 for NULL, which wins ties; among given words
// the leftmost does.
auto likeliest_given(nb::tuple arrays, In1<double> probabilities, double null_probability,
                     std::optional<double> tension, int threads, nb::object progress) {
    const Cooccurrence table(arrays);
    const std::size_t longest = longest_given(table);
    const Prior prior(longest, null_probability, tension);
    const auto bounds = balanced_blocks(table.groups, kBlocks);
    std::vector<std::int32_t> best(table.generated_words.size(), -1);
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

// The M-step, p(generated | given): relative frequencies, or with a Dirichlet prior `alpha` the variational Bayesian
// exp(ψ(count + alpha) - ψ(total + alpha × types)).
auto translation_probabilities(In1<std::int32_t> pair_given, In1<double> counts, std::int32_t null_word,
                               std::optional<double> alpha, int threads) {
    const auto given = view(pair_given);
    const std::size_t pairs = given.size();
    std::vector<double> totals(std::size_t(null_word) + 1);
    std::vector<double> probabilities(pairs);
    {
        nb::gil_scoped_release release;
        for (std::size_t pair = 0; pair < pairs; ++pair) totals[given[pair]] += counts.data()[pair] + alpha.value_or(0.0);
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

// Σ -(a + k/n) r^k for k = 0..terms-1 and Σ r^k: one side of the diagonal, nearest position first.
struct Series {
    double feature, mass;
};

Series geometric_side(double nearest, double first, double tension, std::size_t n, std::size_t terms) {
    if (terms == 0) return {0.0, 0.0};
    const double ratio = std::exp(-tension / double(n)), gap = -std::expm1(-tension / double(n));
    const double beyond = std::exp(-tension * double(terms) / double(n));  // ratio to the power of `terms`
    const double mass = -std::expm1(-tension * double(terms) / double(n)) / gap;
    const double moment = (ratio * mass - double(terms) * beyond) / gap;  // Σ k r^k
    return {-first * (nearest * mass + moment / double(n)), first * mass};
}

// Σ over sentence pairs and generated positions of the expectation of -|i/n - j/m| under the prior: d log Z / dλ.
auto diagonal_expectation(In1<std::int64_t> generated_lengths, In1<std::int64_t> given_lengths,
                          In1<std::int64_t> frequencies, double tension, int threads) {
    const std::size_t sizes = generated_lengths.shape(0);
    std::vector<double> sums(sizes);
    constexpr std::size_t kSizes = 16;
    run_blocks((sizes + kSizes - 1) / kSizes, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t size = block * kSizes; size < std::min(sizes, (block + 1) * kSizes); ++size) {
            const auto m = static_cast<std::size_t>(generated_lengths.data()[size]);
            const auto n = static_cast<std::size_t>(given_lengths.data()[size]);
            double sum = 0.0;
            for (std::size_t j = 1; j <= m; ++j) {
                const auto below = static_cast<std::size_t>(double(j) * double(n) / double(m));
                const double at = double(j) / double(m);
                const double above_gap = double(below + 1) / double(n) - at, below_gap = at - double(below) / double(n);
                const Series above = geometric_side(above_gap, std::exp(-tension * above_gap), tension, n, n - below);
                const Series under = geometric_side(below_gap, std::exp(-tension * below_gap), tension, n, below);
                sum += (above.feature + under.feature) / (above.mass + under.mass);
            }
            sums[size] = sum * double(frequencies.data()[size]);
        }
    });
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

void bind_alignment(nb::module_& m) {
    m.def("expected_counts", &expected_counts, nb::arg("cooccurrence"), nb::arg("probabilities").noconvert(),
          nb::arg("null_probability"), nb::arg("tension").none(), nb::arg("threads"), nb::arg("progress").none());
    m.def("likeliest_given", &likeliest_given, nb::arg("cooccurrence"), nb::arg("probabilities").noconvert(),
          nb::arg("null_probability"), nb::arg("tension").none(), nb::arg("threads"), nb::arg("progress").none());
    m.def("translation_probabilities", &translation_probabilities, nb::arg("pair_given").noconvert(),
          nb::arg("counts").noconvert(), nb::arg("null_word"), nb::arg("alpha").none(), nb::arg("threads"));
    m.def("diagonal_expectation", &diagonal_expectation, nb::arg("generated_lengths").noconvert(),
          nb::arg("given_lengths").noconvert(), nb::arg("frequencies").noconvert(), nb::arg("tension"),
          nb::arg("threads"));
}

}  // namespace dragoman
