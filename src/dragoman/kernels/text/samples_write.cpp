// Derivations that were sampled, as JSON.
#include "text/line_format.hpp"

#include <string_view>

namespace dragoman::text {
namespace {

// The derivations of a sentence as columns. Rows of features have each feature once.
struct SampleColumns {
    Ref<Rows> words;
    Ref<Texts> vocab;
    Held2<std::int64_t> counts;  // of each chain
    Held1<double> probabilities, scores;
    Ref<Rows> phrases;  // source begin and end, target begin and end, of each
    Ref<FeatureRows> features;
    Ref<Texts> names;  // of features, as JSON

    void check() const {
        const std::size_t size = words->size();
        require(counts.shape(0) == size && probabilities.size() == size && scores.size() == size &&
                    phrases->size() == size && features->size() == size,
                "columns of derivations differ in length");
    }
};

class JsonWriter {
public:
    // A number as Python writes it: the shortest digits that give it again.
    void number(double value) {
        const double magnitude = std::abs(value);
        const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
        char digits[64];
        const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                       fixed ? std::chars_format::fixed : std::chars_format::scientific).ptr;
        out.text(Bytes(reinterpret_cast<std::uint8_t*>(digits), static_cast<std::size_t>(end - digits)));
        if (fixed && std::find(digits, end, '.') == end) out.text(".0");
    }
    void number(std::integral auto value) { out.number(value); }

    // Text within quotation marks.
    void escaped(Bytes text) {
        static constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt", digits = "0123456789abcdef";
        auto plain = text.begin();
        for (auto at = text.begin(); at != text.end(); ++at) {
            if (*at >= 0x20 && *at != '"' && *at != '\\') continue;
            out.text(Bytes(plain, at));
            plain = at + 1;
            out.character('\\');
            if (const auto found = special.find(static_cast<char>(*at)); found != special.npos) {
                out.character(letters[found]);
            } else {
                out.text("u00");
                out.character(digits[*at >> 4]);
                out.character(digits[*at & 15]);
            }
        }
        out.text(Bytes(plain, text.end()));
    }

    void list(const auto& values) {
        out.character('[');
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i > 0) out.text(", ");
            number(values[i]);
        }
        out.character(']');
    }

    LineWriter out;
};

auto format_derivations(In1<std::int64_t> order, const SampleColumns& columns) {
    JsonWriter json;
    LineWriter& out = json.out;
    {
        nb::gil_scoped_release release;
        const std::size_t chains = columns.counts.shape(1);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto row = static_cast<std::size_t>(order[i]);
            out.text(i > 0 ? ", {\"text\": \"" : "{\"text\": \"");
            bool any = false;
            for (const std::int32_t word : (*columns.words)[row]) {
                if (std::exchange(any, true)) out.character(' ');
                json.escaped((*columns.vocab)[static_cast<std::size_t>(word)]);
            }
            out.text("\", \"count\": ");
            json.list(std::span(columns.counts.data() + row * chains, chains));
            out.text(", \"probability\": ");
            json.number(columns.probabilities[row]);
            out.text(", \"score\": ");
            json.number(columns.scores[row]);
            out.text(", \"segmentation\": [");
            const Words phrases = (*columns.phrases)[row];
            for (std::size_t phrase = 0; phrase < phrases.size(); phrase += 4) {
                if (phrase > 0) out.text(", ");
                json.list(phrases.subspan(phrase, 4));
            }
            out.character(']');
            any = false;
            columns.features->each(row, [&](std::size_t id, double value) {
                out.text(std::exchange(any, true) ? ", " : ", \"features\": {");
                out.text((*columns.names)[id]);
                out.text(": ");
                json.number(value);
            });
            out.text(any ? "}}" : "}");
        }
    }
    return give(out.take());
}

}  // namespace

void bind_samples_write(nb::module_& m) {
    using Columns = SampleColumns;
    bind_record(m, "SampleColumns",
                "The derivations of a sentence as columns; rows of features have each feature once.\n\n"
                "`phrases` have source begin and end, target begin and end; `names` of features are JSON.",
                Field{"words", &Columns::words}, Field{"vocab", &Columns::vocab}, Field{"counts", &Columns::counts},
                Field{"probabilities", &Columns::probabilities}, Field{"scores", &Columns::scores},
                Field{"phrases", &Columns::phrases}, Field{"features", &Columns::features},
                Field{"names", &Columns::names});
    m.def("format_derivations", &format_derivations, nb::arg("order"), nb::arg("columns"),
          "Derivations in that order as the members of a list of JSON.");
}

}  // namespace dragoman::text
