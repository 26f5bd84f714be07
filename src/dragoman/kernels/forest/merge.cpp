// Several hypergraphs of one search space as one: nodes that the same edges lead to are one node.
#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "forest/forest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace dragoman::forest {
namespace {

// Nodes in classes; the class of a node is its lowest member.
class Classes {
public:
    explicit Classes(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0); }

    std::int32_t operator[](std::int32_t node) {
        while (parent_[static_cast<std::size_t>(node)] != node) {
            auto& parent = parent_[static_cast<std::size_t>(node)];
            parent = parent_[static_cast<std::size_t>(parent)];
            node = parent;
        }
        return node;
    }

    void join(std::int32_t a, std::int32_t b) {
        a = (*this)[a], b = (*this)[b];
        parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }

private:
    std::vector<std::int32_t> parent_;
};

struct Merged {
    std::vector<std::int64_t> first_edge;
    std::vector<std::int32_t> tails, edges;
    std::int64_t root = 0;
};

class Merger {
public:
    Merger(const Forest& forest, Words labels, Bounds roots)
        : forest_(forest), labels_(labels), roots_(roots), classes_(forest.nodes()), heads_(forest.edges()) {
        for (std::size_t node = 0; node < forest.nodes(); ++node)
            std::fill(heads_.begin() + forest.first_edge[node], heads_.begin() + forest.first_edge[node + 1], static_cast<std::int32_t>(node));
    }

    Merged merged(const std::atomic<bool>& stop) {
        for (const std::int64_t root : roots_) classes_.join(static_cast<std::int32_t>(roots_[0]), static_cast<std::int32_t>(root));
        while (!closed(stop)) {}
        return sorted(stop);
    }

private:
    // The label and the classes of the tails: these decide on the class of the head.
    std::array<std::int32_t, 3> key(std::size_t edge) {
        std::array<std::int32_t, 3> key{labels_[edge], -1, -1};
        for (int k = 0; k < 2; ++k)
            if (const std::int32_t tail = forest_.tail(edge, k); tail >= 0) key[static_cast<std::size_t>(k) + 1] = classes_[tail];
        return key;
    }

    // Joins the heads of edges with equal keys; returns whether there was nothing to join. Usually the second pass is
    // the last: tails come before heads, so that their classes are known, unless an edge joined two earlier nodes.
    bool closed(const std::atomic<bool>& stop) {
        SequenceSet keys;
        first_.clear();
        bool same = true;
        for (std::size_t edge = 0; edge < forest_.edges(); ++edge) {
            heed(stop);
            const auto id = static_cast<std::size_t>(keys.intern(key(edge)));
            if (id == first_.size()) {
                first_.push_back(static_cast<std::int32_t>(edge));
            } else if (classes_[heads_[edge]] != classes_[heads_[static_cast<std::size_t>(first_[id])]]) {
                classes_.join(heads_[edge], heads_[static_cast<std::size_t>(first_[id])]);
                same = false;
            }
        }
        return same;
    }

    // One edge of each key, and their nodes in topological order.
    Merged sorted(const std::atomic<bool>& stop) {
        const std::size_t nodes = forest_.nodes(), edges = first_.size();
        std::vector<std::int32_t> waiting(nodes);         // edges into a class whose tails have no place yet
        std::vector<std::int32_t> missing(edges);         // tails of an edge that have no place yet
        std::vector<std::vector<std::int32_t>> into(nodes), from(nodes);
        for (std::size_t i = 0; i < edges; ++i) {
            heed(stop);
            const auto edge = static_cast<std::size_t>(first_[i]);
            const auto head = static_cast<std::size_t>(classes_[heads_[edge]]);
            into[head].push_back(static_cast<std::int32_t>(i));
            ++waiting[head];
            for (int k = 0; k < forest_.arity(edge); ++k) {
                from[static_cast<std::size_t>(classes_[forest_.tail(edge, k)])].push_back(static_cast<std::int32_t>(i));
                ++missing[i];
            }
        }
        std::vector<std::int32_t> order, place(nodes, -1);
        const auto arrive = [&](std::size_t i) {
            const std::int32_t head = classes_[heads_[static_cast<std::size_t>(first_[i])]];
            if (--waiting[static_cast<std::size_t>(head)] == 0) order.push_back(head);
        };
        for (std::size_t node = 0; node < nodes; ++node)  // without edges, and so without derivations
            if (classes_[static_cast<std::int32_t>(node)] == static_cast<std::int32_t>(node) && into[node].empty()) order.push_back(static_cast<std::int32_t>(node));
        for (std::size_t i = 0; i < edges; ++i)
            if (missing[i] == 0) arrive(i);
        for (std::size_t at = 0; at < order.size(); ++at) {
            heed(stop);
            for (const std::int32_t i : from[static_cast<std::size_t>(order[at])])
                if (--missing[static_cast<std::size_t>(i)] == 0) arrive(static_cast<std::size_t>(i));
        }
        Merged merged;
        merged.first_edge.push_back(0);
        for (std::size_t at = 0; at < order.size(); ++at) {
            heed(stop);
            place[static_cast<std::size_t>(order[at])] = static_cast<std::int32_t>(at);
            for (const std::int32_t i : into[static_cast<std::size_t>(order[at])]) {
                const std::int32_t edge = first_[static_cast<std::size_t>(i)];
                merged.edges.push_back(edge);
                for (int k = 0; k < 2; ++k) {
                    const std::int32_t tail = forest_.tail(static_cast<std::size_t>(edge), k);
                    merged.tails.push_back(tail < 0 ? -1 : place[static_cast<std::size_t>(classes_[tail])]);
                }
            }
            merged.first_edge.push_back(static_cast<std::int64_t>(merged.edges.size()));
        }
        if (merged.edges.size() < edges) throw CycleError("a node would come before itself");
        merged.root = place[static_cast<std::size_t>(classes_[static_cast<std::int32_t>(roots_[0])])];
        return merged;
    }

    const Forest& forest_;
    Words labels_;
    Bounds roots_;
    Classes classes_;
    std::vector<std::int32_t> heads_, first_;
};

auto forest_merge(const Forest& forest, In1<std::int32_t> labels, In1<std::int64_t> roots) {
    Merged merged;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        merged = Merger(forest, view(labels), view(roots)).merged(stop);
    });
    return together(give(std::move(merged.first_edge)), give(std::move(merged.tails), 2), give(std::move(merged.edges)), merged.root);
}

// Numbers such that two edges have the same one if they write the same, cover the same and have the same features.
auto forest_labels(const Templates& templates, In2<std::int32_t> spans, const FeatureRows& features) {
    std::vector<std::int32_t> labels(templates.ids.size());
    run_interruptibly([&](const std::atomic<bool>& stop) {
        SequenceSet known;
        std::vector<std::int32_t> key;
        for (std::size_t edge = 0; edge < labels.size(); ++edge) {
            heed(stop);
            const Words text = templates.of(edge);
            key.assign({spans.data()[2 * edge], spans.data()[2 * edge + 1], static_cast<std::int32_t>(text.size())});
            key.insert(key.end(), text.begin(), text.end());
            features.each(edge, [&](std::size_t feature, double value) {
                const auto bits = std::bit_cast<std::array<std::int32_t, 2>>(value);
                key.insert(key.end(), {static_cast<std::int32_t>(feature), bits[0], bits[1]});
            });
            labels[edge] = known.intern(key);
        }
    });
    return give(std::move(labels));
}

}  // namespace

void bind_merge(nb::module_& m) {
    m.def("forest_merge", &forest_merge, nb::arg("forest"), nb::arg("labels"), nb::arg("roots"),
          "Join roots, and the heads of edges with equal labels and tails: first edges, tails, old edges, root.\n\n"
          "A ValueError if a node would come before itself.");
    m.def("forest_labels", &forest_labels, nb::arg("templates"), nb::arg("spans"), nb::arg("features"),
          "A number for each edge, the same for edges that write and cover the same and have the same features.");
}

}  // namespace dragoman::forest
