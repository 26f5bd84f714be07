// From phrase instances to phrase pairs: number the distinct phrases, bring the instances of a pair together, choose
// the alignment of each pair, multiply lexical weights, and put the pairs of a source phrase in order.
// An instance is a span of words in a sentence on each side; instances are numbered by uint32.
#include "base/parallel.hpp"
#include "training/aligned_text.hpp"
#include "training/alignment_choice.hpp"
#include "training/numbering.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dragoman::training {
namespace {

// One side of all instances: words of a corpus.
struct Spans {
    std::span<const std::int32_t> words;
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> sentence;
    std::span<const std::uint16_t> begin;
    std::span<const std::uint8_t> length;

    std::size_t size() const { return sentence.size(); }

    std::span<const std::int32_t> operator[](std::size_t i) const {
        return words.subspan(offsets[sentence[i]] + begin[i], length[i]);
    }
};

auto number_spans(In1<std::int32_t> words, In1<std::int64_t> offsets, In1<std::int32_t> sentence,
                  In1<std::uint16_t> begin, In1<std::uint8_t> length, int threads, Progress progress) {
    return number_sequences(Spans{view(words), view(offsets), view(sentence), view(begin), view(length)}, threads, progress);
}

// Which of so many buckets the words of each span belong to. Equal words have the same bucket; the bits that choose it are
// others than those that `Numbering` deals out by, so that the spans of one bucket are dealt out evenly as well.
auto span_buckets(In1<std::int32_t> words, In1<std::int64_t> offsets, In1<std::int32_t> sentence, In1<std::uint16_t> begin,
                  In1<std::uint8_t> length, int buckets, int threads) {
    const Spans spans{view(words), view(offsets), view(sentence), view(begin), view(length)};
    const std::size_t n = spans.size();
    std::vector<std::uint16_t> bucket(n);
    run_blocks(blocks_of(n, kRowsPerBlock), threads, nb::none(), [&](std::size_t block) {
        for (std::size_t i = block * kRowsPerBlock; i < std::min(n, (block + 1) * kRowsPerBlock); ++i)
            bucket[i] = static_cast<std::uint16_t>((mix(~hash_words(spans[i])) >> 32) * std::uint64_t(buckets) >> 32);
    });
    return give(std::move(bucket));
}

// Sorts the instances by (source, target, instance): counting sort by source, then each source's instances by target.
auto group_pairs(In1<std::int32_t> source_ids, In1<std::int32_t> target_ids, std::size_t sources, int threads,
                 Progress progress) {
    const auto source = view(source_ids), target = view(target_ids);
    const std::size_t n = source.size(), blocks = blocks_of(sources, kGroupsPerBlock);
    std::vector<std::uint64_t> keys(n);
    std::vector<std::size_t> begin(sources + 1, 0);
    std::vector<std::size_t> pairs(blocks + 1, 0);
    {
        nb::gil_scoped_release release;
        for (const std::int32_t s : source) ++begin[s + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        std::vector<std::size_t> at(begin.begin(), begin.end() - 1);
        for (std::size_t i = 0; i < n; ++i) keys[at[source[i]]++] = std::uint64_t(target[i]) << 32 | i;
    }
    auto starts_pair = [&](std::size_t i, std::size_t group) {
        return i == begin[group] || keys[i] >> 32 != keys[i - 1] >> 32;
    };
    std::vector<std::uint32_t> order(n);
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        for (std::size_t s = block * kGroupsPerBlock; s < std::min(sources, (block + 1) * kGroupsPerBlock); ++s) {
            std::sort(keys.begin() + begin[s], keys.begin() + begin[s + 1]);
            for (std::size_t i = begin[s]; i < begin[s + 1]; ++i) {
                order[i] = static_cast<std::uint32_t>(keys[i]);
                pairs[block + 1] += starts_pair(i, s);
            }
        }
    });
    std::partial_sum(pairs.begin(), pairs.end(), pairs.begin());
    std::vector<std::int64_t> pair_offsets(pairs[blocks] + 1);
    pair_offsets.back() = static_cast<std::int64_t>(n);
    run_blocks(blocks, threads, nb::none(), [&](std::size_t block) {
        std::size_t pair = pairs[block];
        for (std::size_t s = block * kGroupsPerBlock; s < std::min(sources, (block + 1) * kGroupsPerBlock); ++s)
            for (std::size_t i = begin[s]; i < begin[s + 1]; ++i)
                if (starts_pair(i, s)) pair_offsets[pair++] = static_cast<std::int64_t>(i);
    });
    return together(give(std::move(order)), give(std::move(pair_offsets)));
}

// The links inside a consistent phrase pair are all links of its source words: a run of the sentence's sorted links.
struct PhrasePlaces {
    Held1<std::int32_t> sentence;
    Held1<std::uint16_t> source_begin;
    Held1<std::uint8_t> source_length;
    Held1<std::uint16_t> target_begin;

    void check() const {
        require(source_begin.size() == sentence.size() && source_length.size() == sentence.size() &&
                    target_begin.size() == sentence.size(),
                "columns of instances differ in length");
    }
};

class InnerLinks {
public:
    InnerLinks(const PhrasePlaces& places, const AlignedText& text) : places_(places), text_(text) {
        require(text.links_before.has_value(), "links of words are needed");
    }

    std::span<const std::uint32_t> of(std::uint32_t i) const {
        return text_.links_of(text_.source->offsets[places_.sentence[i]] + places_.source_begin[i],
                              places_.source_length[i]);
    }

    // The links as source position << 16 | target position, both relative to the phrases.
    void relative(std::uint32_t i, std::vector<std::uint32_t>& result) const {
        result.assign(of(i).begin(), of(i).end());
        for (std::uint32_t& link : result) link -= base(i);
    }

    // All instances of a phrase pair count the same.
    static std::uint64_t count(std::uint32_t) { return 1; }
    static std::uint64_t rounded(std::uint64_t count) { return count; }

    // What to subtract from a link to make its positions relative to the phrases.
    std::uint32_t base(std::uint32_t i) const {
        return static_cast<std::uint32_t>(places_.source_begin[i]) << 16 |
               static_cast<std::uint32_t>(places_.target_begin[i]);
    }

private:
    const PhrasePlaces& places_;
    const AlignedText& text_;
};

auto choose_alignments(In1<std::uint32_t> order, In1<std::int64_t> pair_offsets, const PhrasePlaces& places,
                       const AlignedText& text, int threads, Progress progress) {
    const InnerLinks inner(places, text);
    return choose_links(inner, view(order), view(pair_offsets), threads, progress);
}

auto inner_links(In1<std::uint32_t> instances, const PhrasePlaces& places, const AlignedText& text) {
    const InnerLinks inner(places, text);
    std::vector<std::uint16_t> values;
    std::vector<std::int64_t> offsets{0};
    {
        nb::gil_scoped_release release;
        for (const std::uint32_t i : view(instances)) {
            for (const std::uint32_t link : inner.of(i)) {
                const std::uint32_t relative = link - inner.base(i);
                values.push_back(static_cast<std::uint16_t>(relative >> 16 << 8 | (relative & 0xFF)));
            }
            offsets.push_back(static_cast<std::int64_t>(values.size()));
        }
    }
    return together(give(std::move(values)), give(std::move(offsets)));
}

auto span_products(In1<double> weights, In1<std::int64_t> offsets, In1<std::int32_t> sentence,
                   In1<std::uint16_t> begin, In1<std::uint8_t> length, In1<std::uint32_t> instances) {
    const auto weight = view(weights);
    const auto offset = view(offsets);
    std::vector<double> products(instances.shape(0));
    {
        nb::gil_scoped_release release;
        for (std::size_t k = 0; k < products.size(); ++k) {
            const std::uint32_t i = instances.data()[k];
            const auto span = weight.subspan(offset[sentence.data()[i]] + begin.data()[i], length.data()[i]);
            products[k] = std::accumulate(span.begin(), span.end(), 1.0, std::multiplies<>());
        }
    }
    return give(std::move(products));
}

auto order_pairs(In1<std::int64_t> source_offsets, In1<std::int32_t> target_ids, In1<std::int32_t> target_words,
                 In1<std::int64_t> target_offsets, In1<float> first_score, In1<float> second_score, int threads,
                 Progress progress) {
    const auto source = view(source_offsets), offsets = view(target_offsets);
    const auto target = view(target_ids), words = view(target_words);
    const auto major = view(first_score), minor = view(second_score);
    auto phrase = [&](std::int64_t pair) {
        return words.subspan(offsets[target[pair]], offsets[target[pair] + 1] - offsets[target[pair]]);
    };
    auto before = [&](std::int64_t a, std::int64_t b) {
        if (major[a] != major[b]) return major[a] > major[b];
        if (minor[a] != minor[b]) return minor[a] > minor[b];
        return std::ranges::lexicographical_compare(phrase(a), phrase(b));
    };
    const std::size_t sources = source.size() - 1;
    std::vector<std::int64_t> order(target.size());
    run_blocks(blocks_of(sources, kGroupsPerBlock), threads, progress, [&](std::size_t block) {
        for (std::size_t s = block * kGroupsPerBlock; s < std::min(sources, (block + 1) * kGroupsPerBlock); ++s) {
            const auto begin = order.begin() + source[s], end = order.begin() + source[s + 1];
            std::iota(begin, end, source[s]);
            std::sort(begin, end, before);
        }
    });
    return give(std::move(order));
}

}  // namespace

void bind_score(nb::module_& m) {
    bind_record(m, "PhrasePlaces", "Instances of phrase pairs in a text, as far as their links depend on them.",
                Field{"sentence", &PhrasePlaces::sentence}, Field{"source_begin", &PhrasePlaces::source_begin},
                Field{"source_length", &PhrasePlaces::source_length},
                Field{"target_begin", &PhrasePlaces::target_begin});
    m.def("number_spans", &number_spans, nb::arg("words"), nb::arg("offsets"), nb::arg("sentence"), nb::arg("begin"),
          nb::arg("length"), nb::arg("threads"), nb::arg("progress").none(),
          "Number spans of a corpus by their words, in order of first occurrence: ids; the distinct phrases' words\n"
          "and offsets. Fewer than 2**31 spans.");
    m.def("span_buckets", &span_buckets, nb::arg("words"), nb::arg("offsets"), nb::arg("sentence"), nb::arg("begin"),
          nb::arg("length"), nb::arg("buckets"), nb::arg("threads"),
          "Deal spans of a corpus out to at most 65,536 buckets by their words.");
    m.def("group_pairs", &group_pairs, nb::arg("source_ids"), nb::arg("target_ids"), nb::arg("sources"),
          nb::arg("threads"), nb::arg("progress").none(),
          "Instances sorted by (source, target, instance), and the offsets of each distinct pair among them.");
    m.def("choose_alignments", &choose_alignments, nb::arg("order"), nb::arg("pair_offsets"), nb::arg("places"),
          nb::arg("text"), nb::arg("threads"), nb::arg("progress").none(),
          "For each pair the instance with its most frequent alignment; ties broken for the forward and for the\n"
          "backward table.");
    m.def("inner_links", &inner_links, nb::arg("instances"), nb::arg("places"), nb::arg("text"),
          "The links inside the given instances as 256 * source + target position, and their offsets.");
    m.def("span_products", &span_products, nb::arg("weights"), nb::arg("offsets"), nb::arg("sentence"),
          nb::arg("begin"), nb::arg("length"), nb::arg("instances"),
          "The product of the weights of the words of each of the given instances; one weight a running word.");
    m.def("order_pairs", &order_pairs, nb::arg("source_offsets"), nb::arg("target_ids"), nb::arg("target_words"),
          nb::arg("target_offsets"), nb::arg("first_score"), nb::arg("second_score"), nb::arg("threads"),
          nb::arg("progress").none(),
          "Sort the pairs of each source phrase by two scores, greatest first, then by the words of the target.");
}

}  // namespace dragoman::training
