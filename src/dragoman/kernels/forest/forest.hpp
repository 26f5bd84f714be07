// Hypergraphs as kernels see them: arrays that `Hypergraph.check` has passed, so that tails come before their heads and
// a template mentions each tail of its edge once.
#pragma once

#include "base/records.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace dragoman::forest {

constexpr double no_score = -std::numeric_limits<double>::infinity();

// Two tails may be the same node, so that a derivation can be exponentially larger than its hypergraph; nothing that
// makes sense as a translation is this long.
constexpr std::size_t longest_derivation = std::size_t{1} << 22;

// What every algorithm needs: the edges of each node, their tails (-1: none) and their scores.
struct Forest {
    Held1<std::int64_t> first_edge;
    Held2<std::int32_t> tails;
    Held1<double> scores;

    void check() const {
        require(bounds_rows(view(first_edge), scores.size()) && tails.shape(0) == scores.size() && tails.shape(1) == 2,
                "the edges of a hypergraph need two tails and a score each");
    }

    std::size_t nodes() const { return first_edge.size() - 1; }
    std::size_t edges() const { return scores.size(); }
    std::size_t begin(std::size_t node) const { return static_cast<std::size_t>(first_edge[node]); }
    std::size_t end(std::size_t node) const { return static_cast<std::size_t>(first_edge[node + 1]); }
    std::int32_t tail(std::size_t edge, int k) const { return tails[2 * edge + static_cast<std::size_t>(k)]; }
    int arity(std::size_t edge) const { return (tail(edge, 0) >= 0) + (tail(edge, 1) >= 0); }

    // The score of an edge with the scores of its tails, given one for each node.
    double through(std::size_t edge, std::span<const double> inside) const {
        double score = scores[edge];
        for (int k = 0; k < arity(edge); ++k) score += inside[static_cast<std::size_t>(tail(edge, k))];
        return score;
    }
};

// What each edge writes: words, or -1 - k for what tail k writes.
struct Templates {
    Held1<std::int32_t> ids;
    Ref<Rows> rows;

    Words of(std::size_t edge) const { return (*rows)[static_cast<std::size_t>(ids[edge])]; }
};

// The two ways to sum over derivations; inside and outside are written once for both.
struct MaxSum {
    double best = no_score;
    void add(double x) {
        if (x > best) best = x;
    }
    double value() const { return best; }
};

struct LogSum {
    double peak = no_score, sum = 0;
    void add(double x) {
        if (x == no_score) return;
        if (x <= peak) {
            sum += std::exp(x - peak);
        } else {
            sum = sum * std::exp(peak - x) + 1;
            peak = x;
        }
    }
    double value() const { return peak + std::log(sum); }
};

template <class Sum>
std::vector<double> inside_scores(const Forest& forest) {
    std::vector<double> inside(forest.nodes());
    for (std::size_t node = 0; node < forest.nodes(); ++node) {
        Sum sum;
        for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) sum.add(forest.through(edge, inside));
        inside[node] = sum.value();
    }
    return inside;
}

template <class Sum>
std::vector<double> outside_scores(const Forest& forest, std::span<const double> inside, std::size_t root) {
    std::vector<Sum> sums(forest.nodes());
    std::vector<double> outside(forest.nodes(), no_score);
    sums[root].add(0);
    for (std::size_t node = root + 1; node-- > 0;) {
        outside[node] = sums[node].value();
        if (outside[node] == no_score) continue;
        for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) {
            const double score = outside[node] + forest.scores[edge];
            const std::int32_t first = forest.tail(edge, 0), second = forest.tail(edge, 1);
            if (second < 0) {
                if (first >= 0) sums[static_cast<std::size_t>(first)].add(score);
                continue;
            }
            sums[static_cast<std::size_t>(first)].add(score + inside[static_cast<std::size_t>(second)]);
            sums[static_cast<std::size_t>(second)].add(score + inside[static_cast<std::size_t>(first)]);
        }
    }
    return outside;
}

// The edge of the best derivation of each node, the first one among equals; -1 where there is no derivation.
inline std::vector<std::int32_t> best_edges(const Forest& forest, std::span<const double> best) {
    std::vector<std::int32_t> edges(forest.nodes(), -1);
    for (std::size_t node = 0; node < forest.nodes(); ++node) {
        if (best[node] == no_score) continue;
        for (std::size_t edge = forest.begin(node); edge < forest.end(node) && edges[node] < 0; ++edge)
            if (forest.through(edge, best) == best[node]) edges[node] = static_cast<std::int32_t>(edge);
    }
    return edges;
}

// One of the derivations of a node.
struct Place {
    std::int32_t node, rank;
};

// Appends a derivation in pre-order. `step(item, stack)` returns the edge of an item and pushes the items of its tails,
// the second one first.
template <class Item, class Step>
void unfold(Item start, Step&& step, std::vector<std::int32_t>& edges) {
    const std::size_t begin = edges.size();
    std::vector<Item> stack{start};
    while (!stack.empty()) {
        const Item item = stack.back();
        stack.pop_back();
        edges.push_back(step(item, stack));
        if (edges.size() - begin > longest_derivation) throw std::length_error("a derivation of more than 4 million edges");
    }
}

}  // namespace dragoman::forest
