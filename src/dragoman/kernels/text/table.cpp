// Lines of Moses' tables: `source ||| target ||| scores`, and in phrase tables ` ||| alignment ||| counts ||| …`.
#include "text/line_format.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace dragoman::text {
namespace {

// In step with _FAULTS in formats/table_lines.py.
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
    };
};

constexpr std::size_t longest_phrase = 255;
constexpr std::size_t count_columns = 3;

// One side of the table: a growing word list and the phrases as ids of it.
struct Side {
    WordIndex words;
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};

    std::size_t add(Bytes phrase) {
        split_words(phrase, [&](Bytes word) { ids.push_back(words.intern(word)); });
        const std::size_t before = static_cast<std::size_t>(offsets.back());
        offsets.push_back(static_cast<std::int64_t>(ids.size()));
        return ids.size() - before;
    }
};

class TableParser {
public:
    TableParser(Bytes text, WordIndex source_words, WordIndex target_words, std::size_t columns, bool extras)
        : text_(text),
          source_{std::move(source_words), {}, {0}},
          target_{std::move(target_words), {}, {0}},
          columns_(columns),
          extras_(extras) {}

    void run() {
        split_lines(text_, [&](Bytes line) {
            const bool fine = row(line);
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

private:
    bool fail(int kind, Bytes where) {
        fault_.set(kind, text_, where);
        return false;
    }

    bool row(Bytes line) {
        std::array<Bytes, 5> fields{};
        std::size_t found = 0;
        bool more = false;
        Bytes rest = line;
        for (bool last = false; !last; ++found) {
            const std::size_t length = separator(rest);
            last = length == rest.size();
            const Bytes field = rest.first(length);
            if (found < fields.size()) fields[found] = field;
            else more |= std::ranges::any_of(field, [](std::uint8_t c) { return !is_space(c); });
            if (!last) rest = rest.subspan(length + 3);
        }
        if (found < 3) return fail(TableFault::fields_missing, line);
        if (!extras_ && found > 3) return fail(TableFault::fields_surplus, line);
        const std::size_t source_length = source_.add(fields[0]);
        const std::size_t target_length = target_.add(fields[1]);
        if (source_length == 0) return fail(TableFault::source_empty, line);
        if (target_length == 0) return fail(TableFault::target_empty, line);
        if (source_length > longest_phrase) return fail(TableFault::phrase_too_long, fields[0]);
        if (target_length > longest_phrase) return fail(TableFault::phrase_too_long, fields[1]);
        if (!scores(fields[2])) return false;
        if (!extras_) return true;
        further_ += more;
        return alignment(fields[3], source_length, target_length) && counts(fields[4]);
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

    bool alignment(Bytes field, std::size_t source_length, std::size_t target_length) {
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
            else points_.push_back(static_cast<std::uint16_t>(256 * s + t));
        });
        point_offsets_.push_back(static_cast<std::int64_t>(points_.size()));
        return !fault_.kind;
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
    bool extras_;
    std::vector<float> scores_, counts_;
    std::vector<std::uint16_t> points_;
    std::vector<std::int64_t> point_offsets_{0};
    std::int64_t further_ = 0;
    Fault fault_;
};

auto parse_table(In1<std::uint8_t> text, In1<std::uint8_t> source_blob, In1<std::int64_t> source_offsets,
                 In1<std::uint8_t> target_blob, In1<std::int64_t> target_offsets, std::size_t columns, bool extras) {
    TableParser parser(view(text), WordIndex(source_blob, source_offsets), WordIndex(target_blob, target_offsets), columns,
                       extras);
    {
        nb::gil_scoped_release release;
        parser.run();
    }
    return parser.take();
}

Bytes slice(const In1<std::uint8_t>& text, const In1<std::int64_t>& offsets, std::size_t row) {
    const auto bounds = view(offsets);
    return view(text).subspan(static_cast<std::size_t>(bounds[row]), static_cast<std::size_t>(bounds[row + 1] - bounds[row]));
}

// Orders phrases as `LC_ALL=C sort` orders the lines of a table: a phrase is followed by " |||".
bool before_in_table(Bytes left, Bytes right) {
    const std::size_t common = std::min(left.size(), right.size());
    if (const int order = common ? std::memcmp(left.data(), right.data(), common) : 0) return order < 0;
    const auto at = [](Bytes phrase, std::size_t position) {
        constexpr std::uint8_t separator[] = {' ', '|', '|', '|'};
        if (position < phrase.size()) return phrase[position];
        return position - phrase.size() < 4 ? separator[position - phrase.size()] : std::uint8_t{0};
    };
    for (std::size_t position = common; position < common + 4; ++position)
        if (at(left, position) != at(right, position)) return at(left, position) < at(right, position);
    return false;
}

auto table_ranks(In1<std::uint8_t> text, In1<std::int64_t> offsets) {
    std::vector<std::int32_t> ranks(offsets.shape(0) - 1);
    {
        nb::gil_scoped_release release;
        std::vector<std::int32_t> order(ranks.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
            return before_in_table(slice(text, offsets, static_cast<std::size_t>(a)),
                                   slice(text, offsets, static_cast<std::size_t>(b)));
        });
        for (std::size_t rank = 0; rank < order.size(); ++rank)
            ranks[static_cast<std::size_t>(order[rank])] = static_cast<std::int32_t>(rank);
    }
    return give(std::move(ranks));
}

auto format_table(In1<std::int64_t> rows, In1<std::int32_t> source_ids, In1<std::uint8_t> source_text,
                  In1<std::int64_t> source_offsets, In1<std::int32_t> target_ids, In1<std::uint8_t> target_text,
                  In1<std::int64_t> target_offsets, In2<float> scores, bool extras, In1<std::uint16_t> points,
                  In1<std::int64_t> point_offsets, In2<float> counts) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        constexpr int digits = 6;  // as Moses prints
        for (const std::int64_t row : view(rows)) {
            out.text(slice(source_text, source_offsets, static_cast<std::size_t>(source_ids.data()[row])));
            out.text(" ||| ");
            out.text(slice(target_text, target_offsets, static_cast<std::size_t>(target_ids.data()[row])));
            out.text(" |||");
            for (std::size_t column = 0; column < scores.shape(1); ++column) {
                out.character(' ');
                out.number(scores.data()[std::size_t(row) * scores.shape(1) + column], std::chars_format::general, digits);
            }
            if (extras) {
                out.text(" |||");
                if (point_offsets.shape(0) > 0) {
                    for (auto at = point_offsets.data()[row]; at < point_offsets.data()[row + 1]; ++at) {
                        out.character(' ');
                        out.number(points.data()[at] >> 8);
                        out.character('-');
                        out.number(points.data()[at] & 255);
                    }
                }
                out.text(" |||");
                if (counts.shape(0) > 0) {
                    for (std::size_t column = 0; column < counts.shape(1); ++column) {
                        out.character(' ');
                        out.number(counts.data()[std::size_t(row) * counts.shape(1) + column], std::chars_format::fixed);
                    }
                }
                out.text(" ||| |||");
            }
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_table(nb::module_& m) {
    m.def("parse_table", &parse_table, nb::arg("text"), nb::arg("source_blob"), nb::arg("source_offsets"),
          nb::arg("target_blob"), nb::arg("target_offsets"), nb::arg("columns"), nb::arg("extras"),
          "Lines `source ||| target ||| scores`, with `extras` also alignment points, counts and more.\n\n"
          "`columns` scores are expected, or as many as the first line has if it is 0. Gives the words of the\n"
          "sources and of the targets with their offsets, the scores, the points with their offsets, three counts a\n"
          "line (NaN where there are not three), the two grown word lists, the number of lines with something in\n"
          "further fields, and the fault.");
    m.def("table_ranks", &table_ranks, nb::arg("text"), nb::arg("offsets"),
          "The rank of each phrase in the order of `LC_ALL=C sort` over lines in which ` |||` follows it.");
    m.def("format_table", &format_table, nb::arg("rows"), nb::arg("source_ids"), nb::arg("source_text"),
          nb::arg("source_offsets"), nb::arg("target_ids"), nb::arg("target_text"), nb::arg("target_offsets"),
          nb::arg("scores"), nb::arg("extras"), nb::arg("points"), nb::arg("point_offsets"), nb::arg("counts"),
          "The given rows as lines of a table, numbers with six digits; no points or counts if their arrays are\n"
          "empty.");
}

}  // namespace dragoman::text
