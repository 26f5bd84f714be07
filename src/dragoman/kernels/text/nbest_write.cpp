// Writing lines of n-best lists in the formats that nbest_read.cpp reads.
#include "text/nbest_numbers.hpp"

#include <cmath>
#include <span>
#include <utility>

namespace dragoman::text {
namespace {

class NBestWriter {
public:
    NBestWriter(In1<std::int32_t> feature_labels, In1<std::int32_t> label_first, In1<std::uint8_t> label_blob,
                In1<std::int64_t> label_offsets, bool grouped, bool colon, int decimals)
        : feature_labels_(view(feature_labels)),
          label_first_(view(label_first)),
          label_blob_(view(label_blob)),
          label_offsets_(view(label_offsets)),
          grouped_(grouped),
          colon_(colon),
          decimals_(decimals),
          sums_(feature_labels_.size()),
          feature_row_(feature_labels_.size(), -1),
          label_row_(label_first_.size(), -1) {}

    // Each label of the row once, at its first feature, with all of its values.
    void features(std::int64_t row, std::span<const std::int32_t> ids, std::span<const double> values) {
        for (std::size_t at = 0; at < ids.size(); ++at) {
            const auto id = static_cast<std::size_t>(ids[at]);
            if (std::exchange(feature_row_[id], row) != row) sums_[id] = values[at];
            else sums_[id] += values[at];
        }
        bool any = false;
        for (const std::int32_t id : ids) {
            const auto label = static_cast<std::size_t>(feature_labels_[static_cast<std::size_t>(id)]);
            if (std::exchange(label_row_[label], row) == row) continue;
            if (std::exchange(any, true)) out.character(' ');
            out.text(label_blob_.subspan(static_cast<std::size_t>(label_offsets_[label]),
                                         static_cast<std::size_t>(label_offsets_[label + 1] - label_offsets_[label])));
            out.character(grouped_ && colon_ ? ':' : '=');
            auto feature = static_cast<std::size_t>(label_first_[label]);
            for (; feature < feature_labels_.size() && feature_labels_[feature] == static_cast<std::int32_t>(label); ++feature) {
                if (grouped_) out.character(' ');
                write_number(out, feature_row_[feature] == row ? sums_[feature] : 0.0, decimals_);
            }
        }
    }

    void score(double value) {
        if (!std::isnan(value)) write_number(out, value, decimals_);
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
    std::span<const std::int32_t> feature_labels_, label_first_;
    Bytes label_blob_;
    std::span<const std::int64_t> label_offsets_;
    bool grouped_, colon_;
    int decimals_;
    std::vector<double> sums_;
    std::vector<std::int64_t> feature_row_, label_row_;
};

// `phrases` and `rest` have no offsets where there is nothing to write.
auto format_nbest(std::size_t begin, std::size_t end, In1<std::int64_t> ids, In1<std::int32_t> words, In1<std::int64_t> word_offsets,
                  In1<std::uint8_t> blob, In1<std::int64_t> offsets, In1<std::int64_t> value_offsets,
                  In1<std::int32_t> feature_ids, In1<double> values, In1<double> scores, In1<std::int32_t> phrases,
                  In1<std::int64_t> phrase_offsets, In1<std::uint8_t> rest, In1<std::int64_t> rest_offsets,
                  In1<std::int32_t> feature_labels, In1<std::int32_t> label_first, In1<std::uint8_t> label_blob,
                  In1<std::int64_t> label_offsets, bool grouped, bool score_first, bool tight, bool padded, bool colon,
                  int decimals) {
    NBestWriter writer(feature_labels, label_first, label_blob, label_offsets, grouped, colon, decimals);
    LineWriter& out = writer.out;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = begin; row < end; ++row) {
            out.number(ids.data()[row]);
            out.text(tight ? "||| " : " ||| ");
            const std::int32_t *phrase = nullptr, *last_phrase = nullptr;
            if (phrase_offsets.shape(0) > 0) {
                phrase = phrases.data() + phrase_offsets.data()[row];
                last_phrase = phrases.data() + phrase_offsets.data()[row + 1];
            }
            const std::int64_t first = word_offsets.data()[row], last = word_offsets.data()[row + 1];
            bool any = false;
            for (std::int64_t at = first; at <= last; ++at) {
                for (; phrase != last_phrase && phrase[3] == at - first; phrase += 4) {
                    if (std::exchange(any, true)) out.character(' ');
                    writer.mark(phrase);
                }
                if (at == last) break;
                if (std::exchange(any, true)) out.character(' ');
                const std::int32_t id = words.data()[at];
                out.text(Bytes(blob.data() + offsets.data()[id], blob.data() + offsets.data()[id + 1]));
            }
            if (any && padded) out.character(' ');
            out.text(" ||| ");
            const auto from = static_cast<std::size_t>(value_offsets.data()[row]);
            const std::size_t count = static_cast<std::size_t>(value_offsets.data()[row + 1]) - from;
            const auto features = [&] {
                writer.features(static_cast<std::int64_t>(row), view(feature_ids).subspan(from, count), view(values).subspan(from, count));
            };
            if (score_first) writer.score(scores.data()[row]);
            else features();
            out.text(" ||| ");
            if (score_first) features();
            else writer.score(scores.data()[row]);
            if (rest_offsets.shape(0) > 0)
                out.text(Bytes(rest.data() + rest_offsets.data()[row], rest.data() + rest_offsets.data()[row + 1]));
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_nbest_write(nb::module_& m) {
    m.def("format_nbest", &format_nbest, nb::arg("begin"), nb::arg("end"), nb::arg("ids"), nb::arg("words"),
          nb::arg("word_offsets"), nb::arg("blob"), nb::arg("offsets"), nb::arg("value_offsets"),
          nb::arg("feature_ids"), nb::arg("values"), nb::arg("scores"), nb::arg("phrases"), nb::arg("phrase_offsets"),
          nb::arg("rest"), nb::arg("rest_offsets"), nb::arg("feature_labels"), nb::arg("label_first"),
          nb::arg("label_blob"), nb::arg("label_offsets"), nb::arg("grouped"), nb::arg("score_first"),
          nb::arg("tight"), nb::arg("padded"), nb::arg("colon"), nb::arg("decimals"),
          "Hypotheses begin to end as lines of n-best lists; phrases and rest may be left out with empty offsets.");
}

}  // namespace dragoman::text
