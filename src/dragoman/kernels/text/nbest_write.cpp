// Writing lines of n-best lists in the formats that nbest_read.cpp reads.
#include "text/nbest_numbers.hpp"

#include <cmath>
#include <span>
#include <utility>

namespace dragoman::text {
namespace {

// Hypotheses as the columns of their lines.
struct NBestColumns {
    Held1<std::int64_t> ids;  // of the sentence
    Ref<Rows> words;
    Ref<Texts> vocab;
    Ref<FeatureRows> features;
    Held1<double> scores;                // NaN where there is none
    std::optional<Ref<Rows>> phrases;  // source begin and end, target begin and end, of each
    std::optional<Ref<Texts>> rest;    // of the lines, as they were read

    void check() const {
        const std::size_t size = ids.size();
        require(words->size() == size && features->size() == size && scores.size() == size &&
                    (!phrases || (*phrases)->size() == size) && (!rest || (*rest)->size() == size),
                "columns of hypotheses differ in length");
    }
};

// Under which label each feature is written, and the first feature of each.
struct NBestLabels {
    Held1<std::int32_t> of_features, first;
    Ref<Texts> texts;

    void check() const { require(first.size() == texts->size(), "each label needs a text"); }
};

struct NBestStyle {
    bool grouped;      // `name= v v …`, otherwise `name=v`
    bool score_first;  // before the features
    bool tight;        // no space after the id
    bool padded;       // words are followed by two spaces
    bool colon;        // in place of `=`, if grouped
    int decimals;      // -1: as many as are needed
};

class NBestWriter {
public:
    NBestWriter(const NBestLabels& labels, const NBestStyle& style)
        : labels_(labels),
          style_(style),
          sums_(labels.of_features.size()),
          feature_row_(labels.of_features.size(), -1),
          label_row_(labels.first.size(), -1) {}

    // Each label of the row once, at its first feature, with all of its values.
    void features(std::size_t row, const FeatureRows& rows) {
        const auto number = static_cast<std::int64_t>(row);
        rows.each(row, [&](std::size_t id, double value) {
            if (std::exchange(feature_row_[id], number) != number) sums_[id] = value;
            else sums_[id] += value;
        });
        bool any = false;
        rows.each(row, [&](std::size_t id, double) {
            const auto label = static_cast<std::size_t>(labels_.of_features[id]);
            if (std::exchange(label_row_[label], number) == number) return;
            if (std::exchange(any, true)) out.character(' ');
            out.text((*labels_.texts)[label]);
            out.character(style_.grouped && style_.colon ? ':' : '=');
            auto feature = static_cast<std::size_t>(labels_.first[label]);
            for (; feature < sums_.size() && labels_.of_features[feature] == static_cast<std::int32_t>(label);
                 ++feature) {
                if (style_.grouped) out.character(' ');
                write_number(out, feature_row_[feature] == number ? sums_[feature] : 0.0, style_.decimals);
            }
        });
    }

    void score(double value) {
        if (!std::isnan(value)) write_number(out, value, style_.decimals);
    }

    void mark(const std::int32_t* phrase) {
        out.character('|');
        out.number(phrase[0]);
        out.character('-');
        out.number(phrase[1] - 1);
        out.character('|');
    }

    LineWriter out;

private:
    const NBestLabels& labels_;
    const NBestStyle& style_;
    std::vector<double> sums_;
    std::vector<std::int64_t> feature_row_, label_row_;
};

auto format_nbest(std::size_t begin, std::size_t end, const NBestColumns& columns, const NBestLabels& labels,
                  const NBestStyle& style) {
    NBestWriter writer(labels, style);
    LineWriter& out = writer.out;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = begin; row < end; ++row) {
            out.number(columns.ids[row]);
            out.text(style.tight ? "||| " : " ||| ");
            const Words words = (*columns.words)[row];
            const Words phrases = columns.phrases ? (**columns.phrases)[row] : Words();
            auto phrase = phrases.data();
            bool any = false;
            for (std::size_t at = 0; at <= words.size(); ++at) {
                for (; phrase != phrases.data() + phrases.size() && phrase[3] == static_cast<std::int32_t>(at);
                     phrase += 4) {
                    if (std::exchange(any, true)) out.character(' ');
                    writer.mark(phrase);
                }
                if (at == words.size()) break;
                if (std::exchange(any, true)) out.character(' ');
                out.text((*columns.vocab)[static_cast<std::size_t>(words[at])]);
            }
            if (any && style.padded) out.character(' ');
            out.text(" ||| ");
            if (style.score_first) writer.score(columns.scores[row]);
            else writer.features(row, *columns.features);
            out.text(" ||| ");
            if (style.score_first) writer.features(row, *columns.features);
            else writer.score(columns.scores[row]);
            if (columns.rest) out.text((**columns.rest)[row]);
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_nbest_write(nb::module_& m) {
    using Columns = NBestColumns;
    bind_record(
        m, "NBestColumns",
        "Hypotheses as the columns of their lines; scores are NaN where there is none.\n\n"
        "`phrases` have source begin and end, target begin and end; `rest` is the end of each line as it was read.",
        Field{"ids", &Columns::ids}, Field{"words", &Columns::words}, Field{"vocab", &Columns::vocab},
        Field{"features", &Columns::features}, Field{"scores", &Columns::scores}, Field{"phrases", &Columns::phrases},
        Field{"rest", &Columns::rest});
    bind_record(m, "NBestLabels", "The label of each feature, the first feature of each label, and the labels' texts.",
                Field{"of_features", &NBestLabels::of_features}, Field{"first", &NBestLabels::first},
                Field{"texts", &NBestLabels::texts});
    using Style = NBestStyle;
    bind_record(m, "NBestStyle", "How lines look; as many decimals as are needed if there are -1.",
                Field{"grouped", &Style::grouped}, Field{"score_first", &Style::score_first},
                Field{"tight", &Style::tight}, Field{"padded", &Style::padded}, Field{"colon", &Style::colon},
                Field{"decimals", &Style::decimals});
    m.def("format_nbest", &format_nbest, nb::arg("begin"), nb::arg("end"), nb::arg("columns"), nb::arg("labels"),
          nb::arg("style"),
          "Hypotheses begin to end as lines of n-best lists.");
}

}  // namespace dragoman::text
