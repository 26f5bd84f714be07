// Instances of rules with holes: extraction, the symbols and links of each, products of lexical weights. An instance is a
// place in the corpus, 26 bytes, from which its symbols are spelt whenever they are needed.
#include "training/rules.hpp"

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "training/alignment_choice.hpp"
#include "training/numbering.hpp"
#include "training/rule_instances.hpp"

namespace dragoman::training {
namespace {

// An aligned corpus with instances in it, as Python gives them.
struct RuleCorpus {
    Words source_words, target_words;
    Bounds source_offsets, target_offsets;
    std::span<const std::uint32_t> links;
    std::span<const std::int64_t> first_link;  // the number of links before each source word
    std::span<const std::int32_t> sentence;
    std::span<const std::uint16_t> begins;
    std::span<const std::uint8_t> spans_;
    std::span<const std::uint64_t> counts;

    RuleCorpus(const AnyTuple& corpus, const AnyTuple& instances)
        : source_words(view(array_at<std::int32_t>(corpus, 0))), target_words(view(array_at<std::int32_t>(corpus, 2))),
          source_offsets(view(array_at<std::int64_t>(corpus, 1))), target_offsets(view(array_at<std::int64_t>(corpus, 3))),
          links(view(array_at<std::uint32_t>(corpus, 4))), first_link(view(array_at<std::int64_t>(corpus, 5))),
          sentence(view(array_at<std::int32_t>(instances, 0))) {
        const auto begin = array_at<std::uint16_t, 2>(instances, 1);
        const auto span = array_at<std::uint8_t, 2>(instances, 2);
        begins = {begin.data(), begin.size()};
        spans_ = {span.data(), span.size()};
        counts = view(array_at<std::uint64_t>(instances, 3));
    }

    std::size_t size() const { return sentence.size(); }
    const RuleSpans& spans(std::size_t i) const {
        return *reinterpret_cast<const RuleSpans*>(spans_.data() + kSpanFields * i);
    }

    RuleSide source_side(std::size_t i) const {
        const RuleSpans& s = spans(i);
        return {source_words.data() + source_offsets[sentence[i]] + begins[2 * i], s.source_length,
                {s.holes[0].source_offset, s.holes[0].source_length, -1},
                {s.holes[1].source_offset, s.holes[1].source_length, -2}};
    }

    RuleSide target_side(std::size_t i) const {
        const RuleSpans& s = spans(i);
        RuleSide::Hole first{s.holes[0].target_offset, s.holes[0].target_length, -1};
        RuleSide::Hole second{s.holes[1].target_offset, s.holes[1].target_length, -2};
        if (second.length && second.offset < first.offset) std::swap(first, second);
        return {target_words.data() + target_offsets[sentence[i]] + begins[2 * i + 1], s.target_length, first, second};
    }

    std::uint64_t count(std::size_t i) const { return counts[i]; }
    // Sums that are the same but for rounding, such as 1/3 + 1/6 and 1/2, are ties: to 2^-20.
    static std::uint64_t rounded(std::uint64_t count) { return (count + (kOneCount >> 21)) / (kOneCount >> 20); }

    // The links of words that are in no hole, as source << 16 | target symbol.
    void relative(std::size_t i, LinkList& result) const {
        result.clear();
        const RuleSpans& s = spans(i);
        const auto& [a, b] = s.holes;
        const auto word = source_offsets[sentence[i]] + begins[2 * i];
        for (int at = 0; at < s.source_length; ++at) {
            if (in(at, a.source_offset, a.source_length) || in(at, b.source_offset, b.source_length)) continue;
            const int source = at - shift(at, a.source_offset, a.source_length) - shift(at, b.source_offset, b.source_length);
            for (auto k = first_link[word + at]; k < first_link[word + at + 1]; ++k) {
                const int t = int(links[k] & 0xFFFF) - begins[2 * i + 1];
                const int target = t - shift(t, a.target_offset, a.target_length) - shift(t, b.target_offset, b.target_length);
                result.push_back(static_cast<std::uint32_t>(source << 16 | target));
            }
        }
    }

    static bool in(int at, int offset, int length) { return at >= offset && at < offset + length; }
    // By how much a hole before a position moves it.
    static int shift(int at, int offset, int length) { return length && offset < at ? length - 1 : 0; }
};

// Within a sentence pair equal rules with equal links become one instance, with the sum of their counts.
class SentenceRules {
public:
    void start() {
        seen_ = SequenceSet();
        counts_.clear();
        places_.clear();
    }

    void add(const HoledPair& rule, std::uint64_t count, Words source, Words target, std::span<const std::uint32_t> links,
             const std::vector<int>& first_link) {
        spell(rule, source, target, links, first_link);
        const auto id = static_cast<std::size_t>(seen_.intern(key_));
        if (id == counts_.size()) {
            counts_.push_back(0);
            places_.push_back(rule);
        }
        counts_[id] += count;
    }

    void give(std::int32_t row, RuleInstances& out) const {
        for (std::size_t i = 0; i < counts_.size(); ++i) out.add(row, places_[i], counts_[i]);
    }

private:
    // Both sides and the links: nothing in them is as negative as what stands between.
    void spell(const HoledPair& rule, Words source, Words target, std::span<const std::uint32_t> links,
               const std::vector<int>& first_link) {
        const SpanPair& whole = rule.whole;
        key_.clear();
        source_at_.clear();
        int symbol = 0;
        for (int at = whole.source_begin, k = 0; at < whole.source_end; ++symbol) {
            if (k < rule.nonterminals && at == rule.holes[k].source_begin) {
                key_.push_back(-1 - k);
                at = rule.holes[k++].source_end;
            } else {
                source_at_.emplace_back(at, symbol);
                key_.push_back(source[at++]);
            }
        }
        key_.push_back(-3);
        target_symbol_.assign(whole.target_length(), 0);
        symbol = 0;
        for (int at = whole.target_begin; at < whole.target_end; ++symbol) {
            int hole = -1;
            for (int k = 0; k < rule.nonterminals; ++k)
                if (rule.holes[k].target_begin == at) hole = k;
            if (hole >= 0) {
                key_.push_back(-1 - hole);
                at = rule.holes[hole].target_end;
            } else {
                target_symbol_[at - whole.target_begin] = symbol;
                key_.push_back(target[at++]);
            }
        }
        key_.push_back(-3);
        for (const auto& [at, number] : source_at_)
            for (int k = first_link[at]; k < first_link[at + 1]; ++k)
                key_.push_back(number << 16 | target_symbol_[int(links[k] & 0xFFFF) - whole.target_begin]);
    }

    SequenceSet seen_;
    std::vector<std::uint64_t> counts_;
    std::vector<HoledPair> places_;
    std::vector<std::int32_t> key_;
    std::vector<std::pair<int, int>> source_at_;
    std::vector<int> target_symbol_;
};

auto extract_rules(AnyTuple corpus, In1<std::int64_t> link_offsets, In1<std::int32_t> limits, int threads, Progress progress) {
    const auto source_words = view(array_at<std::int32_t>(corpus, 0)), target_words = view(array_at<std::int32_t>(corpus, 2));
    const auto source = view(array_at<std::int64_t>(corpus, 1)), target = view(array_at<std::int64_t>(corpus, 3));
    const auto links = view(array_at<std::uint32_t>(corpus, 4));
    const auto link = view(link_offsets);
    const RuleLimits limit = limits_of(view(limits));
    const std::size_t rows = source.size() - 1;
    constexpr std::size_t kPerBlock = 256;
    const std::size_t blocks = blocks_of(rows, kPerBlock);
    std::vector<RuleInstances> parts(blocks);
    run_blocks(blocks, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        RuleSentence sentence(limit);
        SentenceRules rules;
        std::vector<HoledPair> found;
        for (std::size_t i = block * kPerBlock; i < std::min(rows, (block + 1) * kPerBlock) && !stop; ++i) {
            const auto inner = links.subspan(link[i], link[i + 1] - link[i]);
            sentence.read(inner, int(source[i + 1] - source[i]), int(target[i + 1] - target[i]));
            rules.start();
            for (const SpanPair& whole : sentence.pairs()) {
                found.clear();
                sentence.rules(whole, found);
                const std::uint64_t n = limit.fractional ? found.size() : 1;
                for (const HoledPair& rule : found)
                    rules.add(rule, (kOneCount + n / 2) / n, row(source_words, source, i), row(target_words, target, i), inner,
                              sentence.first_link());
            }
            rules.give(static_cast<std::int32_t>(i), parts[block]);
        }
    });
    return gathered(parts, threads);
}

auto number_rule_sides(AnyTuple corpus, AnyTuple instances, bool target, int threads, Progress progress) {
    struct Sides {
        const RuleCorpus& rules;
        bool target;
        std::size_t size() const { return rules.size(); }
        RuleSide operator[](std::size_t i) const { return target ? rules.target_side(i) : rules.source_side(i); }
    };
    const RuleCorpus rules(corpus, instances);
    return number_sequences(Sides{rules, target}, threads, progress);
}

auto unpaired_sides(In1<std::int32_t> symbols, In1<std::int64_t> offsets) {
    std::vector<std::int32_t> first(offsets.size() - 1);
    {
        nb::gil_scoped_release release;
        SequenceSet seen;
        std::vector<std::int32_t> side, first_of;
        for (std::size_t i = 0; i < first.size(); ++i) {
            first[i] = static_cast<std::int32_t>(i);
            const Words given = row(view(symbols), view(offsets), i);
            if (std::ranges::find(given, -2) == given.end()) continue;
            side.assign(given.begin(), given.end());
            for (std::int32_t& symbol : side) symbol = std::max(symbol, -1);
            const auto id = static_cast<std::size_t>(seen.intern(side));
            if (id == first_of.size()) first_of.push_back(first[i]);
            first[i] = first_of[id];
        }
    }
    return give(std::move(first));
}

auto side_hashes(In1<std::int32_t> symbols, In1<std::int64_t> offsets) {
    std::vector<std::uint64_t> hashes(offsets.size() - 1);
    {
        nb::gil_scoped_release release;
        std::vector<std::int32_t> side;
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            const Words given = row(view(symbols), view(offsets), i);
            side.assign(given.begin(), given.end());
            for (std::int32_t& symbol : side) symbol = std::max(symbol, -1);
            hashes[i] = hash_words(side);
        }
    }
    return give(std::move(hashes));
}

auto choose_rule_alignments(In1<std::uint32_t> order, In1<std::int64_t> pair_offsets, AnyTuple corpus, AnyTuple instances,
                            int threads, Progress progress) {
    return choose_links(RuleCorpus(corpus, instances), view(order), view(pair_offsets), threads, progress);
}

auto rule_links(In1<std::uint32_t> wanted, AnyTuple corpus, AnyTuple instances) {
    const RuleCorpus rules(corpus, instances);
    std::vector<std::uint16_t> values;
    std::vector<std::int64_t> offsets{0};
    {
        nb::gil_scoped_release release;
        offsets.reserve(wanted.size() + 1);
        LinkList links;
        for (const std::uint32_t i : view(wanted)) {
            rules.relative(i, links);
            for (const std::uint32_t link : links) values.push_back(static_cast<std::uint16_t>(link >> 8 | (link & 0xFF)));
            offsets.push_back(static_cast<std::int64_t>(values.size()));
        }
    }
    return together(give(std::move(values)), give(std::move(offsets)));
}

auto rule_products(In1<std::uint32_t> wanted, AnyTuple corpus, AnyTuple instances, In1<double> weights, bool target, int threads) {
    const RuleCorpus rules(corpus, instances);
    std::vector<double> products(wanted.size(), 1);
    run_blocks(blocks_of(products.size(), kRowsPerBlock), threads, nb::none(), [&](std::size_t block) {
        for (std::size_t k = block * kRowsPerBlock; k < std::min(products.size(), (block + 1) * kRowsPerBlock); ++k) {
            const std::uint32_t i = wanted.data()[k];
            const RuleSpans& s = rules.spans(i);
            const auto offset = (target ? rules.target_offsets : rules.source_offsets)[rules.sentence[i]];
            const double* weight = weights.data() + offset + rules.begins[2 * i + target];
            auto in_hole = [&](int at) {
                return std::ranges::any_of(s.holes, [&](const auto& hole) {
                    return target ? RuleCorpus::in(at, hole.target_offset, hole.target_length)
                                  : RuleCorpus::in(at, hole.source_offset, hole.source_length);
                });
            };
            for (int at = 0; at < (target ? s.target_length : s.source_length); ++at)
                if (!in_hole(at)) products[k] *= weight[at];
        }
    });
    return give(std::move(products));
}

}  // namespace

void bind_rules(nb::module_& m) {
    m.def("extract_rules", &extract_rules, nb::arg("corpus"), nb::arg("link_offsets"), nb::arg("limits"), nb::arg("threads"),
          nb::arg("progress").none(),
          "Rules with holes of sorted links: sentence; source and target begin; lengths of both sides and offset and length\n"
          "of two holes on both sides; count in units of 2**-36. `corpus` has words and offsets of source and target, links,\n"
          "and the number of links before each source word.");
    m.def("number_rule_sides", &number_rule_sides, nb::arg("corpus"), nb::arg("instances"), nb::arg("target"), nb::arg("threads"),
          nb::arg("progress").none(),
          "Number one side of instances by its symbols, in order of first occurrence: ids; the distinct sides' symbols and\n"
          "offsets.");
    m.def("unpaired_sides", &unpaired_sides, nb::arg("symbols"), nb::arg("offsets"),
          "For each of distinct sides the first one that is the same where any nonterminal is like any other.");
    m.def("side_hashes", &side_hashes, nb::arg("symbols"), nb::arg("offsets"),
          "A hash of each side in which any nonterminal is like any other; the same on every machine.");
    m.def("choose_rule_alignments", &choose_rule_alignments, nb::arg("order"), nb::arg("pair_offsets"), nb::arg("corpus"),
          nb::arg("instances"), nb::arg("threads"), nb::arg("progress").none(),
          "For each rule the instance with its most frequent links; ties broken for the forward and the backward table.");
    m.def("rule_links", &rule_links, nb::arg("wanted"), nb::arg("corpus"), nb::arg("instances"),
          "The links of the given instances as 256 * source + target symbol, and their offsets.");
    m.def("rule_products", &rule_products, nb::arg("wanted"), nb::arg("corpus"), nb::arg("instances"), nb::arg("weights"),
          nb::arg("target"), nb::arg("threads"),
          "The product of the weights of the words of one side of the given instances.");
}

}  // namespace dragoman::training
