// Rules for given sentences straight from an aligned corpus (Lopez 2007): patterns of words and gaps that sentences and
// corpus share are found in both at once, by a suffix array and, across gaps, by looking on in the corpus; from the places
// where a pattern occurs its rules are taken.
#include "base/parallel.hpp"
#include "training/aligned_text.hpp"
#include "training/numbering.hpp"
#include "training/rule_instances.hpp"
#include "training/rules.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace dragoman::training {
namespace {

constexpr std::size_t kSentencesPerBlock = 64;
constexpr int kMostChunks = 3;

// How many rules each initial pair has, which is what each of them counts less of, sentence by sentence.
auto count_rules(const AlignedText& text, In1<std::int32_t> limits, int threads, Progress progress) {
    const std::size_t rows = text.size(), blocks = blocks_of(rows, kSentencesPerBlock);
    std::vector<std::vector<std::uint32_t>> parts(blocks);
    std::vector<std::int64_t> offsets(rows + 1, 0);
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        RuleSentence sentence(limits_of(view(limits)));
        std::vector<HoledPair> found;
        for (std::size_t i = block * kSentencesPerBlock; i < std::min(rows, (block + 1) * kSentencesPerBlock); ++i) {
            sentence.read((*text.links)[i], text.source_length(i), text.target_length(i));
            for (const SpanPair& whole : sentence.pairs()) {
                found.clear();
                sentence.rules(whole, found);
                parts[block].push_back(static_cast<std::uint32_t>(found.size()));
            }
            offsets[i + 1] = static_cast<std::int64_t>(sentence.pairs().size());
        }
    });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<std::uint32_t> counts;
    counts.reserve(offsets.back());
    for (const auto& part : parts) counts.insert(counts.end(), part.begin(), part.end());
    return together(give(std::move(counts)), give(std::move(offsets)));
}

// What a pattern looks like without its words.
struct Pattern {
    bool leading = false, trailing = false;  // gaps at its ends
    int chunks = 0;                          // runs of words, with gaps between
    std::array<int, kMostChunks> lengths{};
    std::int64_t occurrences = 0, taken = 0;

    int words() const { return std::accumulate(lengths.begin(), lengths.end(), 0); }
    int gaps() const { return leading + trailing + std::max(0, chunks - 1); }
    int symbols() const { return words() + gaps(); }
};

// Where a pattern occurs: where its chunks begin among all words of the corpus.
struct Occurrence {
    std::array<std::int32_t, kMostChunks> starts;
};

// Where a pattern occurs in what is to be translated: the words [begin, at) of all of it.
struct InputPlace {
    std::int32_t begin, at;
    auto operator<=>(const InputPlace&) const = default;
};

struct Corpus {
    Words words;
    Bounds offsets;
    std::vector<std::int32_t> end;  // of the sentence of each word
    std::size_t vocabulary;         // more than any word's number

    explicit Corpus(const Rows& rows)
        : words(view(rows.values)), offsets(view(rows.offsets)), end(words.size()),
          vocabulary(words.empty() ? 0 : std::ranges::max(words) + 1) {
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
            std::fill(end.begin() + offsets[i], end.begin() + offsets[i + 1], static_cast<std::int32_t>(offsets[i + 1]));
    }
};

// Everything that is found from one first word on.
struct PlacesFound {
    std::vector<Pattern> patterns;
    std::vector<std::pair<std::uint32_t, Occurrence>> places;  // pattern, where
};

// Walks through all patterns that begin with a given word, or a gap and that word.
class PatternWalk {
public:
    PatternWalk(const Corpus& corpus, std::span<const std::int32_t> suffixes, const Corpus& input, const RuleLimits& limits,
                int span, std::int64_t sample, PlacesFound& out)
        : corpus_(corpus), suffixes_(suffixes), input_(input), limits_(limits), span_(span), sample_(sample), out_(out),
          slots_(corpus.vocabulary, -1) {}

    void start(std::int32_t word, bool leading, std::vector<InputPlace> places) {
        Pattern pattern;
        pattern.leading = leading;
        pattern.chunks = 1;
        pattern.lengths[0] = 1;
        if (pattern.symbols() > limits_.max_source_symbols || pattern.gaps() > limits_.max_nonterminals) return;
        const auto range = narrowed({0, suffixes_.size()}, 0, word);
        if (range.first == range.second) return;
        contiguous(pattern, range, places);
    }

private:
    using Range = std::pair<std::size_t, std::size_t>;

    // A word that comes next, where it does in the input, and where in the corpus.
    struct NextWord {
        std::int32_t word;
        std::vector<InputPlace> places;
        std::vector<Occurrence> occurrences;
    };
    using NextWords = std::vector<NextWord>;

    // While it lives, the words that come next are known by their numbers among them.
    class Marked {
    public:
        Marked(std::vector<std::int32_t>& slots, const NextWords& next) : slots_(slots), next_(next) {
            for (std::size_t i = 0; i < next.size(); ++i) slots[next[i].word] = static_cast<std::int32_t>(i);
        }
        ~Marked() {
            for (const NextWord& word : next_) slots_[word.word] = -1;
        }

    private:
        std::vector<std::int32_t>& slots_;
        const NextWords& next_;
    };

    // The suffixes of a range that have a word at some depth.
    Range narrowed(Range range, int depth, std::int32_t word) const {
        auto at = [&](std::int32_t suffix) {
            return suffix + depth < corpus_.end[suffix] ? corpus_.words[suffix + depth] : -1;
        };
        const auto begin = suffixes_.begin() + range.first, end = suffixes_.begin() + range.second;
        const auto low = std::partition_point(begin, end, [&](std::int32_t suffix) { return at(suffix) < word; });
        const auto high = std::partition_point(low, end, [&](std::int32_t suffix) { return at(suffix) == word; });
        return {low - suffixes_.begin(), high - suffixes_.begin()};
    }

    // A pattern of one chunk, which lies in a range of suffixes.
    void contiguous(const Pattern& pattern, Range range, const std::vector<InputPlace>& places) {
        std::vector<Occurrence> occurrences;
        occurrences.reserve(range.second - range.first);
        std::vector<std::int32_t> starts(suffixes_.begin() + range.first, suffixes_.begin() + range.second);
        std::ranges::sort(starts);
        for (const std::int32_t start : starts) occurrences.push_back({{start, 0, 0}});
        emit(pattern, occurrences);
        gap(pattern, occurrences, places);
        if (pattern.symbols() == limits_.max_source_symbols) return;
        for (const NextWord& next : by_next_word(places)) {
            const Range inner = narrowed(range, pattern.lengths[0], next.word);
            if (inner.first == inner.second) continue;
            Pattern longer = pattern;
            ++longer.lengths[0];
            contiguous(longer, inner, next.places);
        }
    }

    // The same with a gap at its end, and what comes after that.
    void gap(const Pattern& pattern, const std::vector<Occurrence>& occurrences, const std::vector<InputPlace>& places) {
        if (pattern.gaps() == limits_.max_nonterminals || pattern.symbols() == limits_.max_source_symbols) return;
        std::vector<InputPlace> after;
        for (const InputPlace& place : places) {
            const auto last = std::min(place.begin + span_, input_.end[place.begin]);
            for (auto at = place.at + 1; at <= last; ++at) after.push_back({place.begin, at});
        }
        if (after.empty()) return;
        std::ranges::sort(after);
        after.erase(std::unique(after.begin(), after.end()), after.end());
        Pattern ended = pattern;
        ended.trailing = true;
        emit(ended, occurrences);
        if (ended.symbols() == limits_.max_source_symbols || pattern.chunks == kMostChunks) return;
        const int chunk = pattern.chunks;
        NextWords next = by_next_word(after);
        {
            const Marked marked(slots_, next);
            for (const Occurrence& occurrence : occurrences) {
                const auto last = furthest(pattern, occurrence);
                const auto from = occurrence.starts[chunk - 1] + pattern.lengths[chunk - 1] + limits_.min_hole_source;
                for (auto at = from; at < last; ++at)
                    if (const std::int32_t slot = slots_[corpus_.words[at]]; slot >= 0) {
                        next[slot].occurrences.push_back(occurrence);
                        next[slot].occurrences.back().starts[chunk] = at;
                    }
            }
        }
        Pattern longer = pattern;
        ++longer.chunks;
        longer.lengths[chunk] = 1;
        for (const NextWord& word : next)
            if (!word.occurrences.empty()) gapped(longer, word.occurrences, word.places);
    }

    // A pattern of several chunks.
    void gapped(const Pattern& pattern, const std::vector<Occurrence>& occurrences, const std::vector<InputPlace>& places) {
        emit(pattern, occurrences);
        gap(pattern, occurrences, places);
        if (pattern.symbols() == limits_.max_source_symbols) return;
        const int chunk = pattern.chunks - 1;
        NextWords next = by_next_word(places);
        {
            const Marked marked(slots_, next);
            for (const Occurrence& occurrence : occurrences) {
                const auto at = occurrence.starts[chunk] + pattern.lengths[chunk];
                if (at >= furthest(pattern, occurrence)) continue;
                const std::int32_t slot = slots_[corpus_.words[at]];
                if (slot >= 0) next[slot].occurrences.push_back(occurrence);
            }
        }
        Pattern longer = pattern;
        ++longer.lengths[chunk];
        for (const NextWord& word : next)
            if (!word.occurrences.empty()) gapped(longer, word.occurrences, word.places);
    }

    // The end of what a pattern with this first word can cover in the corpus.
    std::int32_t furthest(const Pattern& pattern, const Occurrence& occurrence) const {
        const auto first = occurrence.starts[0];
        return std::min(first + limits_.max_span - (pattern.leading ? limits_.min_hole_source : 0), corpus_.end[first]);
    }

    // The words that come next in the input.
    NextWords by_next_word(const std::vector<InputPlace>& places) {
        NextWords next;
        for (const InputPlace& place : places) {
            if (place.at == input_.end[place.begin] || place.at - place.begin >= span_) continue;
            const std::int32_t word = input_.words[place.at];
            if (word < 0 || word >= static_cast<std::int32_t>(slots_.size())) continue;
            if (slots_[word] < 0) {
                slots_[word] = static_cast<std::int32_t>(next.size());
                next.push_back({word, {}, {}});
            }
            next[slots_[word]].places.push_back({place.begin, place.at + 1});
        }
        for (const NextWord& word : next) slots_[word.word] = -1;
        return next;
    }

    // Evenly spaced ones, if there are more than are to be taken.
    void emit(Pattern pattern, const std::vector<Occurrence>& occurrences) {
        const auto all = static_cast<std::int64_t>(occurrences.size());
        if (!all || (pattern.gaps() && pattern.words() < limits_.min_words)) return;
        pattern.occurrences = all;
        pattern.taken = sample_ ? std::min(sample_, all) : all;
        const auto number = static_cast<std::uint32_t>(out_.patterns.size());
        out_.patterns.push_back(pattern);
        for (std::int64_t k = 0; k < pattern.taken; ++k)
            out_.places.emplace_back(number, occurrences[(2 * k + 1) * all / (2 * pattern.taken)]);
    }

    const Corpus& corpus_;
    std::span<const std::int32_t> suffixes_;
    const Corpus& input_;
    const RuleLimits& limits_;
    int span_;
    std::int64_t sample_;
    PlacesFound& out_;
    std::vector<std::int32_t> slots_;  // of words that come next; -1 for others
};

// A pattern at a place of one sentence.
struct Wanted {
    std::uint32_t sentence, part, place;
};

// The rules of a sentence pair whose source side is a pattern at a place.
class PlacedRules {
public:
    explicit PlacedRules(const RuleLimits& limits) : sentence_(limits), limits_(limits) {}

    void read(std::span<const std::uint32_t> links, int source_length, int target_length) {
        sentence_.read(links, source_length, target_length);
        const auto pairs = sentence_.pairs();
        order_.resize(pairs.size());
        first_.assign(source_length + 1, 0);
        for (const SpanPair& pair : pairs) ++first_[pair.source_begin + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        at_ = first_;
        for (std::size_t i = 0; i < pairs.size(); ++i) order_[at_[pairs[i].source_begin]++] = static_cast<int>(i);
    }

    // Calls found(rule, initial pair) for each; `starts` are positions in the sentence.
    template <class Found>
    void find(const Pattern& pattern, const std::array<int, kMostChunks>& starts, Found&& found) {
        const int first = starts[0], last = starts[pattern.chunks - 1] + pattern.lengths[pattern.chunks - 1];
        const int lowest = pattern.leading ? std::max(0, last - limits_.max_span) : first;
        const int highest = pattern.leading ? first - limits_.min_hole_source : first;
        for (int begin = lowest; begin <= highest; ++begin)
            for (int k = first_[begin]; k < first_[begin + 1]; ++k) {
                const SpanPair& whole = sentence_.pairs()[order_[k]];
                if (pattern.trailing ? whole.source_end < last + limits_.min_hole_source : whole.source_end != last) continue;
                HoledPair rule{whole, {}, 0};
                if (pattern.leading) add_hole(rule, begin, first);
                for (int c = 0; c + 1 < pattern.chunks; ++c) add_hole(rule, starts[c] + pattern.lengths[c], starts[c + 1]);
                if (pattern.trailing) add_hole(rule, last, whole.source_end);
                fill(rule, 0, [&] {
                    if (sentence_.fits(rule)) found(rule, order_[k]);
                });
            }
    }

private:
    static void add_hole(HoledPair& rule, int begin, int end) {
        rule.holes[rule.nonterminals++] = {begin, end, 0, 0};
    }

    // Gives holes from the k-th on their target sides, in all ways.
    template <class Done>
    void fill(HoledPair& rule, int k, Done&& done) {
        if (k == rule.nonterminals) {
            done();
            return;
        }
        const auto [begin, end, ignored, unused] = rule.holes[k];
        for (int i = first_[begin]; i < first_[begin + 1]; ++i) {
            const SpanPair& pair = sentence_.pairs()[order_[i]];
            if (pair.source_end != end || pair.target_begin < rule.whole.target_begin ||
                pair.target_end > rule.whole.target_end || pair.target_length() < limits_.min_hole_target)
                continue;
            if (k && pair.target_begin < rule.holes[0].target_end && rule.holes[0].target_begin < pair.target_end) continue;
            rule.holes[k] = pair;
            fill(rule, k + 1, done);
        }
        rule.holes[k] = {begin, end, 0, 0};
    }

    RuleSentence sentence_;
    RuleLimits limits_;
    std::vector<int> at_, order_, first_;  // initial pairs by their source side, and where those of each beginning are
};

auto look_up_rules(const AlignedText& corpus, In1<std::int32_t> suffixes, const UnsignedRows& rule_counts,
                   In1<std::int32_t> limits, const Rows& sentences, int span, std::int64_t sample, int threads,
                   Progress progress) {
    require(rule_counts.size() == corpus.size(), "each sentence pair needs counts of rules");
    const RuleLimits limit = limits_of(view(limits));
    const Corpus text(*corpus.source), input(sentences);

    // Where each word, or a gap and that word, begins in the input.
    std::map<std::pair<std::int32_t, bool>, std::vector<InputPlace>> firsts;
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(input.words.size()); ++at) firsts[{input.words[at], false}].push_back({at, at + 1});
    for (std::size_t row = 0; row + 1 < input.offsets.size(); ++row)
        for (auto begin = static_cast<std::int32_t>(input.offsets[row]); begin < input.offsets[row + 1]; ++begin)
            for (auto at = begin + 1; at < std::min<std::int64_t>(input.offsets[row + 1], begin + std::int64_t(span)); ++at)
                firsts[{input.words[at], true}].push_back({begin, at + 1});
    std::vector<std::pair<std::pair<std::int32_t, bool>, std::vector<InputPlace>>> starts(firsts.begin(), firsts.end());
    std::vector<PlacesFound> parts(starts.size());
    run_blocks(starts.size(), threads, progress, [&](std::size_t block) {
        const auto& [first, places] = starts[block];
        PatternWalk(text, view(suffixes), input, limit, span, sample, parts[block]).start(first.first, first.second, places);
    });

    // All places, sentence by sentence.
    const std::size_t rows = text.offsets.size() - 1;
    std::vector<Wanted> wanted;
    std::vector<std::size_t> first_wanted(rows + 1, 0);
    {
        nb::gil_scoped_release release;
        std::vector<std::int32_t> sentence_of(text.words.size());
        for (std::size_t i = 0; i < rows; ++i)
            std::fill(sentence_of.begin() + text.offsets[i], sentence_of.begin() + text.offsets[i + 1], static_cast<std::int32_t>(i));
        std::size_t total = 0;
        for (const auto& part : parts) {
            total += part.places.size();
            for (const auto& [pattern, place] : part.places) ++first_wanted[sentence_of[place.starts[0]] + 1];
        }
        std::partial_sum(first_wanted.begin(), first_wanted.end(), first_wanted.begin());
        wanted.resize(total);
        auto at = first_wanted;
        for (std::uint32_t p = 0; p < parts.size(); ++p)
            for (std::uint32_t k = 0; k < parts[p].places.size(); ++k) {
                const auto sentence = static_cast<std::uint32_t>(sentence_of[parts[p].places[k].second.starts[0]]);
                wanted[at[sentence]++] = {sentence, p, k};
            }
    }
    const std::size_t blocks = blocks_of(rows, kSentencesPerBlock);
    std::vector<FoundRules> instances(blocks);
    run_blocks(blocks, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        PlacedRules rules(limit);
        for (std::size_t i = block * kSentencesPerBlock; i < std::min(rows, (block + 1) * kSentencesPerBlock) && !stop; ++i) {
            if (first_wanted[i] == first_wanted[i + 1]) continue;
            rules.read((*corpus.links)[i], corpus.source_length(i), corpus.target_length(i));
            for (std::size_t w = first_wanted[i]; w < first_wanted[i + 1]; ++w) {
                const auto& [number, place] = parts[wanted[w].part].places[wanted[w].place];
                const Pattern& pattern = parts[wanted[w].part].patterns[number];
                std::array<int, kMostChunks> at{};
                for (int c = 0; c < pattern.chunks; ++c) at[c] = int(place.starts[c] - text.offsets[i]);
                rules.find(pattern, at, [&](const HoledPair& rule, int pair) {
                    const std::uint64_t n = limit.fractional ? rule_counts[i][pair] : 1;
                    std::uint64_t count = (kOneCount + n / 2) / n;
                    if (pattern.taken < pattern.occurrences)
                        count = static_cast<std::uint64_t>(double(count) * double(pattern.occurrences) / double(pattern.taken));
                    instances[block].add(static_cast<std::int32_t>(i), rule, count);
                });
            }
        }
    });
    return gathered(instances, threads);
}

}  // namespace

void bind_rule_look_up(nb::module_& m) {
    m.def("count_rules", &count_rules, nb::arg("text"), nb::arg("limits"), nb::arg("threads"),
          nb::arg("progress").none(),
          "The number of rules of each initial pair, and the offsets of the sentences among them.");
    m.def("look_up_rules", &look_up_rules, nb::arg("corpus"), nb::arg("suffixes"), nb::arg("rule_counts"),
          nb::arg("limits"), nb::arg("sentences"), nb::arg("span"), nb::arg("sample"), nb::arg("threads"),
          nb::arg("progress").none(),
          "The instances of all rules whose source side fits on `span` words of the given sentences, from at most `sample` places of\n"
          "each side (0: all), whose counts then stand for all of them.");
}

}  // namespace dragoman::training
