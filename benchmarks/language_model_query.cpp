// Times a language model that is stored on disk, word by word, by CPU time: KenLM's or ours, on the same text.
//
//     language_model_query build-probing|build-trie|build-quantised ARPA BINARY
//     language_model_query probing|trie|quantised BINARY TEXT
//     language_model_query dragoman FOLDER IDS
//
// FOLDER holds the arrays of a model (.npy); IDS are the words of TEXT in 32 bits, with the end of each sentence. Prints
// a line of names and numbers: seconds to load and CPU seconds of it, resident memory in MB, million words a CPU second,
// and the base-10 log-probability of all words. A quantised model is a trie with 8 bits for each number and compressed
// pointers. language_model.py and large_language_model.py build and run this.
#include "lm/language_model.hpp"
#include "lm/model.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Clock {
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::clock_t used = std::clock();

    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    double cpu() const { return static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC; }
};

double resident_mb() {
    std::ifstream statm("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    statm >> all >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void report_loading(const Clock& loading) {
    std::printf("load %.3f load-cpu %.3f memory %.1f ", loading.seconds(), loading.cpu(), resident_mb());
}

// The best of seven; `score` returns the base-10 log-probability of all words.
template <class Score>
void report_queries(std::size_t words, Score&& score) {
    double best = 1e9, total = 0;
    for (int run = 0; run < 7; ++run) {
        const Clock clock;
        total = score();
        best = std::min(best, clock.cpu());
    }
    std::printf("speed %.3f total %.4f\n", static_cast<double>(words) / best / 1e6, total);
}

lm::ngram::Config settings() {
    lm::ngram::Config config;
    config.show_progress = false;
    config.messages = nullptr;
    config.prob_bits = config.backoff_bits = 8;
    config.pointer_bhiksha_bits = 22;
    return config;
}

template <class Model>
int kenlm(bool builds, const char* from, const char* other) {
    lm::ngram::Config config = settings();
    if (builds) {
        config.write_mmap = other;
        const Clock building;
        const Model model(from, config);
        std::printf("cpu %.3f\n", building.cpu());
        return 0;
    }
    const Clock loading;
    const Model model(from, config);
    report_loading(loading);
    const auto& vocabulary = model.GetVocabulary();
    std::vector<lm::WordIndex> words;
    std::ifstream text(other);
    for (std::string line, word; std::getline(text, line);) {
        for (std::istringstream fields(line); fields >> word;) words.push_back(vocabulary.Index(word));
        words.push_back(vocabulary.EndSentence());
    }
    report_queries(words.size(), [&] {
        double total = 0;
        auto state = model.BeginSentenceState();
        lm::ngram::State next;
        for (const auto word : words) {
            total += model.FullScore(state, word, next).prob;
            state = word == vocabulary.EndSentence() ? model.BeginSentenceState() : next;
        }
        return total;
    });
    return 0;
}

// A stored array: mapped, and read as KenLM reads its files.
template <class T>
class Mapped {
public:
    explicit Mapped(const std::string& path, bool has_header = true) {
        const int file = open(path.c_str(), O_RDONLY);
        struct stat status;
        if (file < 0 || fstat(file, &status) != 0) throw std::runtime_error("cannot read " + path);
        bytes_ = static_cast<std::size_t>(status.st_size);
        start_ = static_cast<const char*>(mmap(nullptr, bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0));
        close(file);
        if (has_header) header_ = 10 + static_cast<unsigned char>(start_[8]) + 256U * static_cast<unsigned char>(start_[9]);
    }
    const T* data() const { return reinterpret_cast<const T*>(start_ + header_); }
    std::size_t size() const { return (bytes_ - header_) / sizeof(T); }

private:
    const char* start_;
    std::size_t bytes_, header_ = 0;
};

int ours(const std::string& folder, const char* ids) {
    const Clock loading;
    const Mapped<std::uint64_t> slots(folder + "/slots.npy"), states(folder + "/states.npy"), unigrams(folder + "/unigrams.npy");
    const dragoman::lm::LanguageModelView view{slots.data(), slots.size() / 2, states.data(), unigrams.data()};
    report_loading(loading);
    const Mapped<std::int32_t> words(ids, false);
    report_queries(words.size(), [&] {
        double total = 0;
        std::int32_t state = view.start();
        for (const std::int32_t *word = words.data(), *end = word + words.size(); word != end; ++word) {
            const auto found = view.query(state, *word);
            total += found.log10;
            state = *word == dragoman::lm::eos ? view.start() : found.state;
        }
        return total;
    });
    return 0;
}

}  // namespace

int main(int count, char** given) {
    if (count != 4) return 2;
    const bool builds = std::strncmp(given[1], "build-", 6) == 0;
    const std::string kind = given[1] + (builds ? 6 : 0);
    if (kind == "probing") return kenlm<lm::ngram::ProbingModel>(builds, given[2], given[3]);
    if (kind == "trie") return kenlm<lm::ngram::TrieModel>(builds, given[2], given[3]);
    if (kind == "quantised") return kenlm<lm::ngram::QuantArrayTrieModel>(builds, given[2], given[3]);
    return kind == "dragoman" ? ours(given[2], given[3]) : 2;
}
