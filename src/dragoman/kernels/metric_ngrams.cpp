// N-grams that hypotheses share with references, clipped: what BLEU, NIST, chrF and PER count.
#include "arrays.hpp"
#include "hashing.hpp"
#include "parallel.hpp"

#include <algorithm>

namespace dragoman {
namespace {

constexpr std::size_t kHypothesesPerBlock = 1024;

using Words = std::span<const std::int32_t>;

// The n-grams of one sentence's references as a trie: an n-gram is its prefix's node and its last word, so that the
// keys of the hash table are exact. A node keeps the largest count that any reference has of it.
class ReferenceTrie {
public:
    void clear(std::size_t most_nodes) {
        slots_.assign(table_size(most_nodes), Slot{});
        allowed_.assign(1, 0);
        seen_.assign(1, 0);
        weight_.assign(1, 0.0);
    }

    // Adds one reference; weights has a row of `order` for each of its words, or is empty.
    void add(Words words, const double* weights, std::size_t order) {
        touched_.clear();
        for (std::size_t begin = 0; begin < words.size(); ++begin) {
            std::int32_t node = 0;
            for (std::size_t n = 0; n < std::min(order, words.size() - begin); ++n) {
                Slot& slot = slots_[position(node, words[begin + n])];
                if (slot.child < 0) {
                    slot = {key(node, words[begin + n]), static_cast<std::int32_t>(allowed_.size())};
                    allowed_.push_back(0);
                    seen_.push_back(0);
                    weight_.push_back(weights ? weights[begin * order + n] : 1.0);
                }
                node = slot.child;
                if (seen_[node]++ == 0) touched_.push_back(node);
            }
        }
        for (const std::int32_t node : touched_) allowed_[node] = std::max(allowed_[node], seen_[node]);
        forget();
    }

    // Adds to matches[n] the weight of each n-gram of order n + 1 that is still allowed.
    void count(Words words, std::size_t order, double* matches) {
        touched_.clear();
        for (std::size_t begin = 0; begin < words.size(); ++begin) {
            std::int32_t node = 0;
            for (std::size_t n = 0; n < std::min(order, words.size() - begin); ++n) {
                node = slots_[position(node, words[begin + n])].child;
                if (node < 0) break;
                if (seen_[node]++ == 0) touched_.push_back(node);
                if (seen_[node] <= allowed_[node]) matches[n] += weight_[node];
            }
        }
        forget();
    }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::int32_t child = -1;
    };

    static std::uint64_t key(std::int32_t node, std::int32_t word) {
        return std::uint64_t(std::uint32_t(node)) << 32 | std::uint32_t(word);
    }

    // The slot of a node's child, or the empty one where it belongs.
    std::size_t position(std::int32_t node, std::int32_t word) const {
        const std::uint64_t wanted = key(node, word);
        std::size_t at = mix(wanted) & (slots_.size() - 1);
        while (slots_[at].child >= 0 && slots_[at].key != wanted) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void forget() {
        for (const std::int32_t node : touched_) seen_[node] = 0;
    }

    std::vector<Slot> slots_;
    std::vector<std::int32_t> allowed_, seen_, touched_;
    std::vector<double> weight_;
};

auto clipped_ngrams(In1<std::int32_t> words, In1<std::int64_t> offsets, In1<std::int64_t> sentences,
                    In1<std::int32_t> reference_words, In1<std::int64_t> reference_offsets, std::int64_t references,
                    In2<double> weights, std::int64_t longest, int threads, nb::object progress) {
    const std::size_t n = sentences.shape(0), order = static_cast<std::size_t>(longest);
    const auto offset = view(offsets), reference_offset = view(reference_offsets);
    const auto row = [](Words all, std::span<const std::int64_t> bounds, std::int64_t i) {
        return all.subspan(bounds[i], bounds[i + 1] - bounds[i]);
    };
    std::vector<double> matches(n * order, 0.0);
    run_blocks((n + kHypothesesPerBlock - 1) / kHypothesesPerBlock, threads, progress, [&](std::size_t block) {
        ReferenceTrie trie;
        std::int64_t indexed = -1;
        for (std::size_t i = block * kHypothesesPerBlock; i < std::min(n, (block + 1) * kHypothesesPerBlock); ++i) {
            const std::int64_t sentence = sentences.data()[i];
            if (sentence != indexed) {
                indexed = sentence;
                const std::int64_t first = sentence * references;
                trie.clear(order * (reference_offset[first + references] - reference_offset[first]));
                for (std::int64_t r = first; r < first + references; ++r)
                    trie.add(row(view(reference_words), reference_offset, r),
                             weights.shape(0) ? weights.data() + reference_offset[r] * order : nullptr, order);
            }
            trie.count(row(view(words), offset, static_cast<std::int64_t>(i)), order, matches.data() + i * order);
        }
    });
    return give(std::move(matches), order);
}

}  // namespace

void bind_metric_ngrams(nb::module_& m) {
    m.def("clipped_ngrams", &clipped_ngrams, nb::arg("words").noconvert(), nb::arg("offsets").noconvert(),
          nb::arg("sentences").noconvert(), nb::arg("reference_words").noconvert(),
          nb::arg("reference_offsets").noconvert(), nb::arg("references"), nb::arg("weights").noconvert(),
          nb::arg("order"), nb::arg("threads") = 1, nb::arg("progress").none() = nb::none());
}

}  // namespace dragoman
