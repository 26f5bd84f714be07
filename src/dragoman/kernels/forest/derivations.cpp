// Derivations as rows of edges in pre-order (an edge, then the derivations of its tails): the best one, and what
// they write.
#include "forest/forest.hpp"

#include <algorithm>

namespace dragoman::forest {
namespace {

auto forest_best(const Forest& forest, std::size_t root) {
    std::vector<std::int32_t> edges;
    double score = no_score;
    {
        nb::gil_scoped_release release;
        const auto best = inside_scores<MaxSum>(forest);
        const auto choice = best_edges(forest, best);
        score = choice[root] < 0 ? no_score : best[root];
        if (choice[root] >= 0)
            unfold(static_cast<std::int32_t>(root), [&](std::int32_t node, std::vector<std::int32_t>& stack) {
                const std::int32_t edge = choice[static_cast<std::size_t>(node)];
                for (int k = forest.arity(static_cast<std::size_t>(edge)); k-- > 0;)
                    stack.push_back(forest.tail(static_cast<std::size_t>(edge), k));
                return edge;
            }, edges);
    }
    return together(give(std::move(edges)), score);
}

// Reads rows of edges, checks that each is a derivation, and walks over what it writes.
class Reader {
public:
    Reader(const Forest& forest, const Templates& templates) : forest_(forest), templates_(templates), heads_(forest.edges()) {
        for (std::size_t node = 0; node < forest.nodes(); ++node)
            std::fill(heads_.begin() + forest.first_edge[node], heads_.begin() + forest.first_edge[node + 1],
                      static_cast<std::int32_t>(node));
    }

    // Calls on_word(place in the row, word) for all words in target order.
    template <class OnWord>
    void walk(Words row, OnWord&& on_word) {
        measure(row);
        std::size_t written = 0;
        stack_.assign(1, {0, 0});
        while (!stack_.empty()) {
            auto& [place, at] = stack_.back();
            const Words text = templates_.of(static_cast<std::size_t>(row[place]));
            if (at == text.size()) {
                stack_.pop_back();
                continue;
            }
            const std::int32_t symbol = text[at++];
            if (symbol >= 0) {
                if (++written > longest_derivation) throw std::length_error("a translation of more than 4 million words");
                on_word(place, symbol);
            } else {
                const std::size_t first = place + 1;
                stack_.push_back({symbol == -1 ? first : first + sizes_[first], 0});
            }
        }
    }

    // For each place of a row the place whose words these are: its own, or that of an edge around it.
    void owners(Words row, const std::int32_t* spans, std::vector<std::size_t>& owner) {
        measure(row);
        owner.resize(row.size());
        for (std::size_t place = 0; place < row.size(); ++place) owner[place] = place;
        for (std::size_t place = 0; place < row.size(); ++place) {
            const auto edge = static_cast<std::size_t>(row[place]);
            const std::int32_t* around = spans + 2 * edge;
            const bool joins = owner[place] == place && only_joins(row, place, spans);
            std::size_t tail = place + 1;
            for (int k = 0; k < forest_.arity(edge); ++k, tail += sizes_[tail]) {
                const std::int32_t* span = spans + 2 * static_cast<std::size_t>(row[tail]);
                if (!joins && around[0] <= span[0] && span[0] < span[1] && span[1] <= around[1]) owner[tail] = owner[place];
            }
        }
    }

private:
    // Whether an edge has no words, and its tails cover its span one after the other.
    bool only_joins(Words row, std::size_t place, const std::int32_t* spans) const {
        const auto edge = static_cast<std::size_t>(row[place]);
        const Words text = templates_.of(edge);
        if (std::any_of(text.begin(), text.end(), [](std::int32_t symbol) { return symbol >= 0; })) return false;
        std::int32_t at = spans[2 * edge];
        std::size_t tail = place + 1;
        for (int k = 0; k < forest_.arity(edge); ++k, tail += sizes_[tail]) {
            const std::int32_t* span = spans + 2 * static_cast<std::size_t>(row[tail]);
            if (span[0] != at) return false;
            at = span[1];
        }
        return at == spans[2 * edge + 1];
    }

    // The number of edges of the derivation that begins at each place of the row.
    void measure(Words row) {
        sizes_.assign(row.size(), 1);
        for (std::size_t place = row.size(); place-- > 0;) {
            const std::int32_t edge = row[place];
            if (edge < 0 || static_cast<std::size_t>(edge) >= forest_.edges()) fail();
            for (int k = 0; k < forest_.arity(static_cast<std::size_t>(edge)); ++k) {
                const std::size_t tail = place + sizes_[place];
                if (tail >= row.size()) fail();
                if (heads_[static_cast<std::size_t>(row[tail])] != forest_.tail(static_cast<std::size_t>(edge), k)) fail();
                sizes_[place] += sizes_[tail];
            }
        }
        if (row.empty() || sizes_[0] != row.size()) fail();
    }

    [[noreturn]] static void fail() { throw std::invalid_argument("a row is no derivation of this hypergraph in pre-order"); }

    const Forest& forest_;
    const Templates& templates_;
    std::vector<std::int32_t> heads_;
    std::vector<std::size_t> sizes_;
    std::vector<std::pair<std::size_t, std::size_t>> stack_;
};

auto forest_yields(const Forest& forest, const Templates& templates, const Rows& derivations) {
    std::vector<std::int32_t> words;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        Reader reader(forest, templates);
        for (std::size_t i = 0; i < derivations.size(); ++i) {
            reader.walk(derivations[i], [&](std::size_t, std::int32_t word) { words.push_back(word); });
            bounds.push_back(static_cast<std::int64_t>(words.size()));
        }
    }
    return together(give(std::move(words)), give(std::move(bounds)));
}

// For each edge that has words: its number and the range from its first to its last word, in the order of first words.
// What is inside the span of an edge is its own, unless that edge only joins its tails.
auto forest_ranges(const Forest& forest, const Templates& templates, In2<std::int32_t> spans, const Rows& derivations) {
    std::vector<std::int32_t> rows;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        Reader reader(forest, templates);
        std::vector<std::int32_t> entry;
        std::vector<std::size_t> owner;
        for (std::size_t i = 0; i < derivations.size(); ++i) {
            const Words row = derivations[i];
            const auto begin = static_cast<std::size_t>(bounds.back());
            std::int32_t position = 0;
            entry.assign(row.size(), -1);
            reader.owners(row, spans.data(), owner);
            reader.walk(row, [&](std::size_t word_place, std::int32_t) {
                const std::size_t place = owner[word_place];
                if (entry[place] < 0) {
                    entry[place] = static_cast<std::int32_t>(rows.size() / 3 - begin);
                    rows.insert(rows.end(), {row[place], position, position});
                }
                rows[3 * (begin + static_cast<std::size_t>(entry[place])) + 2] = ++position;
            });
            bounds.push_back(static_cast<std::int64_t>(rows.size() / 3));
        }
    }
    return together(give(std::move(rows), 3), give(std::move(bounds)));
}

}  // namespace

void bind_derivations(nb::module_& m) {
    m.def("forest_best", &forest_best, nb::arg("forest"), nb::arg("root"),
          "The best derivation and its score; no edges if there is none.");
    m.def("forest_yields", &forest_yields, nb::arg("forest"), nb::arg("templates"), nb::arg("derivations"),
          "The words that each derivation writes; ValueError if a row is no derivation.");
    m.def("forest_ranges", &forest_ranges, nb::arg("forest"), nb::arg("templates"), nb::arg("spans"),
          nb::arg("derivations"),
          "For each edge with words (edge, first word, end of its last word), in the order of first words; row\n"
          "offsets. Words of tails inside an edge's span are its own, unless it has no words and its tails fill it.");
}

}  // namespace dragoman::forest
