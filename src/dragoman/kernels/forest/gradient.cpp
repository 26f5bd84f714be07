// Sums over the derivations of many hypergraphs as functions of the weights, with gradients: log Z, and the expected
// gain with entropy (Li & Eisner 2009). First the inside pass, ln p(edge | head) of each edge, then what follows from it.
#include "base/parallel.hpp"
#include "forest/forest.hpp"

#include <algorithm>
#include <array>

namespace dragoman::forest {
namespace {

// Gradients are added up block by block and then over blocks, so that they are the same for any number of threads.
constexpr std::size_t kBlocks = 16;

// Hypergraphs with features. Hypergraph i is the nodes `nodes[i]` to `nodes[i + 1]`. An edge has the features of
// `rows[edge]`, of which those of hypergraph i are from `row_bounds[i]` to `row_bounds[i + 1]`: edges that a split made
// of one share its features.
struct FeatureForests {
    Held1<std::int64_t> nodes, roots, first_edge;
    Held2<std::int32_t> tails;
    Held1<std::int32_t> rows;
    Held1<std::int64_t> row_bounds;
    Ref<FeatureRows> features;

    void check() const {
        require(nodes.size() == size() + 1 && row_bounds.size() == size() + 1,
                "hypergraphs need nodes, a root and features each");
        require(bounds_rows(view(first_edge), rows.size()) && tails.shape(0) == rows.size() && tails.shape(1) == 2,
                "edges need two tails and a row of features each");
    }

    std::size_t size() const { return roots.size(); }
};

// One hypergraph; its nodes, edges and rows are numbered from 0.
struct Graph {
    const FeatureForests& all;
    std::size_t first_node, nodes, first_edge, edges, first_row, rows, root;

    Graph(const FeatureForests& graphs, std::size_t i)
        : all(graphs), first_node(at(graphs.nodes, i)), nodes(at(graphs.nodes, i + 1) - first_node),
          first_edge(at(graphs.first_edge, first_node)), edges(at(graphs.first_edge, first_node + nodes) - first_edge),
          first_row(at(graphs.row_bounds, i)), rows(at(graphs.row_bounds, i + 1) - first_row), root(at(graphs.roots, i) - first_node) {}

    static std::size_t at(const In1<std::int64_t>& bounds, std::size_t i) {
        return static_cast<std::size_t>(bounds[i]);
    }
    std::size_t begin(std::size_t node) const { return at(all.first_edge, first_node + node) - first_edge; }
    std::size_t end(std::size_t node) const { return begin(node + 1); }
    std::size_t row(std::size_t edge) const { return static_cast<std::size_t>(all.rows[first_edge + edge]) - first_row; }

    // The first and the second tail of an edge; `nodes` where there is none.
    std::array<std::size_t, 2> tails(std::size_t edge) const {
        const std::int32_t* tail = all.tails.data() + 2 * (first_edge + edge);
        return {tail[0] < 0 ? nodes : static_cast<std::size_t>(tail[0]) - first_node,
                tail[1] < 0 ? nodes : static_cast<std::size_t>(tail[1]) - first_node};
    }

    // Calls each(feature, value) for the features of a row.
    template <class Each>
    void features(std::size_t row, Each&& each) const {
        all.features->each(first_row + row, each);
    }

    std::span<const double> of_edges(std::span<const double> numbers) const { return numbers.subspan(first_edge, edges); }
    std::span<double> of_edges(std::span<double> numbers) const { return numbers.subspan(first_edge, edges); }
};

// Sets ln p(edge | head) of each edge, -inf where nothing can be derived; returns log Z.
double log_shares(const Graph& graph, std::span<const double> weights, std::span<double> shares) {
    std::vector<double> scores(graph.rows), inside(graph.nodes + 1);
    for (std::size_t row = 0; row < graph.rows; ++row)
        graph.features(row, [&](std::size_t feature, double value) { scores[row] += value * weights[feature]; });
    for (std::size_t node = 0; node < graph.nodes; ++node) {
        double highest = no_score, sum = 0;
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) {
            const auto [first, second] = graph.tails(edge);
            shares[edge] = scores[graph.row(edge)] + inside[first] + inside[second];
            highest = std::max(highest, shares[edge]);
        }
        inside[node] = highest;
        if (highest == no_score) continue;
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) sum += std::exp(shares[edge] - highest);
        inside[node] += std::log(sum);
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) shares[edge] -= inside[node];
    }
    return inside[graph.root];
}

// Adds Σ over edges of slope(edge) · features(edge).
void add_features(const Graph& graph, std::span<const double> slopes, std::span<double> gradient) {
    std::vector<double> of_rows(graph.rows);
    for (std::size_t edge = 0; edge < graph.edges; ++edge) of_rows[graph.row(edge)] += slopes[edge];
    for (std::size_t row = 0; row < graph.rows; ++row)
        if (of_rows[row] != 0) graph.features(row, [&](std::size_t feature, double value) { gradient[feature] += of_rows[row] * value; });
}

// Calls work(block, i) for each hypergraph; those of a block one after the other.
template <class Work>
void over_graphs(const FeatureForests& graphs, int threads, Work&& work) {
    run_blocks(kBlocks, threads, nb::none(), [&](std::size_t block, const std::atomic<bool>& stop) {
        for (std::size_t i = graphs.size() * block / kBlocks; i < graphs.size() * (block + 1) / kBlocks && !stop; ++i) work(block, i);
    });
}

// Calls slopes(graph, i, slopes of edges) for each hypergraph; returns Σ over all edges of slope · features.
template <class Slopes>
std::vector<double> summed_features(const FeatureForests& graphs, std::size_t features, int threads, Slopes&& slopes) {
    std::array<std::vector<double>, kBlocks> parts;
    parts.fill(std::vector<double>(features));
    over_graphs(graphs, threads, [&](std::size_t block, std::size_t i) {
        const Graph graph(graphs, i);
        std::vector<double> of_edges(graph.edges);
        slopes(graph, i, std::span(of_edges));
        add_features(graph, of_edges, parts[block]);
    });
    std::vector<double> sum(features);
    for (const auto& part : parts)
        for (std::size_t feature = 0; feature < features; ++feature) sum[feature] += part[feature];
    return sum;
}

// E[v] for v = Σ over edges of gain - temperature · ln p(edge | head): the expected gain and temperature · entropy. Its
// slope by the score of an edge is the covariance of v and of the number of times that the edge is used, which is where
// the second-order semiring would end: E[v · count] - E[v] E[count].
double expected_value(const Graph& graph, std::span<const double> log_shares, std::span<const double> gains, double temperature,
                      std::span<double> slopes) {
    std::vector<double> shares(graph.edges), values(graph.edges), inside(graph.nodes + 1);
    for (std::size_t node = 0; node <= graph.root; ++node)
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) {
            // What has no probability has no value; its logarithm may be -inf.
            if ((shares[edge] = std::exp(log_shares[edge])) == 0) continue;
            const auto [first, second] = graph.tails(edge);
            values[edge] = gains[edge] - temperature * log_shares[edge];
            inside[node] += shares[edge] * (values[edge] + inside[first] + inside[second]);
        }
    // How often a node is expected, and the expected value of what is around it, less E[v], times that.
    std::vector<double> uses(graph.nodes + 1), outside(graph.nodes + 1);
    uses[graph.root] = 1;
    outside[graph.root] = -inside[graph.root];
    for (std::size_t node = graph.root + 1; node-- > 0;) {
        if (uses[node] == 0) continue;
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) {
            if (shares[edge] == 0) continue;
            const auto [first, second] = graph.tails(edge);
            const double used = shares[edge] * uses[node];
            const double around = shares[edge] * outside[node] + used * values[edge];
            const double of_first = inside[first], of_second = inside[second];
            slopes[edge] = around + used * (of_first + of_second);
            uses[first] += used;
            outside[first] += around + used * of_second;
            uses[second] += used;
            outside[second] += around + used * of_first;
        }
    }
    return inside[graph.root];
}

// The expected number of uses of each edge, times a factor.
void expected_uses(const Graph& graph, std::span<const double> log_shares, double factor, std::span<double> expected) {
    std::vector<double> uses(graph.nodes + 1);
    uses[graph.root] = factor;
    for (std::size_t node = graph.root + 1; node-- > 0;) {
        if (uses[node] == 0) continue;
        for (std::size_t edge = graph.begin(node); edge < graph.end(node); ++edge) {
            expected[edge] = std::exp(log_shares[edge]) * uses[node];
            for (const std::size_t tail : graph.tails(edge)) uses[tail] += expected[edge];
        }
    }
}

auto forest_log_shares(const FeatureForests& graphs, In1<double> weights, int threads) {
    std::vector<double> shares(graphs.rows.size()), totals(graphs.size());
    over_graphs(graphs, threads, [&](std::size_t, std::size_t i) {
        const Graph graph(graphs, i);
        totals[i] = log_shares(graph, view(weights), graph.of_edges(std::span(shares)));
    });
    return together(give(std::move(shares)), give(std::move(totals)));
}

auto forest_expected_sums(const FeatureForests& graphs, In1<double> shares, In2<double> columns, int threads) {
    const std::size_t width = columns.shape(1);
    std::vector<double> sums(graphs.size() * width);
    over_graphs(graphs, threads, [&](std::size_t, std::size_t i) {
        const Graph graph(graphs, i);
        std::vector<double> uses(graph.edges);
        expected_uses(graph, graph.of_edges(view(shares)), 1, uses);
        const double* row = columns.data() + graph.first_edge * width;
        for (std::size_t edge = 0; edge < graph.edges; ++edge, row += width)
            for (std::size_t k = 0; k < width && uses[edge] > 0; ++k) sums[i * width + k] += uses[edge] * row[k];
    });
    return give(std::move(sums), width);
}

auto forest_expected_gains(const FeatureForests& graphs, In1<double> shares, In1<double> gains, double temperature,
                           std::size_t features, int threads) {
    std::vector<double> found(graphs.size());
    auto gradient = summed_features(graphs, features, threads, [&](const Graph& graph, std::size_t i, std::span<double> slopes) {
        found[i] = expected_value(graph, graph.of_edges(view(shares)), graph.of_edges(view(gains)), temperature, slopes);
    });
    return together(give(std::move(found)), give(std::move(gradient)));
}

auto forest_expected_features(const FeatureForests& graphs, In1<double> shares, In1<double> factors,
                              std::size_t features, int threads) {
    return give(
        summed_features(graphs, features, threads, [&](const Graph& graph, std::size_t i, std::span<double> slopes) {
            expected_uses(graph, graph.of_edges(view(shares)), factors.data()[i], slopes);
        }));
}

}  // namespace

void bind_gradient(nb::module_& m) {
    using Forests = FeatureForests;
    bind_record(
        m, "FeatureForests",
        "Hypergraphs with features: bounds of nodes, roots, edges of nodes, tails, the row of features of each edge,\n"
        "and the bounds of each hypergraph's rows.",
        Field{"nodes", &Forests::nodes}, Field{"roots", &Forests::roots}, Field{"first_edge", &Forests::first_edge},
        Field{"tails", &Forests::tails}, Field{"rows", &Forests::rows}, Field{"row_bounds", &Forests::row_bounds},
        Field{"features", &Forests::features});
    m.def("forest_log_shares", &forest_log_shares, nb::arg("graphs"), nb::arg("weights"), nb::arg("threads"),
          "The logarithm of the share that each edge has in the mass of its head, and log Z of each hypergraph.");
    m.def("forest_expected_sums", &forest_expected_sums, nb::arg("graphs"), nb::arg("shares"), nb::arg("columns"),
          nb::arg("threads"),
          "For each hypergraph the expected sum over a derivation's edges of each column, given the logarithms of\n"
          "shares.");
    m.def("forest_expected_gains", &forest_expected_gains, nb::arg("graphs"), nb::arg("shares"), nb::arg("gains"),
          nb::arg("temperature"), nb::arg("features"), nb::arg("threads"),
          "Expected gain + temperature · entropy of each hypergraph, and the gradient of their sum by the weights.");
    m.def("forest_expected_features", &forest_expected_features, nb::arg("graphs"), nb::arg("shares"),
          nb::arg("factors"), nb::arg("features"), nb::arg("threads"),
          "The sum over hypergraphs of factor · expected features: the gradient of the sum of factor · log Z.");
}

}  // namespace dragoman::forest
