// Expectations over n-best lists under p(h) ∝ exp(score), and the gradient of a function of expected statistics.
#include "base/parallel.hpp"
#include "tuning/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace dragoman::tuning {
namespace {

// Sums are made block by block and then over blocks, so that they are the same for any number of threads.
constexpr std::size_t kBlocks = 8;

// Calls work(block, first candidate, one past the last) for each sentence.
template <class Work>
void each_sentence(const Candidates& lists, int threads, Work&& work) {
    run_blocks(kBlocks, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t s = lists.size() * block / kBlocks; s < lists.size() * (block + 1) / kBlocks; ++s)
            work(block, lists.begin(s), lists.end(s));
    });
}

auto expected_statistics(const Candidates& candidates, In2<double> statistics, In1<double> weights, int threads) {
    const std::size_t width = statistics.shape(1);
    std::vector<double> scores(statistics.shape(0)), probabilities(statistics.shape(0));
    std::array<std::vector<double>, kBlocks> parts;
    parts.fill(std::vector<double>(width + 1));
    each_sentence(candidates, threads, [&](std::size_t block, std::size_t begin, std::size_t end) {
        for (std::size_t h = begin; h < end; ++h) scores[h] = candidates.dot(h, view(weights));
        const double highest = std::ranges::max(std::span(scores).subspan(begin, end - begin));
        double total = 0, mean = 0;
        for (std::size_t h = begin; h < end; ++h) {
            scores[h] -= highest;
            total += probabilities[h] = std::exp(scores[h]);
        }
        for (std::size_t h = begin; h < end; ++h) {
            const double p = probabilities[h] /= total;
            // Very unlikely candidates have no entropy; their score may be -inf.
            if (p == 0) continue;
            mean += p * scores[h];
            for (std::size_t k = 0; k < width; ++k) parts[block][k] += p * statistics.data()[h * width + k];
        }
        parts[block][width] += std::log(total) - mean;
    });
    std::vector<double> sums(width + 1);
    for (const auto& part : parts)
        for (std::size_t k = 0; k <= width; ++k) sums[k] += part[k];
    const double entropy = sums.back();
    sums.pop_back();
    return together(give(std::move(scores)), give(std::move(probabilities)), give(std::move(sums)), entropy);
}

// The derivative with respect to the weights of  slopes · E[statistics] + temperature · entropy:
// the sum over sentences and candidates of p (gain - E[gain]) features, where
// gain = slopes · statistics - temperature · score.
auto expectation_gradient(const Candidates& candidates, In2<double> statistics, In1<double> scores,
                          In1<double> probabilities, In1<double> slopes, double temperature, std::size_t features,
                          int threads) {
    const std::size_t width = statistics.shape(1);
    std::array<std::vector<double>, kBlocks> parts;
    parts.fill(std::vector<double>(features));
    each_sentence(candidates, threads, [&](std::size_t block, std::size_t begin, std::size_t end) {
        const auto gain = [&](std::size_t h) {
            double sum = -temperature * scores.data()[h];
            for (std::size_t k = 0; k < width; ++k) sum += slopes.data()[k] * statistics.data()[h * width + k];
            return sum;
        };
        double mean = 0;
        for (std::size_t h = begin; h < end; ++h)
            if (probabilities.data()[h] > 0) mean += probabilities.data()[h] * gain(h);
        for (std::size_t h = begin; h < end; ++h) {
            if (probabilities.data()[h] == 0) continue;
            const double share = probabilities.data()[h] * (gain(h) - mean);
            candidates.each(h, [&](std::size_t feature, double value) { parts[block][feature] += share * value; });
        }
    });
    std::vector<double> gradient(features);
    for (const auto& part : parts)
        for (std::size_t i = 0; i < features; ++i) gradient[i] += part[i];
    return give(std::move(gradient));
}

}  // namespace

void bind_risk(nb::module_& m) {
    m.def("expected_statistics", &expected_statistics, nb::arg("candidates"), nb::arg("statistics"), nb::arg("weights"),
          nb::arg("threads"),
          "Scores relative to each sentence's highest, probabilities, expected sum of statistics, sum of entropies.");
    m.def("expectation_gradient", &expectation_gradient, nb::arg("candidates"), nb::arg("statistics"),
          nb::arg("scores"), nb::arg("probabilities"), nb::arg("slopes"), nb::arg("temperature"), nb::arg("features"),
          nb::arg("threads"),
          "The gradient of slopes · expected statistics + temperature · entropy with respect to the weights.");
}

}  // namespace dragoman::tuning
