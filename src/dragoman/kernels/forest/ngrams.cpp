// N-grams of translations: nodes split by the words at their borders, so that every edge completes known n-grams, and
// the probability that a derivation has an n-gram at all.
#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "forest/surroundings.hpp"

#include <algorithm>
#include <array>

namespace dragoman::forest {
namespace {

constexpr std::int32_t gap = -1;        // words that are not known
constexpr std::int32_t own_words = -1;  // the segment of words that an edge writes itself

struct Symbol {
    std::int32_t word, segment;
};

struct SplitEdge {
    std::int32_t state;  // of the head
    std::int32_t edge, tails[2];
};

// States are sequences: node, number of left words, left words, right words. Left words are kept only where something
// can stand to the left of the node, right words likewise; fewer than `width` of them are the node's whole string.
class Splitter {
public:
    Splitter(const Forest& forest, const Templates& templates, std::size_t root, int order, std::size_t max_edges,
             const std::atomic<bool>& stop)
        : forest_(forest), templates_(templates), around_(forest, templates, root), width_(static_cast<std::size_t>(order) - 1),
          max_edges_(max_edges), first_state_(forest.nodes() + 1) {
        for (std::size_t node = 0; node <= root; ++node) {
            first_state_[node] = static_cast<std::int32_t>(states_.size());
            if (around_.used[node]) split(node, stop);
        }
        for (std::size_t node = root + 1; node <= forest.nodes(); ++node) first_state_[node] = static_cast<std::int32_t>(states_.size());
    }

    std::vector<std::int64_t> first_edge{0}, occurrence_offsets{0};
    std::vector<std::int32_t> tails, nodes, edges, occurrences;
    SequenceSet ngrams;

private:
    void split(std::size_t node, const std::atomic<bool>& stop) {
        std::vector<SplitEdge> found;
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge) {
            if (!around_.usable(forest_, edge)) continue;
            const auto [first_begin, first_end] = states_of(edge, 0);
            const auto [second_begin, second_end] = states_of(edge, 1);
            for (std::int32_t first = first_begin; first < first_end; ++first)
                for (std::int32_t second = second_begin; second < second_end; ++second) {
                    heed(stop);
                    SplitEdge split{0, static_cast<std::int32_t>(edge), {first, second}};
                    spell(split);
                    split.state = intern_state(node);
                    found.push_back(split);
                    if (edges.size() + found.size() > max_edges_) throw LimitError("more edges than max_edges");
                }
        }
        std::ranges::stable_sort(found, {}, &SplitEdge::state);
        for (std::size_t i = 0; i < found.size(); ++i) {
            heed(stop);
            if (i > 0 && found[i].state != found[i - 1].state) end_state(node);
            tails.insert(tails.end(), {found[i].tails[0], found[i].tails[1]});
            edges.push_back(found[i].edge);
            spell(found[i]);
            list_ngrams();
        }
        end_state(node);
    }

    void end_state(std::size_t node) {
        first_edge.push_back(static_cast<std::int64_t>(edges.size()));
        nodes.push_back(static_cast<std::int32_t>(node));
    }

    // The states of a tail; the one non-state -1 if there is no such tail.
    std::pair<std::int32_t, std::int32_t> states_of(std::size_t edge, int k) const {
        const std::int32_t tail = forest_.tail(edge, k);
        if (tail < 0) return {-1, 0};
        return {first_state_[static_cast<std::size_t>(tail)], first_state_[static_cast<std::size_t>(tail) + 1]};
    }

    // Writes what is known of the string of an edge into `text_`.
    void spell(const SplitEdge& split) {
        text_.clear();
        const Words symbols = templates_.of(static_cast<std::size_t>(split.edge));
        for (const std::int32_t symbol : symbols) {
            if (symbol >= 0) {
                text_.push_back({symbol, own_words});
                continue;
            }
            const int k = -1 - symbol;
            const auto node = static_cast<std::size_t>(forest_.tail(static_cast<std::size_t>(split.edge), k));
            const Words state = states_.sequence(static_cast<std::size_t>(split.tails[k]));
            const auto lefts = static_cast<std::size_t>(state[1]);
            const Words left = state.subspan(2, lefts), right = state.subspan(2 + lefts);
            const bool long_left = around_.left[node] && left.size() == width_;
            const bool long_right = around_.right[node] && right.size() == width_;
            if (around_.left[node]) spell(left, 2 * k);
            if (long_left || long_right || !(around_.left[node] || around_.right[node])) text_.push_back({gap, own_words});
            if (around_.right[node] && (long_right || !around_.left[node])) spell(right, 2 * k + 1);
        }
    }

    void spell(Words words, std::int32_t segment) {
        for (const std::int32_t word : words) text_.push_back({word, segment});
    }

    // The state of the head whose string is `text_`.
    std::int32_t intern_state(std::size_t node) {
        key_.assign({static_cast<std::int32_t>(node), 0});
        if (around_.left[node])
            for (std::size_t at = 0; at < std::min(width_, text_.size()) && text_[at].word != gap; ++at) key_.push_back(text_[at].word);
        key_[1] = static_cast<std::int32_t>(key_.size() - 2);
        if (around_.right[node]) {
            std::size_t begin = text_.size();
            while (begin > 0 && text_.size() - begin < width_ && text_[begin - 1].word != gap) --begin;
            for (; begin < text_.size(); ++begin) key_.push_back(text_[begin].word);
        }
        return states_.intern(key_);
    }

    // All n-grams of `text_` that are not within one tail.
    void list_ngrams() {
        for (std::size_t begin = 0; begin < text_.size(); ++begin) {
            key_.clear();
            for (std::size_t at = begin; at < text_.size() && at <= begin + width_ && text_[at].word != gap; ++at) {
                key_.push_back(text_[at].word);
                if (text_[at].segment == own_words || text_[at].segment != text_[begin].segment)
                    occurrences.push_back(ngrams.intern(key_));
            }
        }
        occurrence_offsets.push_back(static_cast<std::int64_t>(occurrences.size()));
    }

    const Forest& forest_;
    const Templates& templates_;
    Surroundings around_;
    std::size_t width_, max_edges_;
    std::vector<std::int32_t> first_state_;
    SequenceSet states_;
    std::vector<Symbol> text_;
    std::vector<std::int32_t> key_;
};

auto forest_split(const Forest& forest, const Templates& templates, std::size_t root, int order,
                  std::size_t max_edges) {
    std::optional<Splitter> split;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        split.emplace(forest, templates, root, order, max_edges, stop);
    });
    auto& s = *split;
    return together(give(std::move(s.first_edge)), give(std::move(s.tails), 2), give(std::move(s.nodes)), give(std::move(s.edges)),
                    give(std::move(s.occurrences)), give(std::move(s.occurrence_offsets)), give(s.ngrams.take_words()),
                    give(s.ngrams.take_offsets()));
}

constexpr std::size_t lanes = 8;
using Lanes = std::array<double, lanes>;

struct Completion {
    std::int32_t edge, lane;
};

// For each n-gram the probability that a derivation of the root has it. In a split hypergraph, the probability given a
// node is the sum over its edges, each with its probability given the node, of 1 if the edge completes the n-gram and
// else of 1 - (1 - a)(1 - b) for the probabilities a, b of its tails. Eight n-grams go through the hypergraph together.
auto forest_contains(const Forest& forest, std::size_t root, const Rows& occurrences, std::size_t ngrams, int threads,
                     Progress progress) {
    std::vector<double> share(forest.edges(), 0.0);
    std::vector<std::int32_t> heads(forest.edges());
    std::vector<std::vector<Completion>> completions((ngrams + lanes - 1) / lanes);
    run_interruptibly([&](const std::atomic<bool>& stop) {
        const auto inside = inside_scores<LogSum>(forest);
        for (std::size_t node = 0; node < forest.nodes(); ++node) {
            heed(stop);
            for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) {
                share[edge] = std::exp(forest.through(edge, inside) - inside[node]);
                heads[edge] = static_cast<std::int32_t>(node);
                for (const std::int32_t number : occurrences[edge]) {
                    const auto ngram = static_cast<std::size_t>(number);
                    completions[ngram / lanes].push_back({static_cast<std::int32_t>(edge), static_cast<std::int32_t>(ngram % lanes)});
                }
            }
        }
    });
    std::vector<double> result(ngrams, 0.0);
    run_blocks(completions.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        const auto& events = completions[block];
        if (events.empty()) return;
        const auto first = static_cast<std::size_t>(heads[static_cast<std::size_t>(events.front().edge)]);
        std::vector<Lanes> contains(root + 1 - first);
        const Lanes none{};
        const auto of = [&](std::int32_t tail) -> const Lanes& {
            return static_cast<std::size_t>(tail) < first ? none : contains[static_cast<std::size_t>(tail) - first];
        };
        std::size_t event = 0;
        for (std::size_t node = first; node <= root; ++node) {
            heed(stop);
            Lanes sum{};
            for (std::size_t edge = forest.begin(node); edge < forest.end(node); ++edge) {
                Lanes value{};
                if (forest.tail(edge, 0) >= 0) value = of(forest.tail(edge, 0));
                if (forest.tail(edge, 1) >= 0) {
                    const Lanes& other = of(forest.tail(edge, 1));
                    for (std::size_t lane = 0; lane < lanes; ++lane) value[lane] += other[lane] * (1 - value[lane]);
                }
                for (; event < events.size() && static_cast<std::size_t>(events[event].edge) == edge; ++event)
                    value[static_cast<std::size_t>(events[event].lane)] = 1;
                for (std::size_t lane = 0; lane < lanes; ++lane) sum[lane] += share[edge] * value[lane];
            }
            contains[node - first] = sum;
        }
        for (std::size_t lane = 0; lane < lanes && block * lanes + lane < ngrams; ++lane)
            result[block * lanes + lane] = contains[root - first][lane];
    });
    return give(std::move(result));
}

}  // namespace

void bind_ngrams(nb::module_& m) {
    m.def("forest_split", &forest_split, nb::arg("forest"), nb::arg("templates"), nb::arg("root"), nb::arg("order"),
          nb::arg("max_edges"),
          "Split nodes by border words: first_edge, tails, the old node of each node and edge of each edge, the\n"
          "n-grams that each edge completes (ids, offsets) and the n-grams (words, offsets). ValueError beyond\n"
          "max_edges.");
    m.def("forest_contains", &forest_contains, nb::arg("forest"), nb::arg("root"), nb::arg("occurrences"),
          nb::arg("ngrams"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "For each n-gram of a split hypergraph the probability that a derivation has it.");
}

}  // namespace dragoman::forest
