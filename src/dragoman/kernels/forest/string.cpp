// All derivations that write a given string, and their log-probability mass: the hypergraph intersected with the string,
// bottom up over the ranges of the string that a node can write.
#include "base/parallel.hpp"
#include "forest/surroundings.hpp"

#include <algorithm>
#include <optional>

namespace dragoman::forest {
namespace {

// A node writes string[begin : end] with this inside score; such items are numbered as they are found.
struct Range {
    std::int32_t begin, end;
    double score;
    std::int32_t item;
};

// An edge into the item of a cell, which is a range of the string; its tails are items.
struct ItemEdge {
    std::size_t cell;
    std::int32_t edge, tails[2];
};

class Intersection {
public:
    Intersection(const Forest& forest, const Templates& templates, std::size_t root, Words string, const std::atomic<bool>& stop)
        : forest_(forest), templates_(templates), around_(forest, templates, root), string_(string), size_(string.size()),
          ranges_(forest.nodes()), sums_((size_ + 1) * (size_ + 1)) {
        for (std::size_t node = 0; node <= root; ++node)
            if (around_.used[node]) build(node, stop);
    }

    // The score of the whole string; a node that has nothing on either side writes all of it or nothing.
    double total(std::size_t root) const {
        for (const Range& range : ranges_[root])
            if (range.begin == 0 && static_cast<std::size_t>(range.end) == size_) return range.score;
        return no_score;
    }

    // The intersection as a hypergraph of items, whose root is the last one; there is none if the string is not there.
    std::vector<std::int64_t> first_edge{0};
    std::vector<std::int32_t> tails, edges;

private:
    void build(std::size_t node, const std::atomic<bool>& stop) {
        std::vector<std::size_t> cells;
        std::vector<ItemEdge> found;
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge) {
            if (!around_.usable(forest_, edge)) continue;
            heed(stop);
            const Words text = templates_.of(edge);
            const double score = forest_.scores[edge];
            const auto add = [&](std::size_t begin, std::size_t end, double sum, std::int32_t first_tail, std::int32_t second_tail) {
                if ((begin > 0 && !around_.left[node]) || (end < size_ && !around_.right[node])) return;
                const std::size_t cell = begin * (size_ + 1) + end;
                if (sums_[cell].peak == no_score) cells.push_back(cell);
                sums_[cell].add(sum);
                found.push_back({cell, static_cast<std::int32_t>(edge), {first_tail, second_tail}});
            };
            const auto first = static_cast<std::size_t>(std::ranges::find_if(text, is_tail) - text.begin());
            if (first == text.size()) {
                for (std::size_t begin = 0; begin + text.size() <= (around_.left[node] ? size_ : std::min(size_, text.size())); ++begin)
                    if (follows(begin, text)) add(begin, begin + text.size(), score, -1, -1);
                continue;
            }
            const auto rest = text.subspan(first + 1);
            const auto between = static_cast<std::size_t>(std::ranges::find_if(rest, is_tail) - rest.begin());
            for (const Range& a : tail_ranges(edge, text[first])) {
                heed(stop);
                const auto begin = static_cast<std::size_t>(a.begin), end = static_cast<std::size_t>(a.end);
                if (begin < first || !follows(begin - first, text.first(first)) || !follows(end, rest.first(between))) continue;
                if (between == rest.size()) {
                    add(begin - first, end + between, score + a.score, a.item, -1);
                    continue;
                }
                const auto after = rest.subspan(between + 1);
                const auto& others = tail_ranges(edge, rest[between]);
                auto b = std::ranges::lower_bound(others, static_cast<std::int32_t>(end + between), {}, &Range::begin);
                for (; b != others.end() && static_cast<std::size_t>(b->begin) == end + between; ++b)
                    if (follows(static_cast<std::size_t>(b->end), after)) {
                        const bool swapped = text[first] == -2;  // the second tail comes first in the string
                        add(begin - first, static_cast<std::size_t>(b->end) + after.size(), score + a.score + b->score,
                            swapped ? b->item : a.item, swapped ? a.item : b->item);
                    }
            }
        }
        std::ranges::sort(cells);
        std::ranges::stable_sort(found, {}, &ItemEdge::cell);
        auto next = found.begin();
        for (const std::size_t cell : cells) {
            ranges_[node].push_back({static_cast<std::int32_t>(cell / (size_ + 1)), static_cast<std::int32_t>(cell % (size_ + 1)),
                                     sums_[cell].value(), static_cast<std::int32_t>(first_edge.size() - 1)});
            sums_[cell] = LogSum{};
            for (; next != found.end() && next->cell == cell; ++next) {
                edges.push_back(next->edge);
                tails.insert(tails.end(), {next->tails[0], next->tails[1]});
            }
            first_edge.push_back(static_cast<std::int64_t>(edges.size()));
        }
    }

    static bool is_tail(std::int32_t symbol) { return symbol < 0; }

    bool follows(std::size_t begin, Words words) const {
        return begin + words.size() <= size_ && std::ranges::equal(string_.subspan(begin, words.size()), words);
    }

    const std::vector<Range>& tail_ranges(std::size_t edge, std::int32_t symbol) const {
        return ranges_[static_cast<std::size_t>(forest_.tail(edge, -1 - symbol))];
    }

    const Forest& forest_;
    const Templates& templates_;
    Surroundings around_;
    Words string_;
    std::size_t size_;
    std::vector<std::vector<Range>> ranges_;
    std::vector<LogSum> sums_;
};

double forest_string(const Forest& forest, const Templates& templates, std::size_t root, In1<std::int32_t> string) {
    double total = no_score;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        total = Intersection(forest, templates, root, view(string), stop).total(root);
    });
    return total;
}

auto forest_intersection(const Forest& forest, const Templates& templates, std::size_t root, In1<std::int32_t> string) {
    std::optional<Intersection> found;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        found.emplace(forest, templates, root, view(string), stop);
    });
    if (found->total(root) == no_score) return together(give(std::vector<std::int64_t>{0}), give(std::vector<std::int32_t>{}, 2), give(std::vector<std::int32_t>{}));
    return together(give(std::move(found->first_edge)), give(std::move(found->tails), 2), give(std::move(found->edges)));
}

}  // namespace

void bind_string(nb::module_& m) {
    m.def("forest_string", &forest_string, nb::arg("forest"), nb::arg("templates"), nb::arg("root"), nb::arg("string"),
          "Log-sum over the derivations that write a string.");
    m.def("forest_intersection", &forest_intersection, nb::arg("forest"), nb::arg("templates"), nb::arg("root"),
          nb::arg("string"),
          "The derivations that write a string as a hypergraph: first edges, tails, old edges; the root is the last\n"
          "node.\n\n"
          "No nodes if there are none.");
}

}  // namespace dragoman::forest
