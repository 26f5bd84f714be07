// Derivations of charts looked at: their edges with what each scores, the words that they write; and glosses.
#include "base/parallel.hpp"
#include "sampling/chart/forest_proposal.hpp"
#include "search/chart/search.hpp"

#include <numbers>

namespace dragoman::sampling::chart {
namespace {

using search::chart::Kind;
using search::chart::LeftContexts;
using search::chart::Reading;
using search::chart::Workspace;

// Derivations as the graphs of a search: nodes in topological order, each with one edge, the goal last.
class Spelling {
public:
    Spelling(const ChartBatch& batch, Workspace& space) : batch_(batch), space_(space), lms_(batch.models.size()) {}

    std::vector<std::int64_t> node_offsets{0}, first_edges, word_offsets{0}, part_offsets{0};
    std::vector<std::int32_t> spans, tails, rules, matches, words, parts;
    std::vector<double> scores, lm_scores;

    void add(const SentenceChart& chart, Words row) {
        first_ = spans.size() / 2;
        states_.clear();
        const auto size = static_cast<std::int32_t>(row.size());
        std::vector<std::int32_t> sizes(row.size()), numbers(row.size());
        // From the last to the first, children come before their parents.
        for (std::int32_t i = size; i-- > 0;) {
            const Edge edge = chart.edge(row[static_cast<std::size_t>(i)]);
            const MatchRow& match = chart.match(edge.match);
            std::int32_t children[2] = {-1, -1}, below = 1;
            for (int k = 0; k < SentenceChart::arity(match); ++k) {
                children[k] = numbers[static_cast<std::size_t>(i + below)];
                below += sizes[static_cast<std::size_t>(i + below)];
            }
            sizes[static_cast<std::size_t>(i)] = below;
            const std::int32_t* const filled[2] = {state(children[0]), state(children[1])};
            numbers[static_cast<std::size_t>(i)] =
                put(match.begin, match.end, edge.rule, edge.match, children, batch_.local(edge.rule) + batch_.match_score(chart.first_match() + edge.match, edge.rule),
                    [&](std::size_t k) { return space_.read(k, edge.rule, filled); });
        }
        std::int32_t glued = -1;
        if (size == 0) {
            const std::int32_t none[2] = {-1, -1};
            glued = put(0, 0, Kind::NOTHING, -1, none, 0.0, [&](std::size_t k) { return LeftContexts::after(batch_.models[k].start); });
        }
        const std::size_t first_word = words.size();
        for (std::int32_t i = 0; i < size; i += sizes[static_cast<std::size_t>(i)]) {
            const std::int32_t part = numbers[static_cast<std::size_t>(i)];
            const MatchRow& match = chart.match(chart.edge(row[static_cast<std::size_t>(i)]).match);
            const auto before = static_cast<std::int32_t>(words.size() - first_word);
            write(chart, row, sizes, static_cast<std::size_t>(i));
            parts.insert(parts.end(), {match.begin, match.end, before, static_cast<std::int32_t>(words.size() - first_word)});
            const std::int32_t joined[2] = {glued < 0 ? part : glued, glued < 0 ? -1 : part};
            glued = put(0, match.end, glued < 0 ? Kind::FIRST : Kind::GLUE, -1, joined, batch_.glue_weight + batch_.part_score(chart.sentence(), match.begin, match.end), [&](std::size_t k) {
                Reading reading = LeftContexts::after(joined[1] < 0 ? batch_.models[k].start : state(joined[0])[2 * k + 1]);
                space_.contexts[k].read_part(reading, state(part)[2 * k], state(part)[2 * k + 1]);
                return reading;
            });
        }
        constexpr std::int32_t end_of_sentence = 2;
        const std::int32_t last[2] = {glued, -1};
        put(0, chart.length(), Kind::GOAL, -1, last, 0.0, [&](std::size_t k) {
            return Reading{double(batch_.models[k].view.query(state(glued)[2 * k + 1], end_of_sentence).log10), 0, 0, false};
        });
        first_edges.push_back(static_cast<std::int64_t>(spans.size() / 2 - first_));
        node_offsets.push_back(static_cast<std::int64_t>(spans.size() / 2));
        word_offsets.push_back(static_cast<std::int64_t>(words.size()));
        part_offsets.push_back(static_cast<std::int64_t>(parts.size() / 4));
    }

private:
    const std::int32_t* state(std::int32_t node) const { return node < 0 ? nullptr : states_.data() + static_cast<std::size_t>(node) * 2 * lms_; }

    // Adds a node with its edge, read by each language model; returns its number.
    template <class Read>
    std::int32_t put(std::int32_t begin, std::int32_t end, std::int32_t rule, std::int32_t match, const std::int32_t (&children)[2], double score, Read&& read) {
        const auto number = static_cast<std::int32_t>(spans.size() / 2 - first_);
        first_edges.push_back(number);
        spans.insert(spans.end(), {begin, end});
        tails.insert(tails.end(), {children[0], children[1]});
        rules.push_back(rule);
        matches.push_back(match);
        new_states_.clear();
        for (std::size_t k = 0; k < lms_; ++k) {
            const Reading reading = read(k);
            new_states_.insert(new_states_.end(), {reading.left, reading.state});
            lm_scores.push_back(std::numbers::ln10 * reading.log10);
            score += batch_.models[k].weight * std::numbers::ln10 * reading.log10;
        }
        states_.insert(states_.end(), new_states_.begin(), new_states_.end());
        scores.push_back(score);
        return number;
    }

    void write(const SentenceChart& chart, Words row, const std::vector<std::int32_t>& sizes, std::size_t node) {
        for (const std::int32_t word : batch_.words(chart.edge(row[node]).rule)) {
            if (word >= 0)
                words.push_back(word);
            else
                write(chart, row, sizes, word == -1 ? node + 1 : node + 1 + static_cast<std::size_t>(sizes[node + 1]));
        }
    }

    const ChartBatch& batch_;
    Workspace& space_;
    std::size_t lms_;
    std::size_t first_ = 0;  // node of the derivation
    std::vector<std::int32_t> states_, new_states_;
};

ArrayDict chart_derivations(const ChartBatch& batch, In1<std::int64_t> sentences, const Rows& derivations) {
    Workspace space(batch);
    Spelling spelling(batch, space);
    std::int64_t present = -1;
    std::unique_ptr<SentenceChart> chart;
    for (std::size_t row = 0; row < sentences.size(); ++row) {
        if (const std::int64_t sentence = sentences[row]; sentence != present) {
            present = sentence;
            chart = std::make_unique<SentenceChart>(batch, static_cast<std::size_t>(sentence));
        }
        spelling.add(*chart, derivations[row]);
    }
    ArrayDict out;
    auto edge_offsets = spelling.node_offsets;
    out["node_offsets"] = give(std::move(spelling.node_offsets));
    out["edge_offsets"] = give(std::move(edge_offsets));
    out["spans"] = give(std::move(spelling.spans), 2);
    out["first_edges"] = give(std::move(spelling.first_edges));
    out["tails"] = give(std::move(spelling.tails), 2);
    out["rules"] = give(std::move(spelling.rules));
    out["matches"] = give(std::move(spelling.matches));
    out["scores"] = give(std::move(spelling.scores));
    out["lm_scores"] = give(std::move(spelling.lm_scores), std::max<std::size_t>(batch.models.size(), 1));
    out["words"] = give(std::move(spelling.words));
    out["word_offsets"] = give(std::move(spelling.word_offsets));
    out["parts"] = give(std::move(spelling.parts), 4);
    out["part_offsets"] = give(std::move(spelling.part_offsets));
    return out;
}

auto chart_glosses(const ChartBatch& batch, int threads, Progress progress) {
    const RuleOrder order(batch, threads);
    std::vector<std::vector<std::int32_t>> rows(batch.sentences());
    run_blocks(rows.size(), threads, progress, [&](std::size_t s) {
        const SentenceChart chart(batch, s);
        for (const Edge& edge : best_of_forest(batch, order, chart)) rows[s].push_back(chart.number(edge));
    });
    std::vector<std::int32_t> all;
    std::vector<std::int64_t> offsets{0};
    for (const auto& row : rows) {
        all.insert(all.end(), row.begin(), row.end());
        offsets.push_back(static_cast<std::int64_t>(all.size()));
    }
    return together(give(std::move(all)), give(std::move(offsets)));
}

}  // namespace

void bind_derivations(nb::module_& m) {
    m.def("chart_derivations", &chart_derivations, nb::arg("batch"), nb::arg("sentences"), nb::arg("derivations"),
          "Spell derivations, as `chart_sample` has them, of these sentences: each a graph as `search_charts` gives them, its\n"
          "words, and the parts that glue joined (source begin and end, target begin and end).");
    m.def("chart_glosses", &chart_glosses, nb::arg("batch"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "The derivation of each sentence that is best without a look at context; an empty row where there is none.");
}

}  // namespace dragoman::sampling::chart
