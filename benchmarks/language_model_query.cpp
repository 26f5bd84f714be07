// Times queries word by word: KenLM's probing model and our automaton, on the same words, in one process, by CPU time.
// Usage: language_model_query ARPA TEXT IDS SLOTS STATES UNIGRAMS,
// the last four as raw arrays; ids include the end of each sentence. language_model.py builds and runs it.
#include "lm/language_model.hpp"
#include "lm/model.hh"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
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

// The best of seven, in million words per second of CPU time; `score` returns the base-10 log-probability of all words.
template <class Score>
void report(const char* name, std::size_t words, Score&& score) {
    double best = 1e9, total = 0;
    for (int run = 0; run < 7; ++run) {
        const std::clock_t begin = std::clock();
        total = score();
        best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
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
    const dragoman::lm::LanguageModelView view{slots.data(), slots.size() / 2, states.data(), unigrams.data()};
    report("view", ours.size(), [&] {
        double total = 0;
        std::int32_t state = view.start();
        for (const auto word : ours) {
            const auto found = view.query(state, word);
            total += found.log10;
            state = word == dragoman::lm::eos ? view.start() : found.state;
        }
        return total;
    });
}
