// N-grams that hypotheses share with references, clipped: what BLEU, NIST, chrF and PER count.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "metrics/reference_trie.hpp"

#include <algorithm>

namespace dragoman::metrics {
namespace {

auto clipped_ngrams(In1<std::int32_t> words, In1<std::int64_t> offsets, In1<std::int64_t> sentences,
                    In1<std::int32_t> reference_words, In1<std::int64_t> reference_offsets, std::int64_t references,
                    In2<double> weights, std::int64_t longest, int threads, Progress progress) {
    const std::size_t n = sentences.shape(0), order = static_cast<std::size_t>(longest);
    const auto offset = view(offsets), reference_offset = view(reference_offsets);
    std::vector<double> matches(n * order, 0.0);
    constexpr std::size_t kPerBlock = 1024;
    run_blocks((n + kPerBlock - 1) / kPerBlock, threads, progress, [&](std::size_t block) {
        ReferenceTrie trie;
        std::int64_t indexed = -1;
        for (std::size_t i = block * kPerBlock; i < std::min(n, (block + 1) * kPerBlock); ++i) {
            const std::int64_t sentence = sentences.data()[i];
            if (sentence != indexed) {
                indexed = sentence;
                const std::int64_t first = sentence * references;
                trie.clear(order * (reference_offset[first + references] - reference_offset[first]));
                for (std::int64_t r = first; r < first + references; ++r)
                    trie.add(row(view(reference_words), reference_offset, static_cast<std::size_t>(r)),
                             weights.shape(0) ? weights.data() + reference_offset[r] * order : nullptr, order);
            }
            trie.count(row(view(words), offset, i), order, matches.data() + i * order);
        }
    });
    return give(std::move(matches), order);
}

}  // namespace

void bind_ngrams(nb::module_& m) {
    m.def("clipped_ngrams", &clipped_ngrams, nb::arg("words"), nb::arg("offsets"), nb::arg("sentences"),
          nb::arg("reference_words"), nb::arg("reference_offsets"), nb::arg("references"), nb::arg("weights"),
          nb::arg("order"), nb::arg("threads") = 1, nb::arg("progress").none() = nb::none(),
          "Weight of the n-grams of each order (columns, from 1) that each hypothesis (rows) shares with its\n"
          "references.\n\n"
          "Sentence s has the reference rows from s * references on; an n-gram counts at most as often as in one of\n"
          "them. `weights` has a row for each reference word, a column for each order of n-gram that begins there;\n"
          "or no rows. Hypothesis i translates sentence `sentences[i]`; words that no reference has are below 0.");
}

}  // namespace dragoman::metrics
