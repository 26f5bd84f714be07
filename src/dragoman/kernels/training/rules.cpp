// Instances of rules with holes: extraction, the symbols and links of each, products of lexical weights. An instance is a
// place in the corpus, 26 bytes, from which its symbols are spelt whenever they are needed.
#include "training/rules.hpp"

#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "training/aligned_text.hpp"
#include "training/alignment_choice.hpp"
#include "training/numbering.hpp"
#include "training/rule_instances.hpp"

namespace dragoman::training {
namespace {

// Instances in an aligned text.
struct RuleInstances {
    Held1<std::int32_t> sentence;
    Held2<std::uint16_t> begins;  // source and target
    Held2<std::uint8_t> spans;    // a RuleSpans each
    Held1<std::uint64_t> counts;  // in units of 2^-36

    void check() const {
        require(begins.shape(0) == sentence.size() && begins.shape(1) == 2 && spans.shape(0) == sentence.size() &&
                    spans.shape(1) == kSpanFields && counts.size() == sentence.size(),
                "columns of instances differ in length");
    }
};

struct RuleCorpus {
    const AlignedText& text;
    const RuleInstances& instances;

    RuleCorpus(const AlignedText& aligned, const RuleInstances& placed) : text(aligned), instances(placed) {
        require(text.links_before.has_value(), "links of words are needed");
    }

    std::size_t size() const { return instances.sentence.size(); }
    const RuleSpans& spans(std::size_t i) const {
        return *reinterpret_cast<const RuleSpans*>(instances.spans.data() + kSpanFields * i);
    }
    std::uint16_t begin(std::size_t i, bool target) const { return instances.begins[2 * i + target]; }
    // The place of an instance's first word among those of the text.
    std::int64_t first_word(std::size_t i, bool target) const {
        return (target ? text.target : text.source)->offsets[instances.sentence[i]] + begin(i, target);
    }

    RuleSide source_side(std::size_t i) const {
        const RuleSpans& s = spans(i);
        return {text.source->values.data() + first_word(i, false), s.source_length,
                {s.holes[0].source_offset, s.holes[0].source_length, -1},
                {s.holes[1].source_offset, s.holes[1].source_length, -2}};
    }

    RuleSide target_side(std::size_t i) const {
        const RuleSpans& s = spans(i);
        RuleSide::Hole first{s.holes[0].target_offset, s.holes[0].target_length, -1};
        RuleSide::Hole second{s.holes[1].target_offset, s.holes[1].target_length, -2};
        if (second.length && second.offset < first.offset) std::swap(first, second);
        return {text.target->values.data() + first_word(i, true), s.target_length, first, second};
    }

    std::uint64_t count(std::size_t i) const { return instances.counts[i]; }
    // Sums that are the same but for rounding, such as 1/3 + 1/6 and 1/2, are ties: to 2^-20.
    static std::uint64_t rounded(std::uint64_t count) { return (count + (kOneCount >> 21)) / (kOneCount >> 20); }

    // The links of words that are in no hole, as source << 16 | target symbol.
    void relative(std::size_t i, LinkList& result) const {
        result.clear();
        const RuleSpans& s = spans(i);
        const auto& [a, b] = s.holes;
        const std::int64_t word = first_word(i, false);
        for (int at = 0; at < s.source_length; ++at) {
            if (in(at, a.source_offset, a.source_length) || in(at, b.source_offset, b.source_length)) continue;
            const int source = at - shift(at, a.source_offset, a.source_length) - shift(at, b.source_offset, b.source_length);
            for (const std::uint32_t link : text.links_of(word + at, 1)) {
                const int t = int(link & 0xFFFF) - begin(i, true);
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

    void give(std::int32_t row, FoundRules& out) const {
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

auto extract_rules(const AlignedText& text, In1<std::int32_t> limits, int threads, Progress progress) {
    const RuleLimits limit = limits_of(view(limits));
    const std::size_t rows = text.size();
    constexpr std::size_t kPerBlock = 256;
    const std::size_t blocks = blocks_of(rows, kPerBlock);
    std::vector<FoundRules> parts(blocks);
    run_blocks(blocks, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        RuleSentence sentence(limit);
        SentenceRules rules;
        std::vector<HoledPair> found;
        for (std::size_t i = block * kPerBlock; i < std::min(rows, (block + 1) * kPerBlock) && !stop; ++i) {
            const auto inner = (*text.links)[i];
            sentence.read(inner, text.source_length(i), text.target_length(i));
            rules.start();
            for (const SpanPair& whole : sentence.pairs()) {
                found.clear();
                sentence.rules(whole, found);
                const std::uint64_t n = limit.fractional ? found.size() : 1;
                for (const HoledPair& rule : found)
                    rules.add(rule, (kOneCount + n / 2) / n, (*text.source)[i], (*text.target)[i], inner,
                              sentence.first_link());
            }
            rules.give(static_cast<std::int32_t>(i), parts[block]);
        }
    });
    return gathered(parts, threads);
}

auto number_rule_sides(const AlignedText& text, const RuleInstances& instances, bool target, int threads,
                       Progress progress) {
    struct Sides {
        const RuleCorpus& rules;
        bool target;
        std::size_t size() const { return rules.size(); }
        RuleSide operator[](std::size_t i) const { return target ? rules.target_side(i) : rules.source_side(i); }
    };
    const RuleCorpus rules(text, instances);
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

auto choose_rule_alignments(In1<std::uint32_t> order, In1<std::int64_t> pair_offsets, const AlignedText& text,
                            const RuleInstances& instances, int threads, Progress progress) {
    return choose_links(RuleCorpus(text, instances), view(order), view(pair_offsets), threads, progress);
}

auto rule_links(In1<std::uint32_t> wanted, const AlignedText& text, const RuleInstances& instances) {
    const RuleCorpus rules(text, instances);
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

auto rule_products(In1<std::uint32_t> wanted, const AlignedText& text, const RuleInstances& instances,
                   In1<double> weights, bool target, int threads) {
    const RuleCorpus rules(text, instances);
    std::vector<double> products(wanted.size(), 1);
    run_blocks(blocks_of(products.size(), kRowsPerBlock), threads, nb::none(), [&](std::size_t block) {
        for (std::size_t k = block * kRowsPerBlock; k < std::min(products.size(), (block + 1) * kRowsPerBlock); ++k) {
            const std::uint32_t i = wanted.data()[k];
            const RuleSpans& s = rules.spans(i);
            const double* weight = weights.data() + rules.first_word(i, target);
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
    bind_record(
        m, "AlignedText",
        "A parallel text with sorted links, as source << 16 | target position, of each sentence pair; where those of\n"
        "words are needed, with the number of links before each word of the source, and of all.",
        Field{"source", &AlignedText::source}, Field{"target", &AlignedText::target},
        Field{"links", &AlignedText::links}, Field{"links_before", &AlignedText::links_before});
    bind_record(m, "RuleInstances", "Places of rules in a text, as `extract_rules` gives them.",
                Field{"sentence", &RuleInstances::sentence}, Field{"begins", &RuleInstances::begins},
                Field{"spans", &RuleInstances::spans}, Field{"counts", &RuleInstances::counts});
    m.def("extract_rules", &extract_rules, nb::arg("text"), nb::arg("limits"), nb::arg("threads"),
          nb::arg("progress").none(),
          "Rules with holes of sorted links: sentence; source and target begin; lengths of both sides and offset and length\n"
          "of two holes on both sides; count in units of 2**-36.");
    m.def("number_rule_sides", &number_rule_sides, nb::arg("text"), nb::arg("instances"), nb::arg("target"),
          nb::arg("threads"), nb::arg("progress").none(),
          "Number one side of instances by its symbols, in order of first occurrence: ids; the distinct sides' symbols and\n"
          "offsets.");
    m.def("unpaired_sides", &unpaired_sides, nb::arg("symbols"), nb::arg("offsets"),
          "For each of distinct sides the first one that is the same where any nonterminal is like any other.");
    m.def("side_hashes", &side_hashes, nb::arg("symbols"), nb::arg("offsets"),
          "A hash of each side in which any nonterminal is like any other; the same on every machine.");
    m.def("choose_rule_alignments", &choose_rule_alignments, nb::arg("order"), nb::arg("pair_offsets"), nb::arg("text"),
          nb::arg("instances"), nb::arg("threads"), nb::arg("progress").none(),
          "For each rule the instance with its most frequent links; ties broken for the forward and the backward table.");
    m.def("rule_links", &rule_links, nb::arg("wanted"), nb::arg("text"), nb::arg("instances"),
          "The links of the given instances as 256 * source + target symbol, and their offsets.");
    m.def("rule_products", &rule_products, nb::arg("wanted"), nb::arg("text"), nb::arg("instances"), nb::arg("weights"),
          nb::arg("target"), nb::arg("threads"),
          "The product of the weights of the words of one side of the given instances.");
}

}  // namespace dragoman::training
