// Chart search for a batch of sentences: rules and matches in; best derivations, and hypergraphs if wanted, out.
#include "base/parallel.hpp"
#include "search/chart/search.hpp"

#include <algorithm>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>

namespace dragoman::search::chart {
namespace {

// Derivations of one sentence: nodes in topological order, edges grouped by head, the goal last.
struct Graph {
    std::vector<std::int32_t> spans;  // of nodes
    std::vector<std::int64_t> first_edges;
    std::vector<std::int32_t> tails, rules, matches;  // of edges
    std::vector<double> scores, log10s;
};

struct Result {
    Outcome outcome = Outcome::NONE;
    double score = 0;
    std::int64_t pops = 0;
    Graph best, all;
};

// Keeps what can reach the goal; of each node all edges, or the best alone.
void export_graph(const ChartSearch& search, std::size_t lms, bool best, Graph& graph) {
    const std::size_t n = search.items.size();
    std::vector<std::int64_t> first(n + 1, 0);
    for (const ChartEdge& edge : search.edges) ++first[static_cast<std::size_t>(edge.head) + 1];
    for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
    std::vector<std::int32_t> incoming(search.edges.size());
    {
        auto next = first;
        for (std::size_t e = 0; e < search.edges.size(); ++e) incoming[next[search.edges[e].head]++] = static_cast<std::int32_t>(e);
    }
    const auto into = [&](std::int32_t item) -> std::span<const std::int32_t> {
        if (best) return {&search.items[item].edge, 1};
        return {incoming.data() + first[item], incoming.data() + first[item + 1]};
    };
    std::vector<char> useful(n, 0);
    useful[search.goal] = 1;
    for (auto item = static_cast<std::int32_t>(n) - 1; item >= 0; --item)
        if (useful[item])
            for (const std::int32_t edge : into(item))
                for (const std::int32_t tail : search.edges[edge].tails)
                    if (tail >= 0) useful[tail] = 1;
    std::vector<std::int32_t> number(n, -1);
    std::int32_t nodes = 0;
    graph.first_edges.push_back(0);
    for (std::int32_t item = 0; item < static_cast<std::int32_t>(n); ++item) {
        if (!useful[item]) continue;
        number[item] = nodes++;
        graph.spans.insert(graph.spans.end(), {search.items[item].begin, search.items[item].end});
        for (const std::int32_t e : into(item)) {
            const ChartEdge& edge = search.edges[e];
            for (const std::int32_t tail : edge.tails) graph.tails.push_back(tail < 0 ? -1 : number[tail]);
            graph.rules.push_back(edge.rule);
            graph.matches.push_back(edge.match);
            graph.scores.push_back(edge.score);
            for (std::size_t k = 0; k < lms; ++k) graph.log10s.push_back(search.edge_log10s[static_cast<std::size_t>(e) * lms + k]);
        }
        graph.first_edges.push_back(static_cast<std::int64_t>(graph.rules.size()));
    }
}

template <class Get>
auto joined(std::vector<Result>& results, Get get) {
    using Vector = std::decay_t<decltype(get(results[0]))>;
    std::size_t size = 0;
    for (Result& result : results) size += get(result).size();
    Vector all;
    all.reserve(size);
    for (Result& result : results) all.insert(all.end(), get(result).begin(), get(result).end());
    return all;
}

void put_graph(ArrayDict& out, const std::string& prefix, std::vector<Result>& results, Graph Result::* graph, std::size_t lms) {
    std::vector<std::int64_t> nodes{0}, edges{0};
    for (Result& result : results) {
        nodes.push_back(nodes.back() + static_cast<std::int64_t>((result.*graph).spans.size() / 2));
        edges.push_back(edges.back() + static_cast<std::int64_t>((result.*graph).rules.size()));
    }
    const auto name = [&](const char* rest) { return nb::str((prefix + rest).c_str()); };
    out[name("node_offsets")] = give(std::move(nodes));
    out[name("edge_offsets")] = give(std::move(edges));
    out[name("spans")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).spans; }), 2);
    out[name("first_edges")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).first_edges; }));
    out[name("tails")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).tails; }), 2);
    out[name("rules")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).rules; }));
    out[name("matches")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).matches; }));
    out[name("scores")] = give(joined(results, [&](Result& r) -> auto& { return (r.*graph).scores; }));
    auto log10s = joined(results, [&](Result& r) -> auto& { return (r.*graph).log10s; });
    for (double& value : log10s) value *= std::numbers::ln10;
    out[name("lm_scores")] = give(std::move(log10s), std::max<std::size_t>(lms, 1));
}

ArrayDict search_charts(const ChartBatch& batch, const Rows* targets, const SearchLimits& limits, int threads,
                        Progress progress) {
    require(targets == nullptr || targets->size() == batch.sentences(), "each sentence needs a target");
    const RuleOrder order(batch, threads);
    Workspaces workspaces(batch);
    std::vector<Result> results(batch.sentences());
    // Long sentences first: threads end at about the same time.
    std::vector<std::size_t> by_length(results.size());
    std::iota(by_length.begin(), by_length.end(), 0);
    std::ranges::stable_sort(by_length, std::greater<>(), [&](std::size_t s) { return batch.length(s); });
    run_blocks(results.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        const std::size_t s = by_length[block];
        auto workspace = workspaces.take();
        const auto target = targets ? std::optional((*targets)[s]) : std::nullopt;
        ChartSearch search(batch, order, s, limits, *workspace, target, stop);
        Result& result = results[s];
        result.outcome = search.run();
        result.pops = search.pops;
        if (result.outcome == Outcome::FOUND) {
            result.score = search.items[search.goal].score;
            export_graph(search, batch.models.size(), true, result.best);
            if (limits.keep_all) export_graph(search, batch.models.size(), false, result.all);
        }
        workspaces.give_back(std::move(workspace));
    });
    std::vector<std::uint8_t> outcomes;
    std::vector<double> scores;
    std::vector<std::int64_t> pops;
    for (const Result& result : results) {
        outcomes.push_back(static_cast<std::uint8_t>(result.outcome));
        scores.push_back(result.score);
        pops.push_back(result.pops);
    }
    ArrayDict out;
    out["outcomes"] = give(std::move(outcomes));
    out["best_scores"] = give(std::move(scores));
    out["pops"] = give(std::move(pops));
    put_graph(out, "best.", results, &Result::best, batch.models.size());
    if (limits.keep_all) put_graph(out, "all.", results, &Result::all, batch.models.size());
    return out;
}

auto chart_estimates(const ChartBatch& batch, int threads) {
    RuleOrder order(batch, threads);
    return together(give(std::move(order.estimates)), give(std::move(order.rules)));
}

}  // namespace

void bind_search(nb::module_& m) {
    m.def("chart_estimates", &chart_estimates, nb::arg("batch"), nb::arg("threads") = 1,
          "The own score of each rule and that of the language models, begun anew behind every hole; and the rules of\n"
          "each source side, best first.");
    m.def("search_charts", &search_charts, nb::arg("batch"), nb::arg("targets").none(), nb::arg("limits"),
          nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "Search a batch of sentences: outcomes, scores, pops, best derivations (`best.`), and all that was kept\n"
          "(`all.`) if all is kept, as graphs. `targets` are the only translations allowed.");
}

}  // namespace dragoman::search::chart
