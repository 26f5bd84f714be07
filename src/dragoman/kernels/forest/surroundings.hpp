// Which nodes of a hypergraph take part in derivations, and on which sides something can be written next to them.
#pragma once

#include "forest/forest.hpp"

namespace dragoman::forest {

// Of what is used by the root: a node that only ever stands at the left end of the translation (all of a phrase
// lattice) has nothing to its left, and one that only ever stands at the right end nothing to its right.
struct Surroundings {
    std::vector<std::uint8_t> used, left, right;

    Surroundings(const Forest& forest, const Templates& templates, std::size_t root)
        : used(forest.nodes()), left(forest.nodes()), right(forest.nodes()), derivable_(forest.nodes()) {
        for (std::size_t node = 0; node < forest.nodes(); ++node)
            for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) derivable_[node] |= usable(forest, edge);
        used[root] = derivable_[root];
        for (std::size_t node = root + 1; node-- > 0;) {
            if (!used[node]) continue;
            for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) {
                if (!usable(forest, edge)) continue;
                const Words text = templates.of(edge);
                for (std::size_t at = 0; at < text.size(); ++at) {
                    if (text[at] >= 0) continue;
                    const auto tail = static_cast<std::size_t>(forest.tail(edge, -1 - text[at]));
                    used[tail] = 1;
                    left[tail] |= at > 0 || left[node];
                    right[tail] |= at + 1 < text.size() || right[node];
                }
            }
        }
    }

    bool usable(const Forest& forest, std::size_t edge) const {
        for (int k = 0; k < forest.arity(edge); ++k)
            if (!derivable_[static_cast<std::size_t>(forest.tail(edge, k))]) return false;
        return true;
    }

private:
    std::vector<std::uint8_t> derivable_;
};

}  // namespace dragoman::forest
