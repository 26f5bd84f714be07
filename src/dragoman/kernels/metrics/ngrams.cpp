// N-grams that hypotheses share with references, clipped: what BLEU, NIST, chrF and PER count.
#include "base/parallel.hpp"
#include "metrics/compared.hpp"
#include "metrics/reference_trie.hpp"

#include <algorithm>

namespace dragoman::metrics {
namespace {

auto clipped_ngrams(const Compared& compared, std::int64_t count, In2<double> weights, std::int64_t longest,
                    int threads, Progress progress) {
    const std::size_t n = compared.size(), order = static_cast<std::size_t>(longest);
    const Rows& references = *compared.references;
    std::vector<double> matches(n * order, 0.0);
    constexpr std::size_t kPerBlock = 1024;
    run_blocks((n + kPerBlock - 1) / kPerBlock, threads, progress, [&](std::size_t block) {
        ReferenceTrie trie;
        std::int64_t indexed = -1;
        for (std::size_t i = block * kPerBlock; i < std::min(n, (block + 1) * kPerBlock); ++i) {
            const std::int64_t sentence = compared.sentences[i];
            if (sentence != indexed) {
                indexed = sentence;
                const std::int64_t first = sentence * count;
                trie.clear(order * (references.offsets[first + count] - references.offsets[first]));
                for (std::int64_t r = first; r < first + count; ++r)
                    trie.add(references[r], weights.shape(0) ? weights.data() + references.offsets[r] * order : nullptr,
                             order);
            }
            trie.count((*compared.hypotheses)[i], order, matches.data() + i * order);
        }
    });
    return give(std::move(matches), order);
}

}  // namespace

void bind_ngrams(nb::module_& m) {
    m.def(
        "clipped_ngrams", &clipped_ngrams, nb::arg("compared"), nb::arg("count"), nb::arg("weights"), nb::arg("order"),
        nb::arg("threads") = 1, nb::arg("progress").none() = nb::none(),
        "Weight of the n-grams of each order (columns, from 1) that each hypothesis (rows) shares with its\n"
        "references.\n\n"
        "Sentence s has `count` references, the rows from s * count on; an n-gram counts at most as often as in one\n"
        "of them. `weights` has a row for each reference word, a column for each order of n-gram that begins there;\n"
        "or no rows.");
}

}  // namespace dragoman::metrics
