// Pairs of candidates for pairwise ranking (Hopkins & May 2011). Each sentence draws from a SplitMix64 stream of its own,
// which begins at a hash of the seed and the sentence's number, so that threads do not matter.
#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace dragoman::tuning {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

struct Pair {
    double difference;
    std::int64_t draw, better, worse;
    // The largest differences first; of equal ones the first drawn.
    bool operator<(const Pair& other) const {
        return difference != other.difference ? difference > other.difference : draw < other.draw;
    }
};

// The set of pairs of one sentence so far. No pair is of a candidate with itself, so that 0 can stand for none.
class DrawnBefore {
public:
    explicit DrawnBefore(std::size_t draws) : slots_(table_size(draws)) {}

    void clear() { std::ranges::fill(slots_, 0); }

    bool operator()(std::uint64_t pair) {
        const std::size_t at = probe(mix(pair), slots_.size(), [&](std::size_t slot) { return slots_[slot] == 0 || slots_[slot] == pair; });
        if (slots_[at] == pair) return true;
        slots_[at] = pair;
        return false;
    }

private:
    std::vector<std::uint64_t> slots_;
};

auto sample_pairs(In1<std::int64_t> sentences, In1<double> scores, std::int64_t draws, std::int64_t keep, double threshold, bool largest,
                  std::uint64_t seed, int threads, Progress progress) {
    const auto sentence = view(sentences);
    const std::size_t count = sentence.size() - 1;
    constexpr std::size_t kPerBlock = 16;
    std::vector<std::vector<Pair>> blocks((count + kPerBlock - 1) / kPerBlock);
    run_blocks(blocks.size(), threads, progress, [&](std::size_t block) {
        std::vector<Pair> drawn;
        DrawnBefore drawn_before(static_cast<std::size_t>(draws));
        for (std::size_t s = block * kPerBlock; s < std::min(count, (block + 1) * kPerBlock); ++s) {
            const std::int64_t begin = sentence[s];
            const auto size = static_cast<std::uint64_t>(sentence[s + 1] - begin);
            const double* score = scores.data() + begin;
            std::uint64_t state = mix(mix(seed + kStep) + (s + 1) * kStep);
            drawn.clear();
            drawn_before.clear();
            for (std::int64_t draw = 0; draw < draws && (largest || drawn.size() < static_cast<std::size_t>(keep)); ++draw) {
                // Both halves of one number, scaled to the list; it is far from 2^32 candidates long.
                const std::uint64_t random = mix(state += kStep);
                const auto a = static_cast<std::int64_t>(((random >> 32) * size) >> 32);
                const auto b = static_cast<std::int64_t>(((random & 0xffffffffULL) * size) >> 32);
                const double difference = score[a] - score[b];
                if (!(std::abs(difference) > threshold)) continue;
                const std::int64_t better = difference > 0 ? a : b, worse = difference > 0 ? b : a;
                if (!drawn_before(static_cast<std::uint64_t>(better) << 32 | static_cast<std::uint64_t>(worse)))
                    drawn.push_back({std::abs(difference), draw, begin + better, begin + worse});
            }
            // The first ones drawn are a random choice.
            if (!largest) {
                blocks[block].insert(blocks[block].end(), drawn.begin(), drawn.end());
                continue;
            }
            const auto kept = std::min(drawn.size(), static_cast<std::size_t>(keep));
            std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(kept), drawn.end());
            std::sort(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(kept));
            blocks[block].insert(blocks[block].end(), drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(kept));
        }
    });
    std::vector<std::int64_t> better, worse;
    for (const auto& block : blocks)
        for (const Pair& pair : block) better.push_back(pair.better), worse.push_back(pair.worse);
    return together(give(std::move(better)), give(std::move(worse)));
}

}  // namespace

void bind_pair_sample(nb::module_& m) {
    m.def("sample_pairs", &sample_pairs, nb::arg("sentences"), nb::arg("scores"), nb::arg("draws"), nb::arg("keep"),
          nb::arg("threshold"), nb::arg("largest"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress").none(),
          "Distinct random pairs in each sentence, the first or those whose scores differ most: better rows, worse\n"
          "rows.");
}

}  // namespace dragoman::tuning
