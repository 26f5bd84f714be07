// Times queries word by word: KenLM's probing model and our automaton, on the same words, in one process.
// Usage: language_model_query ARPA TEXT IDS SLOTS STATES UNIGRAMS,
// the last four as raw arrays; ids include the end of each sentence.
#include "lm/language_model.hpp"
#include "lm/model.hh"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

template <class T>
std::vector<T> load(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

// The best of seven, in million words a second; `score` returns the base-10 log-probability of all words.
template <class Score>
void report(const char* name, std::size_t words, Score&& score) {
    double best = 1e9, total = 0;
    for (int run = 0; run < 7; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        total = score();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("%s %.3f %.4f\n", name, static_cast<double>(words) / best / 1e6, total);
}

}  // namespace

int main(int, char** argv) {
    lm::ngram::Config config;
    config.show_progress = false;
    config.messages = nullptr;
    const lm::ngram::ProbingModel kenlm(argv[1], config);
    std::vector<lm::WordIndex> theirs;
    std::ifstream text(argv[2]);
    for (std::string line, word; std::getline(text, line);) {
        for (std::istringstream words(line); words >> word;) theirs.push_back(kenlm.GetVocabulary().Index(word));
        theirs.push_back(kenlm.GetVocabulary().EndSentence());
    }
    report("kenlm", theirs.size(), [&] {
        double total = 0;
        auto state = kenlm.BeginSentenceState();
        lm::ngram::State next;
        for (const auto word : theirs) {
            total += kenlm.FullScore(state, word, next).prob;
            state = word == kenlm.GetVocabulary().EndSentence() ? kenlm.BeginSentenceState() : next;
        }
        return total;
    });

    const auto ours = load<std::int32_t>(argv[3]);
    const auto slots = load<std::uint64_t>(argv[4]), states = load<std::uint64_t>(argv[5]);
    const auto unigrams = load<std::uint64_t>(argv[6]);
    const dragoman::LanguageModelView lm{slots.data(), slots.size() / 2 - 1, states.data(), unigrams.data()};
    const std::int32_t begin_state = dragoman::LanguageModelView::unpack(unigrams[1]).state;
    report("view", ours.size(), [&] {
        double total = 0;
        std::int32_t state = begin_state;
        for (const auto word : ours) {
            const auto found = lm.query(state, word);
            total += found.log10;
            state = word == 2 ? begin_state : found.state;
        }
        return total;
    });
}
