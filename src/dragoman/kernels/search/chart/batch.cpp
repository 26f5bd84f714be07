#include "search/chart/batch.hpp"

#include "base/parallel.hpp"

#include <algorithm>
#include <numbers>
#include <numeric>

namespace dragoman::search::chart {

void ChartBatch::check() {
    const std::size_t count = language_models.size();
    require(match_offsets.size() == sentences() + 1 && bounds_rows(view(match_offsets), all_matches.shape(0)) &&
                all_matches.shape(1) == 7,
            "match_offsets do not fit the sentences, or matches have not seven columns");
    require(match_scores.shape(0) == 0 || match_scores.shape(0) == all_matches.shape(0),
            "matches need a score each, or none");
    require(first_rule.size() > 0 && static_cast<std::size_t>(first_rule[sides()]) == rules(),
            "rules need a source side each");
    require(target_sides->size() == rules(), "rules need a target side each");
    require(classes() <= 1 || rule_classes.size() == rules(), "rules need a class each");
    require(lm_words.shape(0) == count && lm_weights.size() == count && extended.size() == count &&
                closed.size() == count && (count == 0 || lm_words.shape(1) == target_sides->values.size()),
            "language models need a weight each, what is known of their states, and all words");
    std::size_t words = 0, longest = 0;
    for (std::size_t s = 0; s < sentences(); ++s) {
        first_words.push_back(words);
        words += static_cast<std::size_t>(length(s));
        for (const MatchRow& match : matches(s)) longest = std::max(longest, static_cast<std::size_t>(match.end - match.begin));
    }
    require(part_scores.shape(0) == 0 || (part_scores.shape(0) == words && part_scores.shape(1) >= longest),
            "parts need a score for each last word and number of words, or none");
    for (std::size_t k = 0; k < count; ++k) {
        const lm::Automaton& automaton = *language_models[k];
        require(extended[k].size() == automaton.states.shape(0), "each state of a language model is extended or not");
        models.push_back({automaton.view(), automaton.order(), automaton.view().start(), lm_weights[k],
                          extended[k].data(), automaton.bounds.data(), closed[k] != 0});
    }
}

RuleOrder::RuleOrder(const ChartBatch& batch, int threads)
    : estimates(batch.rules()), rules(batch.rules()), limit_(batch.rule_limit), first_(view(batch.first_rule)) {
    constexpr std::size_t block = 64;  // sides
    std::iota(rules.begin(), rules.end(), 0);
    run_blocks((batch.sides() + block - 1) / block, threads, nb::none(), [&](std::size_t b) {
        const std::size_t last_side = std::min(batch.sides(), (b + 1) * block);
        for (auto rule = static_cast<std::int32_t>(first_[b * block]); rule < first_[last_side]; ++rule) {
            double total = batch.local(rule);
            for (std::size_t k = 0; k < batch.models.size(); ++k) {
                const ChartLanguageModel& model = batch.models[k];
                double log10 = 0;
                std::int32_t state = 0;
                for (const std::int32_t word : batch.words(rule, k)) {
                    if (word < 0) {
                        state = 0;
                        continue;
                    }
                    const auto found = model.view.query(state, word);
                    log10 += double(found.log10);
                    state = found.state;
                }
                total += model.weight * std::numbers::ln10 * log10;
            }
            estimates[rule] = total;
        }
        for (std::size_t side = b * block; side < last_side; ++side)
            std::stable_sort(rules.begin() + first_[side], rules.begin() + first_[side + 1],
                             [&](std::int32_t x, std::int32_t y) { return estimates[x] > estimates[y]; });
    });
}

void bind_batch(nb::module_& m) {
    using Batch = ChartBatch;
    bind_record(
        m, "ChartBatch",
        "Sentences with rules that are scored with weights, and where these match.\n\n"
        "The rules of a source side, and the matches of a sentence, stand together. `match_scores` have a column for\n"
        "each class of rules, or no rows; `part_scores` of what glue joins have a row for each last word and a column\n"
        "for each number of words, or no rows. `lm_words` has a row for each language model; of their states, `extended`\n"
        "says whether a longer one ends with its words, `closed` whether all endings are states. A search tries the best\n"
        "`rule_limit` rules of each side, or all if it is 0.",
        Field{"lengths", &Batch::lengths}, Field{"match_offsets", &Batch::match_offsets},
        Field{"matches", &Batch::all_matches}, Field{"match_scores", &Batch::match_scores},
        Field{"first_rule", &Batch::first_rule}, Field{"local", &Batch::local_scores},
        Field{"words", &Batch::target_sides}, Field{"lm_words", &Batch::lm_words},
        Field{"language_models", &Batch::language_models}, Field{"lm_weights", &Batch::lm_weights},
        Field{"extended", &Batch::extended}, Field{"closed", &Batch::closed}, Field{"glue_weight", &Batch::glue_weight},
        Field{"part_scores", &Batch::part_scores}, Field{"glue", &Batch::glue},
        Field{"rule_classes", &Batch::rule_classes}, Field{"rule_limit", &Batch::rule_limit});
}

}  // namespace dragoman::search::chart
