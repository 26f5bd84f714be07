// A batch of sentences as Python hands it to the kernels of charts: rules, where they match, and language models.
#pragma once

#include "lm/automaton.hpp"
#include "search/chart/left_contexts.hpp"

#include <span>
#include <vector>

namespace dragoman::search::chart {

// A source side on a span, and the spans of its holes (-1: no hole).
struct MatchRow {
    std::int32_t side, begin, end;
    std::int32_t holes[2][2];
};
static_assert(sizeof(MatchRow) == 7 * sizeof(std::int32_t));

// The rules of all sentences are numbered together, and so are matches.
struct ChartBatch {
    Held1<std::int32_t> lengths;  // of the sentences
    Held1<std::int64_t> match_offsets;
    Held2<std::int32_t> all_matches;    // rows of MatchRow
    Held2<double> match_scores;  // weighted, a column for each class of rules; no rows if no feature looks at spans
    Held1<std::int64_t> first_rule;     // of each source side
    Held1<double> local_scores;         // weighted, of each rule
    Ref<Rows> target_sides;             // words, or -1 - k for what fills hole k
    Held2<std::int32_t> lm_words;       // the same as ids of each language model, one row a model
    std::vector<Ref<lm::Automaton>> language_models;
    Held1<double> lm_weights;
    std::vector<Held1<std::uint8_t>> extended;  // of each model's states: whether a longer one ends with its words
    Held1<std::uint8_t> closed;                 // whether all endings of a model's states are states
    double glue_weight;
    // Weighted, of features of parts that glue joins: a row for each last word, words of all sentences in a row, and a
    // column for each number of words; no rows if no feature looks at glue.
    Held2<double> part_scores;
    bool glue;                          // whether parts may be joined from left to right
    Held1<std::uint8_t> rule_classes;  // all below the number of columns of `match_scores`
    std::int32_t rule_limit;           // of a source side so many rules are tried, the best by their estimates; 0: all

    std::vector<ChartLanguageModel> models;
    std::vector<std::size_t> first_words;  // of the sentences

    // Refuses what does not fit, and makes `models` and `first_words`.
    void check();

    std::size_t sentences() const { return lengths.size(); }
    std::int32_t length(std::size_t sentence) const { return lengths[sentence]; }
    std::int64_t first_match(std::size_t sentence) const { return match_offsets[sentence]; }
    std::span<const MatchRow> matches(std::size_t sentence) const {
        return {match_rows() + first_match(sentence), match_rows() + first_match(sentence + 1)};
    }
    const MatchRow& match(std::int64_t number) const { return match_rows()[number]; }
    // Rules are of one class if what they score where they stand depends on nothing else.
    std::size_t classes() const { return match_scores.shape(1); }
    std::size_t class_of(std::int32_t rule) const { return classes() > 1 ? rule_classes[rule] : 0; }
    // What the rules of a class score beside their own score because of where they stand.
    double match_score_of(std::int64_t match, std::size_t rule_class) const {
        return match_scores.size() ? match_scores[static_cast<std::size_t>(match) * classes() + rule_class] : 0.0;
    }
    double match_score(std::int64_t match, std::int32_t rule) const { return match_score_of(match, class_of(rule)); }

    // What glue scores for a part, beside its weight.
    double part_score(std::size_t sentence, std::int32_t begin, std::int32_t end) const {
        if (part_scores.size() == 0) return 0.0;
        const std::size_t last = first_words[sentence] + static_cast<std::size_t>(end) - 1;
        return part_scores[last * part_scores.shape(1) + static_cast<std::size_t>(end - begin) - 1];
    }

    std::size_t rules() const { return local_scores.size(); }
    std::size_t sides() const { return first_rule.size() - 1; }
    double local(std::int32_t rule) const { return local_scores[rule]; }
    // The place of a rule's first symbol among those of all.
    std::int64_t first_word(std::int32_t rule) const { return target_sides->offsets[rule]; }
    // The symbols of the target side, and those of a language model.
    Words words(std::int32_t rule) const { return (*target_sides)[rule]; }
    Words words(std::int32_t rule, std::size_t model) const {
        const std::int32_t* const row = lm_words.data() + model * lm_words.shape(1);
        return {row + first_word(rule), row + first_word(rule + 1)};
    }

private:
    const MatchRow* match_rows() const { return reinterpret_cast<const MatchRow*>(all_matches.data()); }
};

// What the language models think of rules alone (restarted behind every hole), and the rules of each side by that.
class RuleOrder {
public:
    RuleOrder(const ChartBatch& batch, int threads);

    std::vector<double> estimates;     // of each rule: local score and language models
    std::vector<std::int32_t> rules;  // of each side, best first

    std::span<const std::int32_t> of_side(std::int32_t side) const {
        const std::int64_t count = first_[side + 1] - first_[side];
        return {rules.data() + first_[side], static_cast<std::size_t>(limit_ > 0 ? std::min(limit_, count) : count)};
    }

private:
    std::int64_t limit_;
    std::span<const std::int64_t> first_;
};

}  // namespace dragoman::search::chart
