// Phrase-based search for a batch of sentences: options in; best derivations, and lattices if wanted, out.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "search/phrase/batch.hpp"
#include "search/phrase/search.hpp"

#include <memory>
#include <numeric>
#include <string>

namespace dragoman::search::phrase {
namespace {

struct Result {
    Outcome outcome = Outcome::NONE;
    double score = 0;
    std::int64_t expansions = 0;
    std::vector<std::int32_t> derivation;                    // options of the best derivation, in target order
    std::vector<std::int32_t> node_options, node_lms;        // last option and language model states of each node
    std::vector<std::int64_t> first_edges;                   // incoming edges of each node
    std::vector<std::int32_t> tails, edge_options;           // of each edge
    std::vector<double> scores;
};

// Keeps what can reach the goal, in topological order: first the start, last the goal, edges grouped by head.
void export_lattice(const PhraseSearch& search, const PhraseSpace& space, Result& result) {
    const std::size_t n = search.nodes.size();
    // The arcs into each node, in the order in which they were found.
    std::vector<std::size_t> first_arc(n + 2, 0);
    for (const SearchArc& arc : search.arcs) ++first_arc[static_cast<std::size_t>(arc.head) + 2];
    std::partial_sum(first_arc.begin(), first_arc.end(), first_arc.begin());
    std::vector<std::int32_t> arcs(search.arcs.size());
    for (std::size_t a = 0; a < arcs.size(); ++a) arcs[first_arc[static_cast<std::size_t>(search.arcs[a].head) + 1]++] = static_cast<std::int32_t>(a);
    const auto incoming = [&](std::int32_t node) {
        return std::span(arcs).subspan(first_arc[node], first_arc[static_cast<std::size_t>(node) + 1] - first_arc[node]);
    };
    std::vector<char> useful(n, 0);
    std::vector<std::int32_t> order;
    for (const SearchArc& goal : search.goals)
        if (!useful[goal.tail]) useful[goal.tail] = 1, order.push_back(goal.tail);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::int32_t a : incoming(order[i]))
            if (!useful[search.arcs[a].tail]) useful[search.arcs[a].tail] = 1, order.push_back(search.arcs[a].tail);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        const auto x = space.coverages.count(search.nodes[a].coverage), y = space.coverages.count(search.nodes[b].coverage);
        return x != y ? x < y : a < b;
    });
    std::vector<std::int32_t> number(n, -1);
    for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<std::int32_t>(i);
    auto edge = [&](std::int32_t tail, std::int32_t option, double score) {
        result.tails.push_back(tail);
        result.edge_options.push_back(option);
        result.scores.push_back(score);
    };
    result.first_edges.push_back(0);
    for (std::int32_t id : order) {
        const SearchNode& node = search.nodes[id];
        result.node_options.push_back(node.option);
        for (std::size_t k = 0; k < space.lms(); ++k) result.node_lms.push_back(space.state(node.lm, k));
        if (id == 0) edge(-1, -1, 0.0);
        for (std::int32_t a : incoming(id)) edge(number[search.arcs[a].tail], search.arcs[a].option, search.arcs[a].score);
        result.first_edges.push_back(static_cast<std::int64_t>(result.tails.size()));
    }
    for (const SearchArc& goal : search.goals) edge(number[goal.tail], -1, goal.score);
    result.node_options.push_back(-1);
    result.node_lms.insert(result.node_lms.end(), space.lms(), 0);
    result.first_edges.push_back(static_cast<std::int64_t>(result.tails.size()));
}

template <class T, class Member>
Out<T> joined(std::vector<Result>& results, Member member) {
    std::size_t size = 0;
    for (const Result& result : results) size += (result.*member).size();
    std::vector<T> all;
    all.reserve(size);
    for (Result& result : results) all.insert(all.end(), (result.*member).begin(), (result.*member).end());
    return give(std::move(all));
}

template <class Size>
Out<std::int64_t> offsets(const std::vector<Result>& results, Size size) {
    std::vector<std::int64_t> bounds{0};
    for (const Result& result : results) bounds.push_back(bounds.back() + static_cast<std::int64_t>(size(result)));
    return give(std::move(bounds));
}

ArrayDict search_phrases(const PhraseBatch& batch, const Rows* targets, const SearchLimits& limits,
                         int reordering_limit, int threads, Progress progress) {
    const PhraseModelView model = batch.model(reordering_limit);
    require(targets == nullptr || targets->size() == batch.sentences(), "each sentence needs a target");
    std::vector<Result> results(batch.sentences());
    // The longest sentences come first, so that no thread is left with one of them at the end.
    std::vector<std::size_t> order(results.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t s) { return batch.lengths[s]; });
    run_blocks(results.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        const std::size_t s = order[block];
        const OptionsView options = batch.options(s);
        PhraseSpace space(model, options);
        const auto target = targets ? std::optional((*targets)[s]) : std::nullopt;
        Result& result = results[s];
        if (!space.is_finite()) {
            result.outcome = Outcome::NOT_FINITE;
            return;
        }
        PhraseSearch search(space, limits, stop, target, batch.words->values.data());
        result.outcome = search.run();
        result.expansions = search.expansions;
        if (result.outcome != Outcome::FOUND) return;
        result.score = search.best_score;
        for (std::int32_t node = search.best; node != 0; node = search.nodes[node].back) result.derivation.push_back(search.nodes[node].option);
        std::reverse(result.derivation.begin(), result.derivation.end());
        if (limits.keep_all) export_lattice(search, space, result);
    });

    std::vector<std::uint8_t> outcomes;
    std::vector<double> scores;
    std::vector<std::int64_t> expansions;
    for (const Result& result : results) {
        outcomes.push_back(static_cast<std::uint8_t>(result.outcome));
        scores.push_back(result.score);
        expansions.push_back(result.expansions);
    }
    ArrayDict out;
    out["outcomes"] = give(std::move(outcomes));
    out["scores"] = give(std::move(scores));
    out["expansions"] = give(std::move(expansions));
    out["derivations"] = joined<std::int32_t>(results, &Result::derivation);
    out["derivation_offsets"] = offsets(results, [](const Result& r) { return r.derivation.size(); });
    if (!limits.keep_all) return out;
    out["node_options"] = joined<std::int32_t>(results, &Result::node_options);
    out["node_lms"] = joined<std::int32_t>(results, &Result::node_lms);
    out["node_offsets"] = offsets(results, [](const Result& r) { return r.node_options.size(); });
    out["first_edges"] = joined<std::int64_t>(results, &Result::first_edges);
    out["tails"] = joined<std::int32_t>(results, &Result::tails);
    out["edge_options"] = joined<std::int32_t>(results, &Result::edge_options);
    out["edge_scores"] = joined<double>(results, &Result::scores);
    out["edge_offsets"] = offsets(results, [](const Result& r) { return r.tails.size(); });
    return out;
}

// Natural log-probability of the words of each row after a state; row -1 is the single word </s>.
auto lm_read_rows(const lm::Automaton& automaton, const Rows& words, In1<std::int32_t> starts, In1<std::int32_t> rows) {
    std::vector<double> scores(rows.size());
    {
        nb::gil_scoped_release release;
        const LanguageModelView model = automaton.view();
        const auto row = view(rows);
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::int32_t state = starts[i];
            const auto read = [&](std::int32_t word) {
                const auto found = model.query(state, word);
                scores[i] += double(found.log10) * std::numbers::ln10;
                state = found.state;
            };
            if (row[i] < 0)
                read(lm::eos);
            else
                for (const std::int32_t word : words[static_cast<std::size_t>(row[i])]) read(word);
        }
    }
    return give(std::move(scores));
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_record(m, "SearchLimits", "How hard a search tries; `stack_size` is for stack decoding.",
                Field{"algorithm", &SearchLimits::algorithm}, Field{"stack_size", &SearchLimits::stack_size},
                Field{"threshold", &SearchLimits::threshold}, Field{"pop_limit", &SearchLimits::pop_limit},
                Field{"max_size", &SearchLimits::max_size}, Field{"keep_all", &SearchLimits::keep_all});
    m.def("lm_read_rows", &lm_read_rows, nb::arg("model"), nb::arg("words"), nb::arg("starts"), nb::arg("rows"),
          "Natural log-probability of each row's words after a state; row -1 is the single word </s>.");
    m.def(
        "search_phrases", &search_phrases, nb::arg("batch"), nb::arg("targets").none(), nb::arg("limits"),
        nb::arg("reordering_limit"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
        "Search a batch of sentences: outcomes, scores, expansions, best derivations, and lattices if all is kept.\n\n"
        "`targets` are the only translations allowed.");
}

}  // namespace dragoman::search::phrase
