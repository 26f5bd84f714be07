// Lines of grammars of cdec and Joshua: `[X] ||| source ||| target ||| features ||| links`, nonterminals `[X,1]`.
#include "text/table_parser.hpp"

namespace dragoman::text {
namespace {

// What a feature can be: the least is what a model takes for the logarithm of 0, the greatest one that `exp` can hold.
constexpr float least_value = -100, greatest_value = 700;

class GrammarParser : public TableParser<GrammarParser> {
public:
    // `unnamed` is one more than the number of features without a name on each line, or 0 if that is not known.
    GrammarParser(Bytes text, WordIndex source_words, WordIndex target_words, WordIndex names, std::size_t unnamed,
                  bool costs)
        : TableParser(text, std::move(source_words), std::move(target_words), unnamed), names_(std::move(names)), costs_(costs) {}

    bool row(Bytes line) {
        std::array<Bytes, 5> fields{};
        const auto [found, more] = cut(line, fields);
        if (found < 4) return fail(TableFault::grammar_fields_missing, line);
        if (!is(trimmed(fields[0]), "[X]")) return fail(TableFault::other_left_side, fields[0]);
        std::uint32_t count = 0, paired = 0;
        if (!source(fields[1], count) || !target(fields[2], count, paired)) return false;
        const std::size_t source_length = source_.finish(), target_length = target_.finish();
        if (!lengths(source_length, target_length, line, fields[1], fields[2])) return false;
        if (paired != count) return fail(TableFault::unbalanced, line);
        if (source_length == 1 && count == 1) return fail(TableFault::source_alone, line);
        further_ += more;
        return features(fields[3]) && words_linked(fields[4], source_length, target_length);
    }

    auto take() {
        return together(together(give(std::move(source_.ids)), give(std::move(source_.offsets))),
                        together(give(std::move(target_.ids)), give(std::move(target_.offsets))),
                        together(give(std::move(features_)), give(std::move(scores_)), give(std::move(feature_offsets_))),
                        together(give(std::move(points_)), give(std::move(point_offsets_))), source_.words.take(),
                        target_.words.take(), names_.take(), columns_, further_, fault_.take());
    }

private:
    // The index in `[X,1]`, or in `[1]` if that is allowed; 0 if there is none.
    static std::uint32_t index_in(Bytes token, bool alone_too) {
        Bytes rest = token.subspan(1, token.size() - 2);
        if (rest.size() > 2 && rest[0] == 'X' && rest[1] == ',') rest = rest.subspan(2);
        else if (!alone_too) return 0;
        std::uint32_t index = 0;
        return parse_position(rest, index) && rest.empty() ? index : 0;
    }

    bool source(Bytes field, std::uint32_t& count) {
        split_words(field, [&](Bytes token) {
            if (fault_.kind) return;
            if (!in_brackets(token)) {
                source_.ids.push_back(source_.words.intern(token));
                return;
            }
            const std::uint32_t index = is(token, "[X]") ? count + 1 : index_in(token, false);
            if (index == 0) fail(TableFault::unknown_numbered, token);
            else if (count == most_nonterminals) fail(TableFault::surplus_nonterminals, field);
            else if (index != count + 1) fail(TableFault::index_out_of_order, token);
            else source_.ids.push_back(-static_cast<std::int32_t>(++count));
        });
        return !fault_.kind;
    }

    bool target(Bytes field, std::uint32_t count, std::uint32_t& paired) {
        std::array<bool, most_nonterminals> seen{};
        split_words(field, [&](Bytes token) {
            if (fault_.kind) return;
            if (!in_brackets(token)) {
                target_.ids.push_back(target_.words.intern(token));
                return;
            }
            const std::uint32_t index = index_in(token, true);
            if (index == 0) fail(TableFault::unknown_numbered, token);
            else if (index > count || std::exchange(seen[index - 1], true)) fail(TableFault::index_unmatched, token);
            else {
                ++paired;
                target_.ids.push_back(-static_cast<std::int32_t>(index));
            }
        });
        return !fault_.kind;
    }

    // NAME=VALUE or VALUE, with white space or `;` between them. The first without a name is -1, the second -2.
    bool features(Bytes field) {
        std::size_t unnamed = 0;
        split_words(field, [&](Bytes word) {
            while (!word.empty() && !fault_.kind) {
                const auto end = static_cast<std::size_t>(std::ranges::find(word, ';') - word.begin());
                if (end > 0) feature(word.first(end), unnamed);
                word = word.subspan(std::min(end + 1, word.size()));
            }
        });
        if (fault_.kind) return false;
        if (columns_ == 0) columns_ = unnamed + 1;
        feature_offsets_.push_back(static_cast<std::int64_t>(features_.size()));
        return unnamed + 1 == columns_ || fail(TableFault::score_count, field);
    }

    bool feature(Bytes token, std::size_t& unnamed) {
        const auto equals = static_cast<std::size_t>(std::ranges::find(token, '=') - token.begin());
        const bool named = equals < token.size();
        float value = 0;
        if (equals == 0 || !parse_float(named ? token.subspan(equals + 1) : token, value))
            return fail(TableFault::not_a_feature, token);
        const bool cost = costs_ && !named;
        if (cost) value = -value;
        if (!(value >= least_value && value <= greatest_value))
            return fail(cost ? TableFault::cost_out_of_range : TableFault::feature_out_of_range, token);
        if (named) {
            const std::int32_t id = names_.intern(token.first(equals));
            last_line_.resize(names_.size(), -1);
            if (std::exchange(last_line_[static_cast<std::size_t>(id)], fault_.line) == fault_.line)
                return fail(TableFault::feature_repeated, token);
            features_.push_back(id);
        } else {
            features_.push_back(-static_cast<std::int32_t>(++unnamed));
        }
        scores_.push_back(value);
        return true;
    }

    // Keeps the links of words. Those of nonterminals say nothing that the indices do not say.
    bool words_linked(Bytes field, std::size_t source_length, std::size_t target_length) {
        const auto first = static_cast<std::ptrdiff_t>(points_.size());
        const std::int32_t* const sources = source_.ids.data() + source_.ids.size() - source_length;
        const std::int32_t* const targets = target_.ids.data() + target_.ids.size() - target_length;
        links(field, source_length, target_length, [&](Bytes token, std::uint32_t s, std::uint32_t t) {
            if (sources[s] >= 0 && targets[t] >= 0) points_.push_back(static_cast<std::uint16_t>(256 * s + t));
            else if (sources[s] != targets[t]) fail(TableFault::misfit_point, token);
        });
        end_points(first);
        return !fault_.kind;
    }

    WordIndex names_;
    bool costs_;
    std::vector<std::int32_t> features_;
    std::vector<std::int64_t> feature_offsets_{0}, last_line_;
};

auto parse_grammar(In1<std::uint8_t> text, const Texts& source_words, const Texts& target_words, const Texts& names,
                   std::size_t unnamed, bool costs) {
    GrammarParser parser(view(text), WordIndex(source_words), WordIndex(target_words), WordIndex(names), unnamed,
                         costs);
    {
        nb::gil_scoped_release release;
        parser.run();
    }
    return parser.take();
}

auto format_grammar(In1<std::int64_t> rows, const PairTexts& rules, In2<float> values, const Texts& labels,
                    const Points* points) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        for (const std::int64_t row : view(rows)) {
            out.text("[X] ||| ");
            out.text(rules.source(row));
            out.text(" ||| ");
            out.text(rules.target(row));
            out.text(" |||");
            for (std::size_t column = 0; column < values.shape(1); ++column) {
                out.character(' ');
                out.text(labels[column]);
                out.number(values.data()[std::size_t(row) * values.shape(1) + column]);
            }
            if (points) {
                out.text(" |||");
                out.points((*points)[static_cast<std::size_t>(row)]);
            }
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_grammar(nb::module_& m) {
    m.def("parse_grammar", &parse_grammar, nb::arg("text"), nb::arg("source_words"), nb::arg("target_words"),
          nb::arg("names"), nb::arg("unnamed"), nb::arg("costs"),
          "Lines `[X] ||| source ||| target ||| features ||| links`, nonterminals as in `parse_rules`.\n\n"
          "`unnamed` is one more than the number of features without a name on each line, 0 if it is not known. Gives\n"
          "the sides with their offsets; the features (a number in the list of names, or -1, -2, ... for those without\n"
          "one), their values and offsets; the points of words; the three grown word lists; `unnamed`; the number of\n"
          "lines with something in further fields; and the fault. With `costs` values without a name are negated.");
    m.def("format_grammar", &format_grammar, nb::arg("rows"), nb::arg("rules"), nb::arg("values"), nb::arg("labels"),
          nb::arg("points").none(),
          "The given rows as lines of a grammar, each value behind its label.");
}

}  // namespace dragoman::text
