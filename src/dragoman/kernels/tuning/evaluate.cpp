// Which candidate of each sentence wins under each of many weight vectors, exactly; and which candidates can win at all
// while the weights stay in a box.
//
// Products are made in float32, sixteen weight vectors at a time. That decides nearly all cases: a bound on the
// rounding errors says which. Where the two best are too close to call, the scores are computed again in float64, in
// the order in which `Problem.model_scores` adds, so that the winner is the same to the last bit.
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "tuning/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <span>

// The hot loop is compiled once for each width of vectors; which one runs cannot change a result (see above).
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define DRAGOMAN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DRAGOMAN_CLONES
#endif

namespace dragoman::tuning {
namespace {

constexpr std::size_t kLanes = 16;             // weight vectors that are looked at together
constexpr std::size_t kSentencesPerBlock = 8;  // so few that two threads end at about the same time
constexpr double kSmallWork = 1 << 20;         // multiplications below which starting threads costs more than it gives

constexpr double kHuge = 1e280;                // rounding errors of sums that are about to overflow

// A value for each lane: as arrays in memory, and as what the compiler makes vector instructions of.
template <class T>
struct alignas(sizeof(T) * kLanes) PerLane {
    T value[kLanes];
};
using Lanes = float __attribute__((vector_size(sizeof(float) * kLanes), may_alias));
using Indices = std::int32_t __attribute__((vector_size(sizeof(std::int32_t) * kLanes), may_alias));

struct DenseCandidates {
    std::span<const std::int64_t> sentences;  // where each sentence's candidates begin
    const float* features;                    // one row a candidate, relative to a candidate of the same sentence
    std::size_t width;

    std::size_t size() const { return sentences.size() - 1; }
    std::size_t begin(std::size_t s) const { return static_cast<std::size_t>(sentences[s]); }
    std::size_t count(std::size_t s) const { return static_cast<std::size_t>(sentences[s + 1] - sentences[s]); }
    const float* row(std::size_t h) const { return features + h * width; }
    double work() const { return double(sentences.back()) * double(width); }
};

// The rows of `Problem.features` and where among them each candidate is.
struct ExactFeatures {
    const FeatureRows& features;
    std::span<const std::int64_t> rows;

    double score(std::size_t candidate, std::span<const double> weights) const {
        return features.dot(static_cast<std::size_t>(rows[candidate]), weights);
    }

    std::int32_t best(std::size_t begin, std::size_t count, std::span<const double> weights) const {
        std::size_t best = 0;
        double highest = score(begin, weights);
        for (std::size_t h = 1; h < count; ++h)
            if (const double x = score(begin + h, weights); x > highest) highest = x, best = h;
        return static_cast<std::int32_t>(best);
    }
};

// Runs short work right here and long work in threads.
template <class Work>
void run_sentences(std::size_t sentences, double multiplications, int threads, Work&& work) {
    const std::size_t blocks = (sentences + kSentencesPerBlock - 1) / kSentencesPerBlock;
    auto block_work = [&](std::size_t block) {
        work(block, block * kSentencesPerBlock, std::min(sentences, (block + 1) * kSentencesPerBlock));
    };
    if (multiplications < kSmallWork) {
        nb::gil_scoped_release release;
        for (std::size_t block = 0; block < blocks; ++block) block_work(block);
    } else {
        run_blocks(blocks, threads, nb::none(), block_work);
    }
}

// Finds, for one sentence and each lane of each group of weight vectors, the candidate with the highest float32 score,
// and whether it is certain: ahead of the second by more than the tolerance.
DRAGOMAN_CLONES
void compete(const float* features, std::size_t count, std::size_t width, const float* tolerance,
             const PerLane<float>* weights, const PerLane<float>* sizes, std::size_t groups,
             PerLane<std::int32_t>* winners, PerLane<std::int32_t>* certain) {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    for (std::size_t group = 0; group < groups; ++group) {
        const auto* weight = reinterpret_cast<const Lanes*>(weights) + group * width;
        const auto* size = reinterpret_cast<const Lanes*>(sizes) + group * width;
        Lanes best = Lanes{} + lowest, second = best;
        Indices winner{};
        auto enter = [&](const Lanes& score, std::size_t candidate) {
            const Indices wins = score > best;
            const Lanes loser = wins ? best : score;
            second = loser > second ? loser : second;
            best = wins ? score : best;
            winner = wins ? Indices{} + static_cast<std::int32_t>(candidate) : winner;
        };
        std::size_t h = 0;
        for (; h + 4 <= count; h += 4) {
            const float* x = features + h * width;
            Lanes a{}, b{}, c{}, d{};
            for (std::size_t i = 0; i < width; ++i) {
                a += x[i] * weight[i];
                b += x[width + i] * weight[i];
                c += x[2 * width + i] * weight[i];
                d += x[3 * width + i] * weight[i];
            }
            enter(a, h), enter(b, h + 1), enter(c, h + 2), enter(d, h + 3);
        }
        for (; h < count; ++h) {
            const float* x = features + h * width;
            Lanes a{};
            for (std::size_t i = 0; i < width; ++i) a += x[i] * weight[i];
            enter(a, h);
        }
        Lanes error{};
        for (std::size_t i = 0; i < width; ++i) error += tolerance[i] * size[i];
        reinterpret_cast<Indices*>(winners)[group] = winner;
        reinterpret_cast<Indices*>(certain)[group] = best - second > error;
    }
}

// Weight vectors as groups of lanes: feature by feature, the weights of sixteen vectors beside each other. Vectors are
// scaled so that their largest weight is 1, which changes no winner and keeps float32 away from its limits.
struct LaneWeights {
    std::size_t groups;
    std::vector<PerLane<float>> weights, sizes;

    LaneWeights(const double* vectors, std::size_t count, std::size_t width)
        : groups((count + kLanes - 1) / kLanes), weights(groups * width), sizes(groups * width) {
        for (std::size_t v = 0; v < count; ++v) {
            const double* vector = vectors + v * width;
            double largest = 0;
            for (std::size_t i = 0; i < width; ++i) largest = std::max(largest, std::abs(vector[i]));
            for (std::size_t i = 0; i < width; ++i) {
                const auto x = static_cast<float>(largest > 0 ? vector[i] / largest : 0);
                weights[v / kLanes * width + i].value[v % kLanes] = x;
                sizes[v / kLanes * width + i].value[v % kLanes] = std::abs(x);
            }
        }
    }
};

auto best_candidates(In1<std::int64_t> sentences, In2<float> features, In2<float> tolerance, In1<std::int64_t> rows,
                     const FeatureRows& exact_features, In2<double> weights, int threads) {
    const DenseCandidates candidates{view(sentences), features.data(), features.shape(1)};
    const ExactFeatures exact{exact_features, view(rows)};
    const std::size_t width = candidates.width, vectors = weights.shape(0);
    const LaneWeights lanes(weights.data(), vectors, width);
    std::vector<std::int32_t> winners(candidates.size() * vectors);
    run_sentences(candidates.size(), candidates.work() * double(vectors), threads,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                      std::vector<PerLane<std::int32_t>> winner(lanes.groups), certain(lanes.groups);
                      for (std::size_t s = begin; s < end; ++s) {
                          const std::size_t first = candidates.begin(s), count = candidates.count(s);
                          compete(candidates.row(first), count, width, tolerance.data() + s * width,
                                  lanes.weights.data(), lanes.sizes.data(), lanes.groups, winner.data(),
                                  certain.data());
                          for (std::size_t v = 0; v < vectors; ++v) {
                              const std::size_t group = v / kLanes, lane = v % kLanes;
                              const std::int32_t best =
                                  certain[group].value[lane]
                                      ? winner[group].value[lane]
                                      : exact.best(first, count, {weights.data() + v * width, width});
                              winners[s * vectors + v] = static_cast<std::int32_t>(first) + best;
                          }
                      }
                  });
    return give(std::move(winners), vectors);
}

// Sums the statistics of winners, as differences from those of `usual` ones: where these win, nothing is to be done.
// Exact, and so independent of the order, because statistics are whole numbers.
auto sum_winners(In2<double> statistics, In1<std::int64_t> rows, In1<std::int64_t> usual, In2<std::int32_t> winners,
                 int threads) {
    const std::size_t width = statistics.shape(1), sentences = winners.shape(0), vectors = winners.shape(1);
    const auto of = [&](std::int64_t candidate) {
        return statistics.data() + static_cast<std::size_t>(rows.data()[candidate]) * width;
    };
    std::vector<std::vector<double>> parts((sentences + kSentencesPerBlock - 1) / kSentencesPerBlock);
    run_sentences(sentences, double(sentences) * double(vectors), threads,
                  [&](std::size_t block, std::size_t begin, std::size_t end) {
                      auto& part = parts[block];
                      part.assign(vectors * width, 0);
                      for (std::size_t s = begin; s < end; ++s) {
                          const double* from = of(usual.data()[s]);
                          for (std::size_t v = 0; v < vectors; ++v) {
                              const std::int32_t winner = winners.data()[s * vectors + v];
                              if (winner == usual.data()[s]) continue;
                              const double* to = of(winner);
                              for (std::size_t k = 0; k < width; ++k) part[v * width + k] += to[k] - from[k];
                          }
                      }
                  });
    std::vector<double> usual_sums(width), sums;
    for (std::size_t s = 0; s < sentences; ++s)
        for (std::size_t k = 0; k < width; ++k) usual_sums[k] += of(usual.data()[s])[k];
    for (std::size_t v = 0; v < vectors; ++v) sums.insert(sums.end(), usual_sums.begin(), usual_sums.end());
    for (const auto& part : parts)
        for (std::size_t at = 0; at < part.size(); ++at) sums[at] += part[at];
    return give(std::move(sums), width);
}

// Higher scores come first, then earlier candidates.
struct Ranked {
    double score;
    std::size_t at;
    auto operator<=>(const Ranked& other) const {
        return score != other.score ? (score > other.score ? std::strong_ordering::less : std::strong_ordering::greater)
                                    : at <=> other.at;
    }
    bool operator==(const Ranked&) const = default;
};

// A box of weights `centre` ± `reach`, and who can win in it.
struct Box {
    const DenseCandidates& candidates;
    std::span<const double> centre, reach;

    // Behind the leader by more than can be made up for anywhere in the box, and by more than rounding errors.
    bool beaten(const Ranked& candidate, const Ranked& leader, double error) const {
        const float *x = candidates.row(candidate.at), *y = candidates.row(leader.at);
        double gain = error;
        for (std::size_t i = 0; i < reach.size(); ++i) gain += std::abs(double(x[i]) - double(y[i])) * reach[i];
        return leader.score - candidate.score > gain;
    }

    // Marks the candidates of sentence `s` that are not beaten by one of the best at the centre.
    void keep(std::size_t s, const float* tolerance, std::size_t rivals, std::vector<std::uint8_t>& kept) const {
        const std::size_t first = candidates.begin(s), count = candidates.count(s);
        double error = 0;
        for (std::size_t i = 0; i < reach.size(); ++i) error += tolerance[i] * (std::abs(centre[i]) + reach[i]);
        if (!(error < kHuge)) {
            std::fill_n(kept.data() + first, count, std::uint8_t{1});
            return;
        }
        std::vector<Ranked> order(count), leaders;
        for (std::size_t h = 0; h < count; ++h) {
            order[h] = {0, first + h};
            for (std::size_t i = 0; i < centre.size(); ++i) order[h].score += candidates.row(first + h)[i] * centre[i];
        }
        const Ranked best = *std::ranges::min_element(order);
        std::erase_if(order, [&](const Ranked& candidate) { return beaten(candidate, best, error); });
        // If little is left, those at its head may beat more of it; in a wide box they beat nobody.
        const bool narrow = 2 * order.size() < count;
        if (narrow) std::ranges::sort(order);
        for (const Ranked& candidate : order) {
            if (std::ranges::any_of(leaders, [&](const Ranked& leader) { return beaten(candidate, leader, error); }))
                continue;
            kept[candidate.at] = 1;
            if (narrow && leaders.size() < rivals) leaders.push_back(candidate);
        }
    }
};

auto box_winners(In1<std::int64_t> sentences, In2<float> features, In2<float> tolerance, In1<double> centre,
                 In1<double> reach, std::size_t rivals, int threads) {
    const DenseCandidates candidates{view(sentences), features.data(), features.shape(1)};
    const Box box{candidates, view(centre), view(reach)};
    std::vector<std::uint8_t> kept(features.shape(0));
    run_sentences(candidates.size(), 3 * candidates.work(), threads,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                      for (std::size_t s = begin; s < end; ++s)
                          box.keep(s, tolerance.data() + s * candidates.width, rivals, kept);
                  });
    return give(std::move(kept));
}

// Sparse rows of features that can be compared: equal if they have the same features in the same order.
struct SparseRows {
    const FeatureRows& features;

    std::size_t begin(std::int64_t h) const { return static_cast<std::size_t>(features.offsets[h]); }
    std::size_t length(std::int64_t h) const { return static_cast<std::size_t>(features.offsets[h + 1]) - begin(h); }

    bool same(std::int64_t a, std::int64_t b) const {
        const auto part = [&](const auto& column, std::int64_t h) { return view(column).subspan(begin(h), length(h)); };
        return std::ranges::equal(part(features.ids, a), part(features.ids, b)) &&
               std::ranges::equal(part(features.values, a), part(features.values, b));
    }

    std::uint64_t hash(std::int64_t h) const {
        std::uint64_t hash = length(h);
        for (std::size_t at = begin(h); at < begin(h) + length(h); ++at) {
            // Plus zero, as both zeros are one value.
            const auto bits = std::bit_cast<std::uint64_t>(features.values[at] + 0.0);
            hash = mix(hash * 0x9e3779b97f4a7c15ULL + bits + static_cast<std::uint32_t>(features.ids[at]));
        }
        return hash;
    }
};

// The candidates that are not copies of an earlier one of the same sentence.
auto distinct_candidates(const Candidates& candidates, int threads) {
    const auto bounds = view(candidates.sentences);
    const SparseRows rows{*candidates.features};
    std::vector<std::uint8_t> kept(rows.features.size());
    run_sentences(candidates.size(), double(rows.features.values.size()), threads,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                      std::vector<std::int64_t> slots;
                      for (std::size_t s = begin; s < end; ++s) {
                          slots.assign(table_size(static_cast<std::size_t>(bounds[s + 1] - bounds[s])), -1);
                          for (std::int64_t h = bounds[s]; h < bounds[s + 1]; ++h) {
                              const std::size_t slot = probe(
                                  rows.hash(h), slots.size(), [&](std::size_t at) { return slots[at] < 0 || rows.same(slots[at], h); });
                              if (slots[slot] >= 0) continue;
                              slots[slot] = h;
                              kept[static_cast<std::size_t>(h)] = 1;
                          }
                      }
                  });
    return give(std::move(kept));
}

}  // namespace

void bind_evaluate(nb::module_& m) {
    m.def("best_candidates", &best_candidates, nb::arg("sentences"), nb::arg("features"), nb::arg("tolerance"),
          nb::arg("rows"), nb::arg("exact_features"), nb::arg("weights"), nb::arg("threads"),
          "The winning candidate of each sentence (row) under each weight vector (column).\n\n"
          "`features` are those of the candidates relative to one of their sentence; winners that are ahead by less\n"
          "than |weights| · `tolerance` are found again from row `rows[candidate]` of the exact features.");
    m.def("sum_winners", &sum_winners, nb::arg("statistics"), nb::arg("rows"), nb::arg("usual"), nb::arg("winners"),
          nb::arg("threads"),
          "Sum the statistics, which are whole numbers, of the winners under each weight vector.");
    m.def("box_winners", &box_winners, nb::arg("sentences"), nb::arg("features"), nb::arg("tolerance"),
          nb::arg("centre"), nb::arg("reach"), nb::arg("rivals"), nb::arg("threads"),
          "Mark the candidates that may win somewhere in the box `centre` ± `reach` (those beaten by `rivals` are\n"
          "out).");
    m.def("distinct_candidates", &distinct_candidates, nb::arg("candidates"), nb::arg("threads"),
          "Mark the candidates that do not repeat the features of an earlier one of the same sentence.");
}

}  // namespace dragoman::tuning
