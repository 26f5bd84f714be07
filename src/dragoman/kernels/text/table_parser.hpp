// What parsers of tables share: fields between `|||`, the two sides with their growing word lists, numbers and links.
#pragma once

#include "text/line_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dragoman::text {

// In step with FAULTS in formats/faults.py.
struct TableFault {
    enum {
        fields_missing = 1,
        fields_surplus,
        source_empty,
        target_empty,
        phrase_too_long,
        not_a_number,
        number_out_of_range,
        scores_missing,
        score_count,
        not_a_point,
        point_outside,
        // Rules only.
        left_side,
        unknown_nonterminal,
        surplus_nonterminals,
        unbalanced,
        source_alone,
        mixed_point,
        not_one_to_one,
        nonterminal_unlinked,
        // Grammars with numbered nonterminals only.
        grammar_fields_missing,
        other_left_side,
        unknown_numbered,
        index_out_of_order,
        index_unmatched,
        not_a_feature,
        feature_out_of_range,
        feature_repeated,
        misfit_point,
        cost_out_of_range,
    };
};

constexpr std::size_t longest_phrase = 255;
constexpr std::size_t most_nonterminals = 2;
constexpr std::size_t count_columns = 3;

inline bool is(Bytes token, const char* literal) {
    return token.size() == std::strlen(literal) && std::memcmp(token.data(), literal, token.size()) == 0;
}

// In rules, words are never in brackets: that is how nonterminals are told from them.
inline bool in_brackets(Bytes token) { return token.size() >= 2 && token.front() == '[' && token.back() == ']'; }

// One side of the table: a growing word list and the phrases as ids of it.
struct Side {
    WordIndex words;
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};

    std::size_t finish() {
        const std::size_t before = static_cast<std::size_t>(offsets.back());
        offsets.push_back(static_cast<std::int64_t>(ids.size()));
        return ids.size() - before;
    }
    std::size_t add(Bytes phrase) {
        split_words(phrase, [&](Bytes word) { ids.push_back(words.intern(word)); });
        return finish();
    }
};

// The columns that grow line by line, and the readers of their fields. `Row::row` reads a line and says whether it is fine.
template <class Row>
class TableParser {
public:
    TableParser(Bytes text, WordIndex source_words, WordIndex target_words, std::size_t columns)
        : text_(text), source_{std::move(source_words), {}, {0}}, target_{std::move(target_words), {}, {0}}, columns_(columns) {}

    void run() {
        split_lines(text_, [&](Bytes line) {
            const bool fine = static_cast<Row*>(this)->row(line);
            fault_.line += fine;
            return fine;
        });
    }

    auto take() {
        return together(
            together(give(std::move(source_.ids)), give(std::move(source_.offsets))),
            together(give(std::move(target_.ids)), give(std::move(target_.offsets))),
            give(std::move(scores_), columns_),
            together(give(std::move(points_)), give(std::move(point_offsets_))),
            give(std::move(counts_), count_columns), source_.words.take(), target_.words.take(), further_, fault_.take());
    }

protected:
    bool fail(int kind, Bytes where) {
        fault_.set(kind, text_, where);
        return false;
    }

    // Cuts a line into its fields: gives their number, and whether there is anything in those that `fields` has no room for.
    template <std::size_t size>
    static std::pair<std::size_t, bool> cut(Bytes line, std::array<Bytes, size>& fields) {
        std::size_t found = 0;
        bool more = false;
        Bytes rest = line;
        // What is not there is empty, at the line's end: faults have a place.
        fields.fill(line.last(0));
        for (bool last = false; !last; ++found) {
            const std::size_t length = separator(rest);
            last = length == rest.size();
            const Bytes field = rest.first(length);
            if (found < fields.size()) fields[found] = field;
            else more |= std::ranges::any_of(field, [](std::uint8_t c) { return !is_space(c); });
            if (!last) rest = rest.subspan(length + 3);
        }
        return {found, more};
    }

    bool lengths(std::size_t source_length, std::size_t target_length, Bytes line, Bytes source, Bytes target) {
        if (source_length == 0) return fail(TableFault::source_empty, line);
        if (target_length == 0) return fail(TableFault::target_empty, line);
        if (source_length > longest_phrase) return fail(TableFault::phrase_too_long, source);
        return target_length <= longest_phrase || fail(TableFault::phrase_too_long, target);
    }

    static std::size_t separator(Bytes text) {
        for (std::size_t at = 0; at + 2 < text.size(); ++at) {
            const void* bar = std::memchr(text.data() + at, '|', text.size() - at - 2);
            if (!bar) break;
            at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(bar) - text.data());
            if (text[at + 1] == '|' && text[at + 2] == '|') return at;
        }
        return text.size();
    }

    bool numbers(Bytes field, std::vector<float>& into) {
        split_words(field, [&](Bytes token) {
            float value = 0;
            if (fault_.kind) return;
            if (!parse_float(token, value)) fail(TableFault::not_a_number, token);
            else if (!(value >= 0 && value <= std::numeric_limits<float>::max())) fail(TableFault::number_out_of_range, token);
            else into.push_back(value);
        });
        return !fault_.kind;
    }

    bool scores(Bytes field) {
        const std::size_t before = scores_.size();
        if (!numbers(field, scores_)) return false;
        const std::size_t found = scores_.size() - before;
        if (found == 0) return fail(TableFault::scores_missing, field);
        if (columns_ == 0) columns_ = found;
        return found == columns_ || fail(TableFault::score_count, field);
    }

    // Calls on_point(token, source position, target position) for each of the links, until there is a fault.
    template <class OnPoint>
    bool links(Bytes field, std::size_t source_length, std::size_t target_length, OnPoint&& on_point) {
        split_words(field, [&](Bytes token) {
            Bytes rest = token;
            std::uint32_t s = 0, t = 0;
            if (fault_.kind) return;
            if (!parse_position(rest, s) || rest.empty() || rest[0] != '-') {
                fail(TableFault::not_a_point, token);
                return;
            }
            rest = rest.subspan(1);
            if (!parse_position(rest, t) || !rest.empty()) fail(TableFault::not_a_point, token);
            else if (s >= source_length || t >= target_length) fail(TableFault::point_outside, token);
            else on_point(token, s, t);
        });
        return !fault_.kind;
    }

    // Ends the links of a line, of which there are those after `first`: they are sorted, each once.
    void end_points(std::ptrdiff_t first) {
        std::sort(points_.begin() + first, points_.end());
        points_.erase(std::unique(points_.begin() + first, points_.end()), points_.end());
        point_offsets_.push_back(static_cast<std::int64_t>(points_.size()));
    }

    // Three counts, or none that we could name.
    bool counts(Bytes field) {
        const std::size_t before = counts_.size();
        if (!numbers(field, counts_)) return false;
        if (counts_.size() - before != count_columns) {
            counts_.resize(before);
            counts_.resize(before + count_columns, std::numeric_limits<float>::quiet_NaN());
        }
        return true;
    }

    Bytes text_;
    Side source_, target_;
    std::size_t columns_;
    std::vector<float> scores_, counts_;
    std::vector<std::uint16_t> points_;
    std::vector<std::int64_t> point_offsets_{0};
    std::int64_t further_ = 0;
    Fault fault_;
};

}  // namespace dragoman::text
