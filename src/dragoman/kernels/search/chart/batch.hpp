// A batch of sentences as Python hands it to the kernels of charts: rules, where they match, and language models.
#pragma once

#include "base/arrays.hpp"
#include "search/chart/left_contexts.hpp"

#include <span>
#include <tuple>
#include <vector>

namespace dragoman::search::chart {

// The Python tuple `ChartArrays`.
using ChartArrays =
    Tuple<In1<std::int32_t>, In1<std::int64_t>, In2<std::int32_t>, In2<double>, In1<std::int64_t>, In1<double>, In1<std::int64_t>,
          In1<std::int32_t>, In2<std::int32_t>, nb::typed<nb::list, AnyTuple>, double, bool, In1<std::uint8_t>>;

// A source side on a span, and the spans of its holes (-1: no hole).
struct MatchRow {
    std::int32_t side, begin, end;
    std::int32_t holes[2][2];
};
static_assert(sizeof(MatchRow) == 7 * sizeof(std::int32_t));

// Fields in the order of the tuple. The rules of all sentences are numbered together, and so are matches.
class ChartBatch {
public:
    explicit ChartBatch(const nb::tuple& arrays);

    std::vector<ChartLanguageModel> models;
    double glue_weight;
    bool glue;  // whether parts may be joined from left to right

    std::size_t sentences() const { return lengths_.shape(0); }
    std::int32_t length(std::size_t sentence) const { return lengths_.data()[sentence]; }
    std::int64_t first_match(std::size_t sentence) const { return match_offsets_.data()[sentence]; }
    std::span<const MatchRow> matches(std::size_t sentence) const {
        const auto* rows = reinterpret_cast<const MatchRow*>(matches_.data());
        return {rows + first_match(sentence), rows + first_match(sentence + 1)};
    }
    const MatchRow& match(std::int64_t number) const { return reinterpret_cast<const MatchRow*>(matches_.data())[number]; }
    // Rules are of one class if what they score where they stand depends on nothing else.
    std::size_t classes() const { return match_scores_.shape(1); }
    std::size_t class_of(std::int32_t rule) const { return classes() > 1 ? rule_classes_.data()[rule] : 0; }
    // What the rules of a class score beside their own score because of where they stand.
    double match_score_of(std::int64_t match, std::size_t rule_class) const {
        return match_scores_.size() ? match_scores_.data()[static_cast<std::size_t>(match) * classes() + rule_class] : 0.0;
    }
    double match_score(std::int64_t match, std::int32_t rule) const { return match_score_of(match, class_of(rule)); }

    std::size_t rules() const { return local_.shape(0); }
    std::size_t sides() const { return first_rule_.shape(0) - 1; }
    double local(std::int32_t rule) const { return local_.data()[rule]; }
    std::span<const std::int64_t> first_rule() const { return view(first_rule_); }
    // The place of a rule's first symbol among those of all.
    std::int64_t first_word(std::int32_t rule) const { return word_offsets_.data()[rule]; }
    // The symbols of the target side: words, or -1 - k for what fills hole k.
    std::span<const std::int32_t> words(std::int32_t rule) const { return symbols(words_.data(), rule); }
    std::span<const std::int32_t> words(std::int32_t rule, std::size_t model) const {
        return symbols(lm_words_.data() + model * lm_words_.shape(1), rule);
    }

private:
    // Slots, states, unigrams, order, state after <s>, weight; which states are extended, bounds, closed.
    using Automaton = std::tuple<In2<std::uint64_t>, In2<std::uint64_t>, In1<std::uint64_t>, int, int, double, In1<std::uint8_t>,
                                 In1<std::int64_t>, bool>;

    std::span<const std::int32_t> symbols(const std::int32_t* row, std::int32_t rule) const {
        return {row + word_offsets_.data()[rule], row + word_offsets_.data()[rule + 1]};
    }

    In1<std::int32_t> lengths_;
    In1<std::int64_t> match_offsets_;
    In2<std::int32_t> matches_;
    In2<double> match_scores_;
    In1<std::int64_t> first_rule_;
    In1<double> local_;
    In1<std::int64_t> word_offsets_;
    In1<std::int32_t> words_;
    In2<std::int32_t> lm_words_;
    std::vector<Automaton> automata_;
    In1<std::uint8_t> rule_classes_;
};

// What the language models think of rules alone (restarted behind every hole), and the rules of each side by that.
class RuleOrder {
public:
    RuleOrder(const ChartBatch& batch, int threads);

    std::vector<double> estimates;     // of each rule: local score and language models
    std::vector<std::int32_t> rules;  // of each side, best first

    std::span<const std::int32_t> of_side(std::int32_t side) const { return {rules.data() + first_[side], rules.data() + first_[side + 1]}; }

private:
    std::span<const std::int64_t> first_;
};

}  // namespace dragoman::search::chart
