// The k best derivations, found lazily (Huang & Chiang 2005, algorithm 3), with or without repeated strings.
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "forest/forest.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace dragoman::forest {
namespace {

// An edge and which derivation of each tail it takes, counted from the best.
struct Ranked {
    double score;
    std::int32_t edge;
    std::int32_t ranks[2];
};

// The order of heaps: better scores first, then lower edges and ranks, so that ties are settled the same way always.
bool worse(const Ranked& a, const Ranked& b) {
    if (a.score != b.score) return a.score < b.score;
    return std::tie(a.edge, a.ranks[0], a.ranks[1]) > std::tie(b.edge, b.ranks[0], b.ranks[1]);
}

struct NodeState {
    std::vector<Ranked> found;       // the best derivations, in order
    std::vector<Ranked> candidates;  // a heap
    Ranked last;                     // the derivation that was taken last
    int next_tail = 2;               // which tail's successor of `last` comes next: 1, 0, then none (-1)
    bool opened = false, exhausted = false;
};

class LazyKBest {
public:
    // With templates, each node keeps only the best derivation of each string; a worse one with the same string cannot
    // be part of the best derivation of a longer string.
    LazyKBest(const Forest& forest, const Templates* distinct, std::int64_t budget, const std::atomic<bool>& stop)
        : forest_(forest), templates_(distinct), budget_(budget), stop_(stop), best_(inside_scores<MaxSum>(forest)),
          choice_(best_edges(forest, best_)), states_(forest.nodes()) {}

    std::size_t run(std::size_t root, std::size_t k) {
        if (choice_[root] < 0 || k == 0) return 0;
        require(root, k);
        return states_[root].found.size();
    }

    double score(std::size_t root, std::size_t rank) const { return states_[root].found[rank].score; }

    void append(std::size_t root, std::size_t rank, std::vector<std::int32_t>& edges) const {
        unfold(Place{static_cast<std::int32_t>(root), static_cast<std::int32_t>(rank)}, [&](Place place, std::vector<Place>& stack) {
            const Ranked taken = at(place);
            const auto edge = static_cast<std::size_t>(taken.edge);
            for (int k = forest_.arity(edge); k-- > 0;) stack.push_back({forest_.tail(edge, k), taken.ranks[k]});
            return taken.edge;
        }, edges);
    }

private:
    struct Frame {
        std::size_t node, count;
    };

    // The best derivation of every node is known from the start, so that most nodes are never opened.
    Ranked at(Place place) const {
        const auto node = static_cast<std::size_t>(place.node), rank = static_cast<std::size_t>(place.rank);
        if (rank < states_[node].found.size()) return states_[node].found[rank];
        return {best_[node], choice_[node], {0, 0}};
    }

    Ranked ranked(std::size_t edge, std::int32_t first, std::int32_t second) const {
        Ranked result{forest_.scores[edge], static_cast<std::int32_t>(edge), {first, second}};
        for (int k = 0; k < forest_.arity(edge); ++k) result.score += at({forest_.tail(edge, k), result.ranks[k]}).score;
        return result;
    }

    // Finds `count` derivations of a node, or all; depth first, on a stack of our own because lattices are deep.
    void require(std::size_t node, std::size_t count) {
        std::vector<Frame> stack{{node, count}};
        while (!stack.empty()) {
            heed(stop_);
            const Frame frame = stack.back();
            NodeState& state = states_[frame.node];
            if (state.found.size() >= frame.count || state.exhausted) {
                stack.pop_back();
            } else if (!state.opened) {
                open(frame.node);
            } else if (state.next_tail >= 0) {
                if (const auto wanted = push_successor(state)) stack.push_back(*wanted);
            } else if (state.candidates.empty()) {
                state.exhausted = true;
            } else {
                if (--budget_ < 0) return;
                std::ranges::pop_heap(state.candidates, worse);
                const Ranked taken = state.candidates.back();
                state.candidates.pop_back();
                take(frame.node, taken);
            }
        }
    }

    void open(std::size_t node) {
        NodeState& state = states_[node];
        state.opened = true;
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge)
            if (static_cast<std::int32_t>(edge) != choice_[node] && derivable(edge)) state.candidates.push_back(ranked(edge, 0, 0));
        std::ranges::make_heap(state.candidates, worse);
        take(node, {best_[node], choice_[node], {0, 0}});
    }

    bool derivable(std::size_t edge) const {
        for (int k = 0; k < forest_.arity(edge); ++k)
            if (choice_[static_cast<std::size_t>(forest_.tail(edge, k))] < 0) return false;
        return true;
    }

    void take(std::size_t node, const Ranked& taken) {
        NodeState& state = states_[node];
        state.last = taken;
        state.next_tail = forest_.arity(static_cast<std::size_t>(taken.edge)) - 1;
        if (templates_ == nullptr || is_new_string(node, taken)) state.found.push_back(taken);
    }

    // Successors of ranks (i, j) are (i, j + 1) and, only if j = 0, (i + 1, j): every pair is then met once. Returns the
    // frame that has to be done first, if the tail's next derivation is not known yet.
    std::optional<Frame> push_successor(NodeState& state) {
        const int k = state.next_tail;
        const auto edge = static_cast<std::size_t>(state.last.edge);
        if (k == 1 || state.last.ranks[1] == 0) {
            const auto tail = static_cast<std::size_t>(forest_.tail(edge, k));
            const auto count = static_cast<std::size_t>(state.last.ranks[k]) + 2;
            if (states_[tail].found.size() < count && !states_[tail].exhausted) return Frame{tail, count};
            if (states_[tail].found.size() >= count) {
                state.candidates.push_back(ranked(edge, state.last.ranks[0] + (k == 0), state.last.ranks[1] + (k == 1)));
                std::ranges::push_heap(state.candidates, worse);
            }
        }
        --state.next_tail;
        return std::nullopt;
    }

    bool is_new_string(std::size_t node, const Ranked& taken) {
        struct Cursor {
            Ranked ranked;
            std::size_t at;
        };
        key_.assign(1, static_cast<std::int32_t>(node));
        std::vector<Cursor> stack{{taken, 0}};
        std::size_t steps = 0;
        while (!stack.empty()) {
            if (++steps > longest_derivation) throw std::length_error("a derivation of more than 4 million steps");
            Cursor& cursor = stack.back();
            const Words text = templates_->of(static_cast<std::size_t>(cursor.ranked.edge));
            if (cursor.at == text.size()) {
                stack.pop_back();
                continue;
            }
            const std::int32_t symbol = text[cursor.at++];
            if (symbol >= 0) {
                key_.push_back(symbol);
            } else {
                const int k = -1 - symbol;
                const Place tail{forest_.tail(static_cast<std::size_t>(cursor.ranked.edge), k), cursor.ranked.ranks[k]};
                stack.push_back({at(tail), 0});
            }
        }
        const std::size_t known = strings_.size();
        return static_cast<std::size_t>(strings_.intern(key_)) == known;
    }

    const Forest& forest_;
    const Templates* templates_;
    std::int64_t budget_;
    const std::atomic<bool>& stop_;
    std::vector<double> best_;
    std::vector<std::int32_t> choice_;
    std::vector<NodeState> states_;
    SequenceSet strings_;  // each begins with the number of its node
    std::vector<std::int32_t> key_;
};

auto forest_kbest(const Forest& forest, const Templates& templates, std::size_t root, std::size_t k, bool distinct,
                  std::int64_t max_derivations) {
    std::vector<std::int32_t> edges;
    std::vector<std::int64_t> bounds{0};
    std::vector<double> found_scores;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        LazyKBest search(forest, distinct ? &templates : nullptr, max_derivations, stop);
        const std::size_t found = search.run(root, k);
        for (std::size_t rank = 0; rank < found; ++rank) {
            heed(stop);
            search.append(root, rank, edges);
            bounds.push_back(static_cast<std::int64_t>(edges.size()));
            found_scores.push_back(search.score(root, rank));
        }
    });
    return together(give(std::move(edges)), give(std::move(bounds)), give(std::move(found_scores)));
}

}  // namespace

void bind_kbest(nb::module_& m) {
    m.def("forest_kbest", &forest_kbest, nb::arg("forest"), nb::arg("templates"), nb::arg("root"), nb::arg("k"),
          nb::arg("distinct"), nb::arg("max_derivations"),
          "The best derivations (edges, offsets) and their scores; looks at no more than max_derivations candidates.");
}

}  // namespace dragoman::forest
