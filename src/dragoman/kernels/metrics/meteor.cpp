// METEOR's alignment: as many exact matches as possible, then as many stem matches as possible, in as few chunks as
// possible. How many matches there are follows from counting words and stems; only the chunks need a search.
#include "base/parallel.hpp"
#include "metrics/compared.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace dragoman::metrics {
namespace {

struct Text {
    Words words, stems;
    std::size_t size() const { return words.size(); }
};

// How many words of a kind each side has, and thus how many of each side stay without a partner of that kind.
struct Tally {
    int hypothesis = 0, reference = 0;
    int matches() const { return std::min(hypothesis, reference); }
};

class Aligner {
public:
    explicit Aligner(std::size_t beam) : beam_(beam) {}

    // Exact matches, stem matches, chunks.
    std::array<std::int64_t, 3> align(const Text& hypothesis, const Text& reference) {
        tally(hypothesis, reference);
        std::int64_t exact = 0, all = 0;
        for (const Tally& word : words_) exact += word.matches();
        for (const Tally& stem : stems_) all += stem.matches();
        if (all == 0) return {0, 0, 0};
        return {exact, all - exact, fewest_chunks(hypothesis, reference)};
    }

private:
    // A partial alignment. The slacks say how often each rule may still be bent without losing a match: hypothesis
    // words that are not matched exactly, reference words that are not, and stems that are not matched at all.
    struct State {
        int chunks = 0, distance = 0, last = -2;
        std::vector<bool> used;
        std::vector<int> slack;
        auto place() const { return std::tie(last, used, slack); }
        auto cost() const { return std::tie(chunks, distance); }
    };

    // Numbers the distinct words and stems of the pair; words below 0 are in no reference and stay without a number.
    static std::vector<int> number(Words hypothesis, Words reference, std::vector<Tally>& tallies,
                                   std::vector<int>& reference_numbers) {
        // Sentences are short: looking through the words seen so far is faster than hashing.
        std::vector<std::int32_t> distinct;
        const auto find = [&](std::int32_t word) { return int(std::ranges::find(distinct, word) - distinct.begin()); };
        tallies.clear();
        reference_numbers.clear();
        for (const std::int32_t word : reference) {
            const int found = find(word);
            if (found == int(distinct.size())) {
                distinct.push_back(word);
                tallies.emplace_back();
            }
            reference_numbers.push_back(found);
            ++tallies[found].reference;
        }
        std::vector<int> result;
        result.reserve(hypothesis.size());
        for (const std::int32_t word : hypothesis) {
            const int found = find(word);
            result.push_back(found < int(distinct.size()) ? found : -1);
            if (result.back() >= 0) ++tallies[found].hypothesis;
        }
        return result;
    }

    void tally(const Text& hypothesis, const Text& reference) {
        word_ = number(hypothesis.words, reference.words, words_, reference_word_);
        stem_ = number(hypothesis.stems, reference.stems, stems_, reference_stem_);
        places_.assign(stems_.size(), {});
        for (std::size_t j = 0; j < reference.size(); ++j) places_[reference_stem_[j]].push_back(static_cast<int>(j));
    }

    std::int64_t fewest_chunks(const Text& hypothesis, const Text& reference) {
        const std::size_t n = words_.size();
        State start;
        start.used.assign(reference.size(), false);
        for (const Tally& word : words_) start.slack.push_back(word.hypothesis - word.matches());
        for (const Tally& word : words_) start.slack.push_back(word.reference - word.matches());
        for (const Tally& stem : stems_) start.slack.push_back(stem.hypothesis - stem.matches());
        states_.assign(1, start);
        for (std::size_t i = 0; i < hypothesis.size(); ++i) {
            const int word = word_[i], stem = stem_[i];
            if (stem < 0) {  // nothing to match: every chunk ends here
                for (State& state : states_) state.last = -2;
                continue;
            }
            if (stems_[stem].hypothesis == 1 && stems_[stem].reference == 1) {  // no choice, and no slack to mind
                for (State& state : states_) match(state, static_cast<int>(i), places_[stem].front());
                continue;
            }
            next_.clear();
            for (const State& state : states_) {
                for (const int j : places_[stem]) {
                    if (state.used[j]) continue;
                    const bool exact = reference_word_[j] == word;
                    if (!exact && (spent(state, word) || state.slack[n + reference_word_[j]] == 0)) continue;
                    State& next = next_.emplace_back(state);
                    if (!exact) {
                        if (word >= 0) --next.slack[word];
                        --next.slack[n + reference_word_[j]];
                    }
                    match(next, static_cast<int>(i), j);
                }
                if (!spent(state, word) && state.slack[2 * n + stem] > 0) {
                    State& next = next_.emplace_back(state);
                    if (word >= 0) --next.slack[word];
                    --next.slack[2 * n + stem];
                    next.last = -2;
                }
            }
            keep_best();
        }
        return std::ranges::min(states_, {}, &State::chunks).chunks;
    }

    static void match(State& state, int i, int j) {
        state.used[j] = true;
        state.chunks += j != state.last + 1;
        state.distance += std::abs(i - j);
        state.last = j;
    }

    static bool spent(const State& state, int word) { return word >= 0 && state.slack[word] == 0; }

    // Of states that differ only in their past the best; then the best `beam` of all.
    void keep_best() {
        states_.swap(next_);
        if (states_.size() <= 1) return;
        std::ranges::sort(states_, [](const State& a, const State& b) {
            return std::tuple_cat(a.place(), a.cost()) < std::tuple_cat(b.place(), b.cost());
        });
        const auto same = [](const State& a, const State& b) { return a.place() == b.place(); };
        states_.erase(std::unique(states_.begin(), states_.end(), same), states_.end());
        if (states_.size() <= beam_) return;
        std::ranges::stable_sort(states_, [](const State& a, const State& b) { return a.cost() < b.cost(); });
        states_.resize(beam_);
    }

    std::size_t beam_;
    std::vector<Tally> words_, stems_;
    std::vector<int> word_, stem_, reference_word_, reference_stem_;
    std::vector<std::vector<int>> places_;
    std::vector<State> states_, next_;
};

auto meteor_matches(const Compared& words, const Compared& stems, std::int64_t beam, int threads, Progress progress) {
    const std::size_t n = words.size();
    require(stems.size() == n && stems.references->size() == words.references->size(), "words need stems");
    std::vector<std::int64_t> result(n * 3);
    constexpr std::size_t kPerBlock = 256;
    run_blocks((n + kPerBlock - 1) / kPerBlock, threads, progress, [&](std::size_t block) {
        Aligner aligner(static_cast<std::size_t>(beam));
        for (std::size_t i = block * kPerBlock; i < std::min(n, (block + 1) * kPerBlock); ++i)
            std::ranges::copy(aligner.align({(*words.hypotheses)[i], (*stems.hypotheses)[i]},
                                            {words.reference(i), stems.reference(i)}),
                              result.begin() + static_cast<std::ptrdiff_t>(i) * 3);
    });
    return give(std::move(result), 3);
}

}  // namespace

void bind_meteor(nb::module_& m) {
    m.def("meteor_matches", &meteor_matches, nb::arg("words"), nb::arg("stems"), nb::arg("beam"),
          nb::arg("threads") = 1, nb::arg("progress").none() = nb::none(),
          "For each hypothesis: exact matches, further matches of stems, and chunks (the fewest that the beam\n"
          "finds).");
}

}  // namespace dragoman::metrics
