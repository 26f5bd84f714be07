// Reading lines of n-best lists in the formats that separate columns by `|||`: id, words, features and score, in this order or
// with the last two swapped, and further columns that are kept as they are. Features are `name= v v …` (Moses; several
// values under one label, whose number is the same on every line) or `name=v` (the others).
#include "text/line_format.hpp"
#include "text/nbest_numbers.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace dragoman::text {
namespace {

constexpr std::size_t needed_columns = 4;

// How the numbers of a file are written: whether all have the same number of decimals and none an exponent.
struct Decimals {
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = -1;

    void add(Bytes token) {
        std::int64_t decimals = 0;
        for (std::size_t at = token.size(); at-- > 0;) {
            if (token[at] == '.') {
                decimals = static_cast<std::int64_t>(token.size() - at - 1);
                break;
            }
            if (token[at] == 'e' || token[at] == 'E') {
                fewest = -1;
                return;
            }
        }
        fewest = std::min(fewest, decimals);
        most = std::max(most, decimals);
    }
};

std::size_t find_bars(Bytes text) {
    for (std::size_t at = 0; at + 2 < text.size(); ++at) {
        const void* bar = std::memchr(text.data() + at, '|', text.size() - at - 2);
        if (!bar) break;
        at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(bar) - text.data());
        if (text[at + 1] == '|' && text[at + 2] == '|') return at;
    }
    return text.size();
}

// A mark `|begin-end|` of phrase segmentation: the source words begin to end, both included.
std::optional<std::array<std::uint32_t, 2>> segmentation_mark(Bytes token) {
    if (token.size() < 5 || token.front() != '|' || token.back() != '|') return {};
    Bytes rest = token.subspan(1, token.size() - 2);
    std::array<std::uint32_t, 2> range{};
    if (!parse_position(rest, range[0]) || rest.empty() || rest[0] != '-') return {};
    rest = rest.subspan(1);
    constexpr auto largest = std::uint32_t(std::numeric_limits<std::int32_t>::max() - 1);
    if (!parse_position(rest, range[1]) || !rest.empty() || range[0] > largest || range[1] > largest) return {};
    return range;
}

class NBestParser {
public:
    NBestParser(Bytes text, WordIndex words, WordIndex labels, std::span<const std::int32_t> counts, bool grouped,
                bool score_first)
        : text_(text),
          words_(std::move(words)),
          labels_(std::move(labels)),
          counts_(counts.begin(), counts.end()),
          grouped_(grouped),
          score_first_(score_first) {
        for (const std::int32_t count : counts_) {
            first_.push_back(features_);
            features_ += count;
        }
        last_line_.resize(counts_.size(), -1);
    }

    void run() {
        split_lines(text_, [&](Bytes line) {
            const bool fine = row(line);
            fault_.line += fine;
            return fine;
        });
    }

    auto take() {
        return together(
            give(std::move(ids_)), together(give(std::move(word_ids_)), give(std::move(word_offsets_))),
            together(give(std::move(value_offsets_)), give(std::move(feature_ids_)), give(std::move(values_))),
            give(std::move(scores_)), together(give(std::move(phrases_)), give(std::move(phrase_offsets_))),
            together(give(std::move(rest_)), give(std::move(rest_offsets_))), words_.take(), labels_.take(),
            give(std::move(counts_)), together(decimals_.fewest, decimals_.most, tight_, padded_, colon_),
            fault_.take());
    }

private:
    bool fail(int kind, Bytes where) {
        fault_.set(kind, text_, where);
        return false;
    }

    bool row(Bytes line) {
        if (!line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
        std::array<Bytes, needed_columns> fields{};
        Bytes rest = line;
        for (std::size_t column = 0; column < needed_columns; ++column) {
            const std::size_t length = find_bars(rest);
            fields[column] = rest.first(length);
            if (length == rest.size()) {
                if (trimmed(line).empty()) return fail(NBestFault::line_empty, line);
                if (column + 1 < needed_columns) return fail(NBestFault::columns_missing, line);
            } else if (column + 1 < needed_columns) {
                rest = rest.subspan(length + 3);
            }
        }
        const Bytes feature_field = fields[score_first_ ? 3 : 2], score_field = fields[score_first_ ? 2 : 3];
        if (!id(fields[0]) || !hypothesis(fields[1])) return false;
        if (!(grouped_ ? grouped_features(feature_field) : single_features(feature_field)) || !score(score_field))
            return false;
        value_offsets_.push_back(static_cast<std::int64_t>(values_.size()));
        // What follows the last column that we read, down to its white space.
        const Bytes last = fields[needed_columns - 1];
        Bytes after(last.data(), line.data() + line.size());
        if (!after.empty() && after.front() == ' ') after = after.subspan(1);
        const Bytes core = trimmed(last);
        if (!core.empty()) after = Bytes(core.data() + core.size(), line.data() + line.size());
        rest_.insert(rest_.end(), after.begin(), after.end());
        rest_offsets_.push_back(static_cast<std::int64_t>(rest_.size()));
        return true;
    }

    bool id(Bytes field) {
        const Bytes token = trimmed(field);
        const char* const begin = reinterpret_cast<const char*>(token.data());
        std::int64_t value = 0;
        const auto [stop, error] = std::from_chars(begin, begin + token.size(), value);
        if (token.empty() || error != std::errc() || stop != begin + token.size() || value < 0)
            return fail(NBestFault::not_an_id, field);
        if (tight_ < 0) tight_ = field.empty() || !is_space(field.back());
        ids_.push_back(value);
        return true;
    }

    bool hypothesis(Bytes field) {
        const auto start = word_ids_.size();
        std::size_t phrase_start = start;
        bool marked = false;
        split_words(field, [&](Bytes token) {
            if (fault_.kind) return;
            const auto mark = grouped_ ? segmentation_mark(token) : std::nullopt;
            if (!mark) {
                word_ids_.push_back(words_.intern(token));
                return;
            }
            const auto [begin, end] = *mark;
            if (begin > end) {
                fail(NBestFault::mark_backwards, token);
                return;
            }
            for (const std::size_t value : {std::size_t(begin), std::size_t(end) + 1, phrase_start - start, word_ids_.size() - start})
                phrases_.push_back(static_cast<std::int32_t>(value));
            phrase_start = word_ids_.size();
            marked = true;
        });
        if (fault_.kind) return false;
        if (marked && phrase_start < word_ids_.size()) return fail(NBestFault::mark_missing, trimmed(field));
        if (padded_ < 0 && word_ids_.size() > start)
            padded_ = field.size() > 1 && is_space(field.back()) && is_space(field[field.size() - 2]);
        word_offsets_.push_back(static_cast<std::int64_t>(word_ids_.size()));
        phrase_offsets_.push_back(static_cast<std::int64_t>(phrases_.size()));
        return true;
    }

    // The label's number, or -1 after a fault. A new label gets its count when its values have been read.
    std::int32_t label(Bytes name, Bytes token) {
        if (name.empty()) return fail(NBestFault::name_missing, token), -1;
        const std::int32_t number = labels_.intern(name);
        if (static_cast<std::size_t>(number) == last_line_.size()) {
            last_line_.push_back(-1);
            counts_.push_back(0);
            first_.push_back(features_);
        }
        if (last_line_[static_cast<std::size_t>(number)] == fault_.line) return fail(NBestFault::feature_twice, token), -1;
        last_line_[static_cast<std::size_t>(number)] = fault_.line;
        return number;
    }

    bool value(Bytes token, std::int32_t label, std::int32_t position) {
        double number = 0;
        if (const int kind = parse_number(token, number)) return fail(kind, token);
        decimals_.add(token);
        feature_ids_.push_back(first_[static_cast<std::size_t>(label)] + position);
        values_.push_back(number);
        return true;
    }

    bool close(std::int32_t label, std::int32_t found, Bytes token) {
        if (found == 0) return fail(NBestFault::value_missing, token);
        std::int32_t& count = counts_[static_cast<std::size_t>(label)];
        if (count == 0) {
            count = found;
            features_ += found;
        }
        return count == found || fail(NBestFault::value_count, token);
    }

    bool grouped_features(Bytes field) {
        std::int32_t current = -1, found = 0;
        Bytes current_token;
        split_words(field, [&](Bytes token) {
            if (fault_.kind) return;
            if (token.back() == '=' || token.back() == ':') {
                if (current >= 0 && !close(current, found, current_token)) return;
                current = label(token.first(token.size() - 1), token);
                current_token = token;
                found = 0;
                if (colon_ < 0) colon_ = token.back() == ':';
            } else if (current < 0) {
                fail(NBestFault::name_missing, token);
            } else {
                value(token, current, found++);
            }
        });
        return !fault_.kind && (current < 0 || close(current, found, current_token));
    }

    bool single_features(Bytes field) {
        split_words(field, [&](Bytes token) {
            if (fault_.kind) return;
            std::size_t equals = token.size();
            while (equals > 0 && token[equals - 1] != '=') --equals;
            if (equals == 0) {
                fail(NBestFault::name_missing, token);
                return;
            }
            const std::int32_t number = label(token.first(equals - 1), token);
            if (number < 0) return;
            if (equals == token.size()) fail(NBestFault::value_missing, token);
            else if (value(token.subspan(equals), number, 0)) close(number, 1, token);
        });
        return !fault_.kind;
    }

    // An empty column means that the hypothesis has no score.
    bool score(Bytes field) {
        const Bytes token = trimmed(field);
        double value = std::numeric_limits<double>::quiet_NaN();
        if (!token.empty()) {
            if (const int kind = parse_number(token, value)) return fail(kind == NBestFault::not_a_number ? NBestFault::not_a_score : kind, token);
            decimals_.add(token);
        }
        scores_.push_back(value);
        return true;
    }

    Bytes text_;
    WordIndex words_, labels_;
    std::vector<std::int32_t> counts_, first_;
    bool grouped_, score_first_;
    std::int32_t features_ = 0;
    std::vector<std::int64_t> last_line_;
    std::vector<std::int64_t> ids_, word_offsets_{0}, value_offsets_{0}, phrase_offsets_{0}, rest_offsets_{0};
    std::vector<std::int32_t> word_ids_, feature_ids_, phrases_;
    std::vector<double> values_, scores_;
    std::vector<std::uint8_t> rest_;
    Decimals decimals_;
    int tight_ = -1, padded_ = -1, colon_ = -1;
    Fault fault_;
};

auto parse_nbest(In1<std::uint8_t> text, const Texts& words, const Texts& labels, In1<std::int32_t> counts,
                 bool grouped, bool score_first) {
    NBestParser parser(view(text), WordIndex(words), WordIndex(labels), view(counts), grouped, score_first);
    {
        nb::gil_scoped_release release;
        parser.run();
    }
    return parser.take();
}

}  // namespace

void bind_nbest_read(nb::module_& m) {
    m.def("parse_nbest", &parse_nbest, nb::arg("text"), nb::arg("words"), nb::arg("labels"), nb::arg("counts"),
          nb::arg("grouped"), nb::arg("score_first"),
          "Lines of n-best lists: sentence ids; words; features (offsets, ids, values); scores (NaN where empty);\n"
          "phrases (source begin and end, target begin and end); the rest of each line; the grown words and labels;\n"
          "the number of values of each label; style (fewest and most decimals, id without a space, words with two,\n"
          "labels with colons; -1 where unknown); and the fault. The features of a label are numbered from the sum\n"
          "of the counts before it.");
}

}  // namespace dragoman::text
