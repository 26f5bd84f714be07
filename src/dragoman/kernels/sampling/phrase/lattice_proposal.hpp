// Exact draws of derivations from a lattice that a search kept, and the probability of any derivation there.
#pragma once

#include "base/random_stream.hpp"
#include "forest/forest.hpp"

#include <algorithm>
#include <numeric>

namespace dragoman::sampling::phrase {

using forest::LogSum;
using forest::no_score;

// One sentence's lattice as the search hands it over: node 0 is the start, the last node the goal, edges are grouped by
// head, and the edges into start and goal have option -1. From a node, an option leads to one node at most.
struct LatticeView {
    std::span<const std::int64_t> first_edges;  // of each node, and the number of edges
    const std::int32_t* tails = nullptr;
    const std::int32_t* options = nullptr;
    const double* scores = nullptr;

    std::size_t nodes() const { return first_edges.empty() ? 0 : first_edges.size() - 1; }
    std::size_t edges() const { return static_cast<std::size_t>(first_edges.back()); }
};

// A derivation has probability exp(sharpness * score) / Z.
class LatticeProposal {
public:
    LatticeProposal(const LatticeView& lattice, double sharpness)
        : lattice_(lattice), sharpness_(sharpness), inside_(lattice.nodes()), cumulated_(lattice.edges()), by_tail_(lattice.edges()),
          heads_(lattice.edges()), first_leaving_(lattice.nodes() + 1, 0) {
        for (std::size_t node = 0; node < lattice.nodes(); ++node) {
            LogSum sum;
            for (std::size_t edge = begin(node); edge < end(node); ++edge) {
                heads_[edge] = static_cast<std::int32_t>(node);
                sum.add(through(edge));
            }
            inside_[node] = sum.value();
            double running = 0;
            for (std::size_t edge = begin(node); edge < end(node); ++edge) cumulated_[edge] = running += std::exp(through(edge) - inside_[node]);
        }
        for (std::size_t edge = 0; edge < lattice.edges(); ++edge)
            if (lattice.tails[edge] >= 0) ++first_leaving_[static_cast<std::size_t>(lattice.tails[edge]) + 1];
        std::partial_sum(first_leaving_.begin(), first_leaving_.end(), first_leaving_.begin());
        std::vector<std::int64_t> next(first_leaving_.begin(), first_leaving_.end() - 1);
        for (std::size_t edge = 0; edge < lattice.edges(); ++edge)
            if (lattice.tails[edge] >= 0)
                by_tail_[static_cast<std::size_t>(next[static_cast<std::size_t>(lattice.tails[edge])]++)] = static_cast<std::int32_t>(edge);
        for (std::size_t node = 0; node < lattice.nodes(); ++node)
            std::sort(by_tail_.begin() + first_leaving_[node], by_tail_.begin() + first_leaving_[node + 1],
                      [&](std::int32_t a, std::int32_t b) { return lattice.options[a] < lattice.options[b]; });
    }

    // Draws a derivation, as options in target order, and returns the logarithm of its probability.
    double draw(Stream& stream, std::vector<std::int32_t>& derivation) const {
        derivation.clear();
        double score = 0;
        for (std::size_t node = lattice_.nodes() - 1; node != 0;) {
            const auto first = cumulated_.begin() + static_cast<std::ptrdiff_t>(begin(node)), last = cumulated_.begin() + static_cast<std::ptrdiff_t>(end(node));
            auto place = std::upper_bound(first, last, stream.uniform() * *(last - 1));
            // Rounding may reach the total; the last edge that adds something is meant.
            if (place == last) place = std::min(std::lower_bound(first, last, *(last - 1)), last - 1);
            const auto edge = static_cast<std::size_t>(place - cumulated_.begin());
            if (lattice_.options[edge] >= 0) derivation.push_back(lattice_.options[edge]);
            score += lattice_.scores[edge];
            node = static_cast<std::size_t>(lattice_.tails[edge]);
        }
        std::reverse(derivation.begin(), derivation.end());
        return sharpness_ * score - inside_.back();
    }

    // Minus infinity for what the lattice does not contain.
    double log_probability(const std::vector<std::int32_t>& derivation) const {
        std::size_t node = 0;
        double score = 0;
        const auto follow = [&](std::int32_t option) {
            const auto first = by_tail_.begin() + first_leaving_[node], last = by_tail_.begin() + first_leaving_[node + 1];
            const auto edge = std::lower_bound(first, last, option, [&](std::int32_t e, std::int32_t wanted) { return lattice_.options[e] < wanted; });
            if (edge == last || lattice_.options[*edge] != option) return false;
            score += lattice_.scores[*edge];
            node = static_cast<std::size_t>(heads_[static_cast<std::size_t>(*edge)]);
            return true;
        };
        for (std::int32_t option : derivation)
            if (!follow(option)) return no_score;
        return follow(-1) ? sharpness_ * score - inside_.back() : no_score;
    }

private:
    std::size_t begin(std::size_t node) const { return static_cast<std::size_t>(lattice_.first_edges[node]); }
    std::size_t end(std::size_t node) const { return static_cast<std::size_t>(lattice_.first_edges[node + 1]); }
    double through(std::size_t edge) const {
        const std::int32_t tail = lattice_.tails[edge];
        return sharpness_ * lattice_.scores[edge] + (tail < 0 ? 0 : inside_[static_cast<std::size_t>(tail)]);
    }

    LatticeView lattice_;
    double sharpness_;
    std::vector<double> inside_, cumulated_;
    std::vector<std::int32_t> by_tail_;  // edges grouped by tail, by option within
    std::vector<std::int32_t> heads_;
    std::vector<std::int64_t> first_leaving_;
};

}  // namespace dragoman::sampling::phrase
