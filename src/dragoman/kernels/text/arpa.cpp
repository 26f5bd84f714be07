// The n-gram lines of ARPA files: log probability, words, and (below the highest order) an optional back-off weight.
#include "text/line_format.hpp"

#include <utility>

namespace dragoman::text {
namespace {

// In step with _FAULTS in formats/arpa.py.
struct ArpaFault {
    enum {
        columns_wrong = 1,
        not_a_number,
        probability_out_of_range,
        backoff_out_of_range,
        unigram_twice,
        word_unknown,
    };
};

struct NGramLines {
    std::vector<std::int32_t> words;
    std::vector<float> logprobs, backoffs;
    std::vector<std::int64_t> lines;
    Fault fault;
};

// Reads n-grams of one order; id_of(word) gives the id of a word or a negative fault.
template <class IdOf>
NGramLines parse(Bytes text, std::size_t order, IdOf&& id_of) {
    NGramLines out;
    std::vector<Bytes> tokens;
    split_lines(text, [&](Bytes line) {
        tokens.clear();
        split_words(line, [&](Bytes token) { tokens.push_back(token); });
        auto fail = [&](int kind, Bytes where) {
            out.fault.set(kind, text, where);
            return false;
        };
        if (!tokens.empty()) {
            if (tokens.size() < order + 1 || tokens.size() > order + 2) return fail(ArpaFault::columns_wrong, line);
            float logprob = 0, backoff = 0;
            if (!parse_float(tokens[0], logprob)) return fail(ArpaFault::not_a_number, tokens[0]);
            if (!(logprob <= 0)) return fail(ArpaFault::probability_out_of_range, tokens[0]);
            if (tokens.size() == order + 2) {
                if (!parse_float(tokens.back(), backoff)) return fail(ArpaFault::not_a_number, tokens.back());
                if (!std::isfinite(backoff)) return fail(ArpaFault::backoff_out_of_range, tokens.back());
            }
            for (std::size_t n = 1; n <= order; ++n) {
                const std::int32_t id = id_of(tokens[n]);
                if (id < 0) return fail(-id, tokens[n]);
                out.words.push_back(id);
            }
            out.logprobs.push_back(logprob);
            out.backoffs.push_back(backoff);
            out.lines.push_back(out.fault.line);
        }
        ++out.fault.line;
        return true;
    });
    return out;
}

auto take(NGramLines&& out, std::size_t order) {
    return together(give(std::move(out.words), order), give(std::move(out.logprobs)), give(std::move(out.backoffs)),
                    give(std::move(out.lines)), out.fault.take());
}

// Unigrams: words that the list lacks are added to it; `listed` says which were unigrams before.
auto parse_unigrams(In1<std::uint8_t> text, const Texts& known, In1<std::uint8_t> listed) {
    WordIndex words(known);
    std::vector<std::uint8_t> seen(listed.data(), listed.data() + listed.shape(0));
    NGramLines out;
    {
        nb::gil_scoped_release release;
        out = parse(view(text), 1, [&](Bytes word) {
            const std::int32_t id = words.intern(word);
            if (words.size() > seen.size()) seen.resize(words.size(), 0);
            return std::exchange(seen[static_cast<std::size_t>(id)], 1) ? -ArpaFault::unigram_twice : id;
        });
    }
    return together(take(std::move(out), 1), words.take(), give(std::move(seen)));
}

// N-grams of higher orders: every word must be a unigram.
auto parse_ngrams(In1<std::uint8_t> text, std::size_t order, const Texts& known, In1<std::int32_t> index,
                  In1<std::uint8_t> listed) {
    const WordView words(known, index);
    NGramLines out;
    {
        nb::gil_scoped_release release;
        out = parse(view(text), order, [&](Bytes word) {
            const std::int32_t id = words.find(word);
            return id < 0 || !listed.data()[id] ? -ArpaFault::word_unknown : id;
        });
    }
    return take(std::move(out), order);
}

auto format_ngrams(In2<std::int32_t> ngrams, In1<float> logprobs, In1<float> backoffs, bool with_backoffs,
                   const Texts& words) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = 0; row < ngrams.shape(0); ++row) {
            out.number(logprobs.data()[row]);  // the shortest digits that give this float again
            for (std::size_t n = 0; n < ngrams.shape(1); ++n) {
                out.character(n ? ' ' : '\t');
                out.text(words[static_cast<std::size_t>(ngrams[row * ngrams.shape(1) + n])]);
            }
            if (with_backoffs) {
                out.character('\t');
                out.number(backoffs.data()[row]);
            }
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_arpa(nb::module_& m) {
    m.def("parse_unigrams", &parse_unigrams, nb::arg("text"), nb::arg("words"), nb::arg("listed"),
          "Unigram lines, growing the word list: (words, log probabilities, back-offs, line of each from 0, fault),\n"
          "list.\n\n"
          "`listed` marks the words that have been unigrams; it comes back grown, as the last value.");
    m.def("parse_ngrams", &parse_ngrams, nb::arg("text"), nb::arg("order"), nb::arg("words"), nb::arg("index"),
          nb::arg("listed"),
          "N-gram lines of one order, over words that are listed.");
    m.def("format_ngrams", &format_ngrams, nb::arg("ngrams"), nb::arg("logprobs"), nb::arg("backoffs"),
          nb::arg("with_backoffs"), nb::arg("words"),
          "N-grams as lines, with the fewest digits that give the same floats again.");
}

}  // namespace dragoman::text
