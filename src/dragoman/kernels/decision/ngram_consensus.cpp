// N-grams that hypotheses share with a whole distribution: expected counts over lists of strings, and sums over the
// n-grams of a string of values that n-grams have.
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "decision/string_lists.hpp"

#include <algorithm>

namespace dragoman::decision {
namespace {

// Calls each(n - 1, n-gram) for every occurrence of an n-gram.
template <class Each>
void each_ngram(Words words, std::size_t order, Each&& each) {
    for (std::size_t begin = 0; begin < words.size(); ++begin)
        for (std::size_t n = 0; n < std::min(order, words.size() - begin); ++n) each(n, words.subspan(begin, n + 1));
}

struct Expected {
    SequenceSet ngrams;
    std::vector<double> counts;
};

auto list_ngrams(const StringLists& lists, In1<double> weights, std::size_t order, int threads, Progress progress) {
    require(weights.size() == lists.strings->size(), "each string needs a weight");
    std::vector<Expected> found(lists.count());
    const std::size_t blocks = (lists.count() + kSentencesPerBlock - 1) / kSentencesPerBlock;
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        const std::size_t last = std::min(lists.count(), (block + 1) * kSentencesPerBlock);
        for (std::size_t s = block * kSentencesPerBlock; s < last; ++s) {
            Expected& here = found[s];
            for (std::size_t i = lists.begin(s); i < lists.end(s); ++i)
                each_ngram(lists[i], order, [&](std::size_t, Words ngram) {
                    const auto id = static_cast<std::size_t>(here.ngrams.intern(ngram));
                    if (id == here.counts.size()) here.counts.push_back(0);
                    here.counts[id] += weights[i];
                });
        }
    });
    std::vector<std::int64_t> bounds{0}, ngram_offsets{0};
    std::vector<std::int32_t> ngrams;
    std::vector<double> counts;
    for (Expected& here : found) {
        for (std::size_t id = 0; id < here.ngrams.size(); ++id) {
            const Words ngram = here.ngrams.sequence(id);
            ngrams.insert(ngrams.end(), ngram.begin(), ngram.end());
            ngram_offsets.push_back(static_cast<std::int64_t>(ngrams.size()));
        }
        counts.insert(counts.end(), here.counts.begin(), here.counts.end());
        bounds.push_back(static_cast<std::int64_t>(counts.size()));
        here = {};
    }
    return together(give(std::move(bounds)), give(std::move(ngrams)), give(std::move(ngram_offsets)), give(std::move(counts)));
}

// For each string and order the sum over its n-grams, each as often as it occurs, of the n-gram's value. If clipped, an
// n-gram that occurs c times counts min(c, value).
auto ngram_sums(const StringLists& lists, const StringLists& ngrams, In1<double> values, std::size_t order,
                double missing, bool clipped, int threads, Progress progress) {
    require(ngrams.count() == lists.count() && values.size() == ngrams.strings->size(),
            "n-grams need sentences and values");
    std::vector<double> sums(lists.strings->size() * order, 0.0);
    const std::size_t blocks = (lists.count() + kSentencesPerBlock - 1) / kSentencesPerBlock;
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        std::vector<std::int32_t> slots;
        std::vector<double> left;  // of each n-gram's value, for clipping
        std::vector<std::size_t> touched;
        const std::size_t last = std::min(lists.count(), (block + 1) * kSentencesPerBlock);
        for (std::size_t s = block * kSentencesPerBlock; s < last; ++s) {
            const std::size_t first = ngrams.begin(s), known = ngrams.end(s) - first;
            slots.assign(table_size(known), -1);
            const SequenceIndex index{view(ngrams.strings->values), view(ngrams.strings->offsets).subspan(first),
                                      slots};
            for (std::size_t id = 0; id < known; ++id) slots[index.slot(index.sequence(static_cast<std::int32_t>(id)))] = static_cast<std::int32_t>(id);
            left.assign(values.data() + first, values.data() + first + known);
            for (std::size_t i = lists.begin(s); i < lists.end(s); ++i) {
                double* row = sums.data() + i * order;
                touched.clear();
                each_ngram(lists[i], order, [&](std::size_t n, Words ngram) {
                    const std::int32_t id = index.find(ngram);
                    if (id < 0) {
                        row[n] += missing;
                        return;
                    }
                    const auto at = static_cast<std::size_t>(id);
                    if (!clipped) {
                        row[n] += left[at];
                        return;
                    }
                    const double taken = std::min(1.0, left[at]);
                    row[n] += taken;
                    left[at] -= taken;
                    touched.push_back(at);
                });
                for (const std::size_t at : touched) left[at] = values[first + at];
            }
        }
    });
    return give(std::move(sums), order);
}

}  // namespace

void bind_ngram_consensus(nb::module_& m) {
    bind_record(m, "StringLists", "The strings of one sentence after the other.",
                Field{"strings", &StringLists::strings}, Field{"sentences", &StringLists::sentences});
    m.def("list_ngrams", &list_ngrams, nb::arg("lists"), nb::arg("weights"), nb::arg("order"), nb::arg("threads") = 1,
          nb::arg("progress") = nb::none(),
          "The n-grams of each sentence's strings: bounds of sentences, words, offsets, weighted counts.");
    m.def("ngram_sums", &ngram_sums, nb::arg("lists"), nb::arg("ngrams"), nb::arg("values"), nb::arg("order"),
          nb::arg("missing"), nb::arg("clipped"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "For each string and order the sum of its n-grams' values, `missing` for n-grams that its sentence does\n"
          "not list.\n\n"
          "If clipped, an n-gram that occurs c times counts min(c, value) in all.");
}

}  // namespace dragoman::decision
