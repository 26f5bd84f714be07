// Lines of Moses' tables: `source ||| target ||| scores`, and in phrase tables ` ||| alignment ||| counts ||| …`.
#include "text/table_parser.hpp"

#include <numeric>

namespace dragoman::text {
namespace {

class PhraseParser : public TableParser<PhraseParser> {
public:
    PhraseParser(Bytes text, WordIndex source_words, WordIndex target_words, std::size_t columns, bool extras)
        : TableParser(text, std::move(source_words), std::move(target_words), columns), extras_(extras) {}

    bool row(Bytes line) {
        std::array<Bytes, 5> fields{};
        const auto [found, more] = cut(line, fields);
        if (found < 3) return fail(TableFault::fields_missing, line);
        if (!extras_ && found > 3) return fail(TableFault::fields_surplus, line);
        const std::size_t source_length = source_.add(fields[0]);
        const std::size_t target_length = target_.add(fields[1]);
        if (!lengths(source_length, target_length, line, fields[0], fields[1]) || !scores(fields[2])) return false;
        if (!extras_) return true;
        further_ += more;
        return alignment(fields[3], source_length, target_length) && counts(fields[4]);
    }

private:
    bool alignment(Bytes field, std::size_t source_length, std::size_t target_length) {
        const bool fine = links(field, source_length, target_length, [&](Bytes, std::uint32_t s, std::uint32_t t) {
            points_.push_back(static_cast<std::uint16_t>(256 * s + t));
        });
        point_offsets_.push_back(static_cast<std::int64_t>(points_.size()));
        return fine;
    }

    bool extras_;
};

auto parse_table(In1<std::uint8_t> text, const Texts& source_words, const Texts& target_words, std::size_t columns,
                 bool extras) {
    PhraseParser parser(view(text), WordIndex(source_words), WordIndex(target_words), columns, extras);
    {
        nb::gil_scoped_release release;
        parser.run();
    }
    return parser.take();
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

auto table_ranks(const Texts& phrases) {
    std::vector<std::int32_t> ranks(phrases.size());
    {
        nb::gil_scoped_release release;
        std::vector<std::int32_t> order(ranks.size());
        std::iota(order.begin(), order.end(), 0);
        const auto phrase = [&](std::int32_t number) { return phrases[static_cast<std::size_t>(number)]; };
        std::ranges::stable_sort(order,
                                 [&](std::int32_t a, std::int32_t b) { return before_in_table(phrase(a), phrase(b)); });
        for (std::size_t at = 0, rank = 0; at < order.size(); ++at) {
            if (at && !same(phrase(order[at]), phrase(order[at - 1]))) rank = at;
            ranks[static_cast<std::size_t>(order[at])] = static_cast<std::int32_t>(rank);
        }
    }
    return give(std::move(ranks));
}

auto format_table(In1<std::int64_t> rows, const PairTexts& pairs, In2<float> scores, bool extras, const Points* points,
                  In2<float> counts) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        constexpr int digits = 6;  // as Moses prints
        for (const std::int64_t row : view(rows)) {
            out.text(pairs.source(row));
            out.text(" ||| ");
            out.text(pairs.target(row));
            out.text(" |||");
            for (std::size_t column = 0; column < scores.shape(1); ++column) {
                out.character(' ');
                out.number(scores.data()[std::size_t(row) * scores.shape(1) + column], std::chars_format::general, digits);
            }
            if (extras) {
                out.text(" |||");
                if (points) out.points((*points)[static_cast<std::size_t>(row)]);
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
    bind_record(m, "PairTexts", "Phrase pairs, or rules: the number of each side in a list of texts.",
                Field{"source_ids", &PairTexts::source_ids}, Field{"sources", &PairTexts::sources},
                Field{"target_ids", &PairTexts::target_ids}, Field{"targets", &PairTexts::targets});
    m.def("parse_table", &parse_table, nb::arg("text"), nb::arg("source_words"), nb::arg("target_words"),
          nb::arg("columns"), nb::arg("extras"),
          "Lines `source ||| target ||| scores`, with `extras` also alignment points, counts and more.\n\n"
          "`columns` scores are expected, or as many as the first line has if it is 0. Gives the words of the\n"
          "sources and of the targets with their offsets, the scores, the points with their offsets, three counts a\n"
          "line (NaN where there are not three), the two grown word lists, the number of lines with something in\n"
          "further fields, and the fault.");
    m.def("table_ranks", &table_ranks, nb::arg("phrases"),
          "The rank of each phrase in the order of `LC_ALL=C sort` over lines in which ` |||` follows it; the same for\n"
          "the same text.");
    m.def("format_table", &format_table, nb::arg("rows"), nb::arg("pairs"), nb::arg("scores"), nb::arg("extras"),
          nb::arg("points").none(), nb::arg("counts"),
          "The given rows as lines of a table, numbers with six digits; no counts if their array is empty.");
}

}  // namespace dragoman::text
