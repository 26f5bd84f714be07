// N-grams that hypotheses share with the average of many strings: expected counts of n-grams, and for each string the
// sum over its n-grams of min(count in the string, expected count).
//
// Sorted strings share their beginnings, like the paths of a trie, and an n-gram is counted once where it ends on such a
// path, however many strings go on from there.
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "decision/string_lists.hpp"

#include <algorithm>
#include <cstring>

namespace dragoman::decision {
namespace {

// N-grams by number; 0 is the empty one. An n-gram is found by the one without its last word, and that word.
class Ngrams {
public:
    explicit Ngrams(std::size_t order) : order_(order), suffixes_(order, 0), lengths_(1, 0), next_(1) {}

    std::size_t size() const { return lengths_.size(); }
    std::size_t length(std::int32_t ngram) const { return lengths_[static_cast<std::size_t>(ngram)]; }
    // The numbers of what it ends with, from its last word on to all of it.
    const std::int32_t* suffixes(std::int32_t ngram) const { return suffixes_.data() + static_cast<std::size_t>(ngram) * order_; }

    // The longest known n-gram that ends with `word`, where `before` is the longest that ends before it.
    std::int32_t ending(std::int32_t before, std::int32_t word, bool add) {
        const Next known = next_[static_cast<std::size_t>(before)];
        if (known.word == word) return known.ngram;
        const std::int32_t found = look_up(before, word, add);
        next_[static_cast<std::size_t>(before)] = {word, found};
        return found;
    }

private:
    // The word that followed last time, which is often the only one, and the longest n-gram that it ended.
    struct Next {
        std::int32_t word = -1, ngram = 0;
    };

    std::int32_t look_up(std::int32_t before, std::int32_t word, bool add) {
        std::size_t n = std::min(length(before), order_ - 1);
        // Where the longest is known, so is all that it ends with.
        std::int32_t found = children_.find(key(suffix(before, n), word));
        if (found >= 0) return found;
        if (add) {
            for (std::size_t m = 0; m <= n; ++m) found = child(suffix(before, m), word, found);
            return found;
        }
        while (found < 0 && n > 0) found = children_.find(key(suffix(before, --n), word));
        return std::max(found, 0);
    }

    static std::uint64_t key(std::int32_t ngram, std::int32_t word) {
        return std::uint64_t(std::uint32_t(ngram)) << 32 | std::uint32_t(word);
    }
    std::int32_t suffix(std::int32_t ngram, std::size_t words) const { return words ? suffixes(ngram)[words - 1] : 0; }

    // An n-gram and one more word; `shorter` is that without the first word.
    std::int32_t child(std::int32_t ngram, std::int32_t word, std::int32_t shorter) {
        KeyTable::Slot& slot = children_.slot(key(ngram, word));
        if (slot.number >= 0) return slot.number;
        const auto made = static_cast<std::int32_t>(size());
        children_.put(slot, key(ngram, word), made);
        const std::size_t words = length(ngram);
        suffixes_.resize(suffixes_.size() + order_);
        if (words) std::copy_n(suffixes(shorter), words, suffixes_.end() - static_cast<std::ptrdiff_t>(order_));
        suffixes_[suffixes_.size() - order_ + words] = made;
        lengths_.push_back(static_cast<std::uint8_t>(words + 1));
        next_.emplace_back();
        return made;
    }

    std::size_t order_;
    KeyTable children_{2048};
    std::vector<std::int32_t> suffixes_;
    std::vector<std::uint8_t> lengths_;
    std::vector<Next> next_;
};

// The strings of a sentence in an order in which neighbours share their beginnings, with the longest known n-gram that
// ends at each position where a string has left the one before it.
struct Paths {
    std::vector<std::size_t> strings;
    std::vector<std::size_t> shared;  // words that each has in common with the one before
    std::vector<std::int32_t> ends;

    Paths(const StringLists& lists, std::size_t sentence, Ngrams& ngrams, bool add)
        : strings(lists.end(sentence) - lists.begin(sentence)), shared(strings.size(), 0) {
        struct Entry {
            Words words;
            std::size_t string;
        };
        std::vector<Entry> sorted;
        for (std::size_t i = lists.begin(sentence); i < lists.end(sentence); ++i) sorted.push_back({lists[i], i});
        // By their bytes: any order will do in which those that share a beginning stand together.
        std::ranges::sort(sorted, [](const Entry& a, const Entry& b) {
            const std::size_t bytes = std::min(a.words.size_bytes(), b.words.size_bytes());
            const int found = bytes ? std::memcmp(a.words.data(), b.words.data(), bytes) : 0;
            return found ? found < 0 : a.words.size() != b.words.size() ? a.words.size() < b.words.size() : a.string < b.string;
        });
        std::vector<std::int32_t> path;
        Words before;
        for (std::size_t i = 0; i < strings.size(); ++i) {
            const Words words = sorted[i].words;
            strings[i] = sorted[i].string;
            shared[i] = static_cast<std::size_t>(std::ranges::mismatch(before, words).in2 - words.begin());
            path.resize(words.size());
            for (std::size_t p = shared[i]; p < words.size(); ++p) {
                path[p] = ngrams.ending(p ? path[p - 1] : 0, words[p], add);
                ends.push_back(path[p]);
            }
            before = words;
        }
    }
};

// Calls enter(position, n-gram) where a string leaves the one before it, leave(n-gram) for each position of what it
// leaves, the last first, and end(string, length) for each string.
template <class Enter, class Leave, class End>
void walk(const Paths& paths, const StringLists& lists, Enter&& enter, Leave&& leave, End&& end) {
    std::vector<std::int32_t> path;
    auto next = paths.ends.begin();
    const auto back_to = [&](std::size_t length) {
        for (; path.size() > length; path.pop_back()) leave(path.back());
    };
    for (std::size_t i = 0; i < paths.strings.size(); ++i) {
        back_to(paths.shared[i]);
        const std::size_t length = lists[paths.strings[i]].size();
        for (; path.size() < length; ++next) {
            enter(path.size(), *next);
            path.push_back(*next);
        }
        end(paths.strings[i], length);
    }
    back_to(0);
}

// How often each n-gram occurs in the strings, with their weights.
std::vector<double> expected_counts(const Paths& paths, const StringLists& lists, const Ngrams& ngrams, const double* weights) {
    std::vector<double> whole(ngrams.size(), 0.0), counts(ngrams.size(), 0.0);
    std::vector<double> masses(1, 0.0);  // of the strings that end at a position of the path
    walk(
        paths, lists, [&](std::size_t, std::int32_t) { masses.push_back(0.0); },
        [&](std::int32_t ngram) {
            const double mass = masses.back();
            masses.pop_back();
            masses.back() += mass;  // what goes on from here went through the position before
            whole[static_cast<std::size_t>(ngram)] += mass;
        },
        [&](std::size_t string, std::size_t) { masses.back() += weights[string]; });
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(whole.size()); ++i)
        for (std::size_t n = 0; n < ngrams.length(i); ++n) counts[static_cast<std::size_t>(ngrams.suffixes(i)[n])] += whole[static_cast<std::size_t>(i)];
    return counts;
}

// For each string and order the sum over its n-grams of min(count, expected count): the k-th occurrence of one that is
// expected v times counts v - k + 1, but at least 0 and at most 1.
void match(const Paths& paths, const StringLists& lists, const Ngrams& ngrams, std::size_t order,
           std::span<const double> counts, double* matches) {
    struct Count {
        double expected, used;  // in the current path
    };
    std::vector<Count> known;
    for (const double count : counts) known.push_back({count, 0.0});
    std::size_t longest = 0;
    for (const std::size_t string : paths.strings) longest = std::max(longest, lists[string].size());
    std::vector<double> sums((longest + 1) * order, 0.0);  // up to each position of the path
    walk(
        paths, lists,
        [&](std::size_t position, std::int32_t ngram) {
            const double* before = sums.data() + position * order;
            double* after = sums.data() + (position + 1) * order;
            const std::int32_t* ids = ngrams.suffixes(ngram);
            const std::size_t length = ngrams.length(ngram);
            for (std::size_t n = 0; n < length; ++n) {
                Count& count = known[static_cast<std::size_t>(ids[n])];
                after[n] = before[n] + std::min(std::max(count.expected - count.used, 0.0), 1.0);
                count.used += 1;
            }
            for (std::size_t n = length; n < order; ++n) after[n] = before[n];
        },
        [&](std::int32_t ngram) {
            const std::int32_t* ids = ngrams.suffixes(ngram);
            const std::size_t length = ngrams.length(ngram);
            for (std::size_t n = 0; n < length; ++n) known[static_cast<std::size_t>(ids[n])].used -= 1;
        },
        [&](std::size_t string, std::size_t length) { std::copy_n(sums.data() + length * order, order, matches + string * order); });
}

auto aggregated_matches(const StringLists& hypotheses, const StringLists& evidence, In1<double> weights,
                        std::size_t order, int threads, Progress progress) {
    require(evidence.count() == hypotheses.count() && weights.size() == evidence.strings->size(),
            "sentences need evidence, and its strings a weight each");
    const bool same = hypotheses.strings->values.data() == evidence.strings->values.data() &&
                      hypotheses.strings->offsets.data() == evidence.strings->offsets.data() &&
                      hypotheses.sentences.data() == evidence.sentences.data();
    std::vector<double> matches(hypotheses.strings->size() * order, 0.0);
    const std::size_t blocks = (hypotheses.count() + kSentencesPerBlock - 1) / kSentencesPerBlock;
    run_blocks(blocks, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        const std::size_t last = std::min(hypotheses.count(), (block + 1) * kSentencesPerBlock);
        for (std::size_t s = block * kSentencesPerBlock; s < last && !stop; ++s) {
            Ngrams ngrams(order);
            const Paths theirs(evidence, s, ngrams, true);
            const auto counts = expected_counts(theirs, evidence, ngrams, weights.data());
            if (same) match(theirs, evidence, ngrams, order, counts, matches.data());
            else match(Paths(hypotheses, s, ngrams, false), hypotheses, ngrams, order, counts, matches.data());
        }
    });
    return give(std::move(matches), order);
}

}  // namespace

void bind_aggregated_matches(nb::module_& m) {
    m.def("aggregated_matches", &aggregated_matches, nb::arg("hypotheses"), nb::arg("evidence"), nb::arg("weights"),
          nb::arg("order"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "N-grams of each order (columns) that each hypothesis (rows) shares with the average of its sentence's\n"
          "evidence, whose strings have weights.\n\n"
          "An n-gram that occurs c times in the hypothesis, and v times on average, counts min(c, v).");
}

}  // namespace dragoman::decision
