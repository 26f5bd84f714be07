// Lines of Moses' rule tables: `source [X] ||| target [X] ||| scores ||| links ||| counts ||| …`, nonterminals `[X][X]`.
#include "text/table_parser.hpp"

namespace dragoman::text {
namespace {

// Where the nonterminals of a side stand, from the left.
struct Nonterminals {
    std::array<std::size_t, most_nonterminals> at{};
    std::size_t count = 0;

    // The number of the one at a position, from 0, or `most_nonterminals` if a word is there.
    std::size_t find(std::size_t position) const {
        for (std::size_t k = 0; k < count; ++k)
            if (at[k] == position) return k;
        return most_nonterminals;
    }
};

class RuleParser : public TableParser<RuleParser> {
public:
    using TableParser::TableParser;

    bool row(Bytes line) {
        std::array<Bytes, 5> fields{};
        const auto [found, more] = cut(line, fields);
        if (found < 3) return fail(TableFault::fields_missing, line);
        Nonterminals sources, targets;
        if (!side(source_, fields[0], sources) || !side(target_, fields[1], targets)) return false;
        const std::size_t source_length = source_.finish(), target_length = target_.finish();
        if (!lengths(source_length, target_length, line, fields[0], fields[1])) return false;
        if (sources.count != targets.count) return fail(TableFault::unbalanced, line);
        if (source_length == 1 && sources.count == 1) return fail(TableFault::source_alone, line);
        further_ += more;
        return scores(fields[2]) && pairing(fields[3], sources, targets, source_length, target_length) && counts(fields[4]);
    }

private:
    // The last symbol of a side is what the rule rewrites. On the target side the numbers are put in by `pairing`.
    bool side(Side& into, Bytes field, Nonterminals& nonterminals) {
        Bytes symbol{};
        const std::size_t before = into.ids.size();
        split_words(field, [&](Bytes next) {
            const Bytes done = std::exchange(symbol, next);
            if (fault_.kind || done.empty()) return;
            if (!in_brackets(done)) {
                into.ids.push_back(into.words.intern(done));
            } else if (!is(done, "[X][X]")) {
                fail(TableFault::unknown_nonterminal, done);
            } else if (nonterminals.count == most_nonterminals) {
                fail(TableFault::surplus_nonterminals, field);
            } else {
                nonterminals.at[nonterminals.count++] = into.ids.size() - before;
                into.ids.push_back(-static_cast<std::int32_t>(nonterminals.count));
            }
        });
        return !fault_.kind && (is(symbol, "[X]") || fail(TableFault::left_side, field));
    }

    // Links of nonterminals say which belong together; those of words are kept, sorted and each once.
    bool pairing(Bytes field, const Nonterminals& sources, const Nonterminals& targets, std::size_t source_length,
                 std::size_t target_length) {
        std::array<std::size_t, most_nonterminals> partner;  // of each target nonterminal
        partner.fill(most_nonterminals);
        const auto first = static_cast<std::ptrdiff_t>(points_.size());
        links(field, source_length, target_length, [&](Bytes token, std::uint32_t s, std::uint32_t t) {
            const std::size_t source = sources.find(s), target = targets.find(t);
            if (source == most_nonterminals && target == most_nonterminals) {
                points_.push_back(static_cast<std::uint16_t>(256 * s + t));
            } else if (source == most_nonterminals || target == most_nonterminals) {
                fail(TableFault::mixed_point, token);
            } else if (partner[target] != most_nonterminals || std::ranges::find(partner, source) != partner.end()) {
                fail(TableFault::not_one_to_one, token);
            } else {
                partner[target] = source;
            }
        });
        if (fault_.kind) return false;
        end_points(first);
        std::int32_t* const ids = target_.ids.data() + target_.ids.size() - target_length;
        for (std::size_t k = 0; k < targets.count; ++k) {
            if (partner[k] == most_nonterminals) return fail(TableFault::nonterminal_unlinked, field);
            ids[targets.at[k]] = -1 - static_cast<std::int32_t>(partner[k]);
        }
        return true;
    }
};

auto parse_rules(In1<std::uint8_t> text, const Texts& source_words, const Texts& target_words, std::size_t columns) {
    RuleParser parser(view(text), WordIndex(source_words), WordIndex(target_words), columns);
    {
        nb::gil_scoped_release release;
        parser.run();
    }
    return parser.take();
}

// The links of words and those of nonterminals, in order, for each rule.
auto rule_links(In1<std::int32_t> source_ids, const Rows& sources, In1<std::int32_t> target_ids, const Rows& targets,
                const Points* points) {
    std::vector<std::uint16_t> all;
    std::vector<std::int64_t> offsets{0};
    {
        nb::gil_scoped_release release;
        for (std::size_t rule = 0; rule < source_ids.size(); ++rule) {
            const auto first = static_cast<std::ptrdiff_t>(all.size());
            if (points) all.insert(all.end(), (*points)[rule].begin(), (*points)[rule].end());
            const Words source = sources[static_cast<std::size_t>(source_ids[rule])],
                        target = targets[static_cast<std::size_t>(target_ids[rule])];
            for (std::size_t s = 0; s < source.size(); ++s) {
                if (source[s] >= 0) continue;
                const auto t = std::ranges::find(target, source[s]) - target.begin();
                all.push_back(static_cast<std::uint16_t>(256 * s + static_cast<std::size_t>(t)));
            }
            std::sort(all.begin() + first, all.end());
            offsets.push_back(static_cast<std::int64_t>(all.size()));
        }
    }
    return together(give(std::move(all)), give(std::move(offsets)));
}

}  // namespace

void bind_rules(nb::module_& m) {
    m.def("parse_rules", &parse_rules, nb::arg("text"), nb::arg("source_words"), nb::arg("target_words"),
          nb::arg("columns"),
          "Lines `source [X] ||| target [X] ||| scores ||| links ||| counts`, as `parse_table` gives them.\n\n"
          "A nonterminal is -1 or -2, by its place from the left on the source side; the points are those of words.");
    m.def("rule_links", &rule_links, nb::arg("source_ids"), nb::arg("sources"), nb::arg("target_ids"),
          nb::arg("targets"), nb::arg("points").none(),
          "The points of each rule with those of its nonterminals, sorted, and their offsets.");
}

}  // namespace dragoman::text
