// The most probable strings of a hypergraph: derivations of one string are summed, not maximised over (Blunsom, Cohn &
// Osborne 2008), under a beam of strings at each node.
#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "base/sequence_set.hpp"
#include "forest/surroundings.hpp"

#include <algorithm>

namespace dragoman::forest {
namespace {

// A string that a node writes, and the log-sum over its derivations that were kept.
struct Written {
    std::int32_t string;
    double score;
};

class StringBeam {
public:
    StringBeam(const Forest& forest, const Templates& templates, std::size_t root, std::size_t beam, std::size_t max_strings,
               const std::atomic<bool>& stop)
        : forest_(forest), templates_(templates), beam_(beam), max_strings_(max_strings), stop_(stop), written_(forest.nodes()) {
        const Surroundings around(forest, templates, root);
        for (std::size_t node = 0; node <= root; ++node)
            if (around.used[node]) build(node, around);
    }

    const std::vector<Written>& at(std::size_t node) const { return written_[node]; }
    Words words(std::int32_t string) const { return strings_.sequence(static_cast<std::size_t>(string)); }

private:
    void build(std::size_t node, const Surroundings& around) {
        found_.clear();
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge) {
            if (!around.usable(forest_, edge)) continue;
            const auto& first = tail(edge, 0);
            const auto& second = tail(edge, 1);
            // Where ranks (i, j) have (i + 1)(j + 1) > beam, the edge has as many pairs that are no worse.
            for (std::size_t i = 0; i < first.size(); ++i)
                for (std::size_t j = 0; j < second.size() && (i + 1) * (j + 1) <= beam_; ++j)
                    add(edge, first[i], second[j]);
        }
        auto& kept = written_[node];
        for (const std::int32_t string : found_) {
            LogSum& sum = sums_[static_cast<std::size_t>(string)];
            kept.push_back({string, sum.value()});
            sum = LogSum{};
        }
        // Strings that were found first come first among equals.
        std::ranges::stable_sort(kept, std::ranges::greater{}, &Written::score);
        if (kept.size() > beam_) kept.resize(beam_);
    }

    const std::vector<Written>& tail(std::size_t edge, int k) const {
        const std::int32_t node = forest_.tail(edge, k);
        return node < 0 ? no_tail_ : written_[static_cast<std::size_t>(node)];
    }

    void add(std::size_t edge, const Written& first, const Written& second) {
        heed(stop_);
        key_.clear();
        for (const std::int32_t symbol : templates_.of(edge)) {
            if (symbol >= 0) {
                key_.push_back(symbol);
            } else {
                const Words inner = words(symbol == -1 ? first.string : second.string);
                key_.insert(key_.end(), inner.begin(), inner.end());
            }
        }
        const std::int32_t string = strings_.intern(key_);
        const auto at = static_cast<std::size_t>(string);
        if (at == sums_.size()) {
            if (at == max_strings_) throw LimitError("more strings than max_strings");
            sums_.emplace_back();
        }
        if (sums_[at].peak == no_score) found_.push_back(string);
        sums_[at].add(forest_.scores[edge] + first.score + second.score);
    }

    const Forest& forest_;
    const Templates& templates_;
    std::size_t beam_, max_strings_;
    const std::atomic<bool>& stop_;
    const std::vector<Written> no_tail_{{-1, 0.0}};
    std::vector<std::vector<Written>> written_;
    SequenceSet strings_;
    std::vector<LogSum> sums_;           // of the node at hand, for each string
    std::vector<std::int32_t> found_;    // its strings
    std::vector<std::int32_t> key_;
};

auto forest_translations(const Forest& forest, const Templates& templates, std::size_t root, std::size_t beam,
                         std::size_t max_strings) {
    std::vector<std::int32_t> words;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> sums;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        const StringBeam search(forest, templates, root, beam, max_strings, stop);
        for (const Written& written : search.at(root)) {
            const Words string = search.words(written.string);
            words.insert(words.end(), string.begin(), string.end());
            offsets.push_back(static_cast<std::int64_t>(words.size()));
            sums.push_back(written.score);
        }
    });
    return together(give(std::move(words)), give(std::move(offsets)), give(std::move(sums)));
}

}  // namespace

void bind_translations(nb::module_& m) {
    m.def("forest_translations", &forest_translations, nb::arg("forest"), nb::arg("templates"), nb::arg("root"),
          nb::arg("beam"), nb::arg("max_strings"),
          "The strings with the largest log-sums over their derivations, best first, if each node keeps `beam`\n"
          "strings.\n\n"
          "Raises a ValueError if more than `max_strings` are met.");
}

}  // namespace dragoman::forest
