// Where the source sides of grammars fit into sentences: a walk through their tries for each first word.
#include "base/parallel.hpp"
#include "base/records.hpp"

#include <algorithm>
#include <numeric>

namespace dragoman::search::chart {
namespace {

constexpr std::size_t columns = 8;  // grammar, node, begin, end, and begin and end of two holes (-1: none)
constexpr std::int32_t unknown = -1, fixed_span = -2;  // in place of a grammar
using Match = std::array<std::int32_t, columns>;

// The trie of a grammar's source sides, as model/grammar.py describes it.
struct Trie {
    static constexpr std::int32_t kNonterminal = -1;

    Held1<std::int64_t> first_child;
    Held1<std::int32_t> symbols;
    Held1<std::int64_t> first_rule;

    void check() const {
        require(first_child.size() == symbols.size() + 1 && first_rule.size() == symbols.size() + 1,
                "nodes of a trie differ in number");
    }

    // The child that a symbol leads to, or 0: the root is nobody's child.
    std::int64_t child(std::int64_t node, std::int32_t symbol) const {
        const std::int32_t* const first = symbols.data() + first_child[node];
        const std::int32_t* const last = symbols.data() + first_child[node + 1];
        const std::int32_t* const found = std::lower_bound(first, last, symbol);
        return found != last && *found == symbol ? found - symbols.data() : 0;
    }

    // The child that a nonterminal leads to, the least of all symbols.
    std::int64_t nonterminal(std::int64_t node) const {
        const std::int64_t first = first_child[node];
        return first < first_child[node + 1] && symbols[first] == kNonterminal ? first : 0;
    }

    std::int64_t rules(std::int64_t node) const { return first_rule[node + 1] - first_rule[node]; }
};
using Tries = std::vector<Ref<Trie>>;

// Finds the matches of one sentence from its last word to its first, so that it is known of every hole whether anything
// fits into it: what begins further right is done, and what begins here goes by rising ends.
class Walk {
public:
    Walk(const Tries& tries, Words words, std::span<const std::uint8_t> fixed, std::int32_t limit,
         const std::atomic<bool>& stop)
        : tries_(tries), words_(words), fixed_(fixed), length_(static_cast<std::int32_t>(words.size())),
          width_(std::min(limit, length_)), stop_(stop), filled_(words.size() * static_cast<std::size_t>(width_), 0) {}

    std::vector<Match> matches;

    // A span with a translation of its own.
    void give(std::int32_t number, std::int32_t begin, std::int32_t end) {
        matches.push_back({fixed_span, number, begin, end, -1, -1, -1, -1});
        fill(begin, end);
    }

    void run() {
        for (std::int32_t begin = length_; begin-- > 0 && !stop_;) {
            last_ = begin + std::min(width_, length_ - begin);
            translated_ = fixed_[begin];
            if (!fixed_[begin]) fill(begin, begin + 1);
            match_[2] = begin;
            for (std::size_t g = 0; g < tries_.size(); ++g) {
                match_[0] = static_cast<std::int32_t>(g);
                if (const auto child = word_child(*tries_[g], 0, begin)) step(*tries_[g], child, begin + 1, 0);
            }
            if (!translated_) matches.push_back({unknown, 0, begin, begin + 1, -1, -1, -1, -1});
            for (std::int32_t end = begin + 1; end <= last_; ++end) {
                if (!filled_[cell(begin, end)]) continue;
                for (std::size_t g = 0; g < tries_.size(); ++g) {
                    const auto child = tries_[g]->nonterminal(0);
                    if (child == 0) continue;
                    match_[0] = static_cast<std::int32_t>(g);
                    match_[4] = begin, match_[5] = end;
                    step(*tries_[g], child, end, 1);
                }
            }
        }
        // By rising ends, then falling begins: what is inside a span comes before it.
        std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
            return a[3] != b[3] ? a[3] < b[3] : a[2] > b[2];
        });
    }

private:
    void fill(std::int32_t begin, std::int32_t end) {
        if (end - begin <= width_) filled_[cell(begin, end)] = 1;
    }

    std::size_t cell(std::int32_t begin, std::int32_t end) const {
        return static_cast<std::size_t>(begin) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(end - begin - 1);
    }

    std::int64_t word_child(const Trie& trie, std::int64_t node, std::int32_t at) const {
        return fixed_[at] ? 0 : trie.child(node, words_[at]);
    }

    void step(const Trie& trie, std::int64_t node, std::int32_t at, int holes) {
        if (trie.rules(node) > 0) {
            match_[1] = static_cast<std::int32_t>(node);
            match_[3] = at;
            for (std::size_t i = 4 + 2 * static_cast<std::size_t>(holes); i < columns; ++i) match_[i] = -1;
            matches.push_back(match_);
            translated_ |= at == match_[2] + 1;
            fill(match_[2], at);
        }
        if (at == last_) return;
        if (const auto child = word_child(trie, node, at)) step(trie, child, at + 1, holes);
        const auto child = holes < 2 ? trie.nonterminal(node) : 0;
        if (child == 0) return;
        for (std::int32_t end = at + 1; end <= last_; ++end) {
            if (!filled_[cell(at, end)]) continue;
            match_[4 + 2 * static_cast<std::size_t>(holes)] = at;
            match_[5 + 2 * static_cast<std::size_t>(holes)] = end;
            step(trie, child, end, holes + 1);
        }
    }

    const Tries& tries_;
    Words words_;
    std::span<const std::uint8_t> fixed_;
    std::int32_t length_, width_, last_ = 0;
    const std::atomic<bool>& stop_;
    std::vector<std::uint8_t> filled_;
    bool translated_ = false;  // whether a rule translates the first word alone
    Match match_{};
};

auto chart_matches(const Tries& grammars, const Rows& sentences, In1<std::uint8_t> fixed, In2<std::int32_t> given,
                   int span_limit, int threads, Progress progress) {
    require(fixed.size() == sentences.values.size() && given.shape(1) == 3,
            "words need to be fixed or not, spans three numbers");
    std::vector<std::vector<Match>> found(sentences.size());
    run_blocks(sentences.size(), threads, progress, [&](std::size_t s, const std::atomic<bool>& stop) {
        const Words words = sentences[s];
        Walk walk(grammars, words, view(fixed).subspan(static_cast<std::size_t>(sentences.offsets[s]), words.size()),
                  span_limit, stop);
        for (std::size_t g = 0; g < given.shape(0); ++g) {
            const std::int32_t* row = given.data() + 3 * g;
            if (static_cast<std::size_t>(row[0]) == s) walk.give(static_cast<std::int32_t>(g), row[1], row[2]);
        }
        walk.run();
        found[s] = std::move(walk.matches);
    });
    std::vector<std::int64_t> bounds{0};
    for (const auto& part : found) bounds.push_back(bounds.back() + static_cast<std::int64_t>(part.size()));
    std::vector<std::int32_t> all;
    all.reserve(static_cast<std::size_t>(bounds.back()) * columns);
    for (auto& part : found) {
        for (const Match& match : part) all.insert(all.end(), match.begin(), match.end());
        std::vector<Match>().swap(part);
    }
    return together(give(std::move(all), columns), give(std::move(bounds)));
}

}  // namespace

void bind_matches(nb::module_& m) {
    bind_record(
        m, "Trie",
        "The source sides of a grammar: of each node the first child, the symbol that leads to it, the first rule.",
        Field{"first_child", &Trie::first_child}, Field{"symbols", &Trie::symbols},
        Field{"first_rule", &Trie::first_rule});
    m.def(
        "chart_matches", &chart_matches, nb::arg("grammars"), nb::arg("sentences"), nb::arg("fixed"), nb::arg("given"),
        nb::arg("span_limit"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
        "Where source sides of grammars fit into sentences, on spans of at most `span_limit` words.\n\n"
        "Words that are `fixed` match nothing, spans `given` (sentence, begin, end) fill holes. A grammar of -1 is a\n"
        "word that no rule translates alone, -2 the given span of that number in place of a node. Gives rows\n"
        "(grammar, node, begin, end, begin and end of each hole or -1), by sentence, rising end and falling begin,\n"
        "and the offsets of the sentences.");
}

}  // namespace dragoman::search::chart
