// Exact draws of derivations. Draw i takes its numbers from a SplitMix64 stream of its own, which begins at a hash of
// the seed and i, so that draws depend neither on each other nor on threads.
#include "base/parallel.hpp"
#include "base/random_stream.hpp"
#include "forest/forest.hpp"

#include <algorithm>

namespace dragoman::forest {
namespace {

// Running sums, within each node, of the probabilities of its edges given the node.
std::vector<double> cumulate(const Forest& forest) {
    const auto inside = inside_scores<LogSum>(forest);
    std::vector<double> cumulated(forest.edges());
    for (std::size_t node = 0; node < forest.nodes(); ++node) {
        double sum = 0;
        for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) {
            const double score = forest.through(edge, inside);
            if (score > no_score) sum += std::exp(score - inside[node]);
            cumulated[edge] = sum;
        }
    }
    return cumulated;
}

std::size_t draw_edge(const Forest& forest, std::span<const double> cumulated, std::size_t node, Stream& stream) {
    const auto edges = cumulated.subspan(forest.begin(node), forest.end(node) - forest.begin(node));
    const double wanted = stream.uniform() * edges.back();
    auto place = std::ranges::upper_bound(edges, wanted);
    // Rounding may reach the total; the last edge that adds something is meant.
    if (place == edges.end()) place = std::ranges::lower_bound(edges, edges.back());
    return forest.begin(node) + static_cast<std::size_t>(place - edges.begin());
}

auto forest_sample(const Forest& forest, std::size_t root, std::size_t draws, std::uint64_t seed, int threads,
                   Progress progress) {
    std::vector<double> cumulated;
    {
        nb::gil_scoped_release release;
        cumulated = cumulate(forest);
    }
    constexpr std::size_t draws_per_block = 1024;
    struct Block {
        std::vector<std::int32_t> edges;
        std::vector<std::int64_t> ends;
    };
    std::vector<Block> blocks((draws + draws_per_block - 1) / draws_per_block);
    run_blocks(blocks.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        Block& result = blocks[block];
        for (std::size_t draw = block * draws_per_block; draw < std::min(draws, (block + 1) * draws_per_block); ++draw) {
            heed(stop);
            Stream stream(seed, draw);
            unfold(static_cast<std::int32_t>(root), [&](std::int32_t node, std::vector<std::int32_t>& stack) {
                const std::size_t edge = draw_edge(forest, cumulated, static_cast<std::size_t>(node), stream);
                for (int k = forest.arity(edge); k-- > 0;) stack.push_back(forest.tail(edge, k));
                return static_cast<std::int32_t>(edge);
            }, result.edges);
            result.ends.push_back(static_cast<std::int64_t>(result.edges.size()));
        }
    });
    std::vector<std::int32_t> edges;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        for (const Block& block : blocks) {
            const auto begin = static_cast<std::int64_t>(edges.size());
            edges.insert(edges.end(), block.edges.begin(), block.edges.end());
            for (const auto end : block.ends) bounds.push_back(begin + end);
        }
    }
    return together(give(std::move(edges)), give(std::move(bounds)));
}

}  // namespace

void bind_sample(nb::module_& m) {
    m.def("forest_sample", &forest_sample, nb::arg("forest"), nb::arg("root"), nb::arg("draws"), nb::arg("seed"),
          nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "Independent draws of derivations; the root's inside score must be finite.");
}

}  // namespace dragoman::forest
