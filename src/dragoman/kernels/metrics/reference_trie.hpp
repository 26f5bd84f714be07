// N-grams of references, to be found in hypotheses.
#pragma once

#include "base/open_addressing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::metrics {

// The n-grams of one sentence's references as a trie: an n-gram is its prefix's node and its last word, so that the
// keys of the hash table are exact. A node keeps the largest count that any reference has of it.
class ReferenceTrie {
public:
    void clear(std::size_t most_nodes) {
        children_.restart(most_nodes);
        allowed_.assign(1, 0);
        seen_.assign(1, 0);
        weight_.assign(1, 0.0);
    }

    // Adds one reference; weights has a row of `order` for each of its words, or is empty.
    void add(Words words, const double* weights, std::size_t order) {
        for (std::size_t begin = 0; begin < words.size(); ++begin) {
            std::int32_t node = 0;
            for (std::size_t n = 0; n < std::min(order, words.size() - begin); ++n) {
                const std::uint64_t wanted = key(node, words[begin + n]);
                KeyTable::Slot& slot = children_.slot(wanted);
                node = slot.number;
                if (node < 0) {
                    node = static_cast<std::int32_t>(allowed_.size());
                    children_.put(slot, wanted, node);
                    allowed_.push_back(0);
                    seen_.push_back(0);
                    weight_.push_back(weights ? weights[begin * order + n] : 1.0);
                }
                ++seen_[node];
                touched_.push_back(node);
            }
        }
        for (const std::int32_t node : touched_) allowed_[node] = std::max(allowed_[node], seen_[node]);
        forget();
    }

    // Adds to matches[n] the weight of each n-gram of order n + 1 that is still allowed.
    void count(Words words, std::size_t order, double* matches) {
        count_from(words, 0, words.size(), 0, order, matches);
        forget();
    }

    // The same for n-grams that begin in [first, last) and end after `before`; they stay counted, ...
    void count_from(Words words, std::size_t first, std::size_t last, std::size_t before, std::size_t order, double* matches) {
        for (std::size_t begin = first; begin < last; ++begin) {
            std::int32_t node = 0;
            for (std::size_t n = 0; n < std::min(order, words.size() - begin); ++n) {
                node = children_.find(key(node, words[begin + n]));
                if (node < 0) break;
                if (begin + n + 1 <= before) continue;
                touched_.push_back(node);
                if (++seen_[node] <= allowed_[node]) matches[n] += weight_[node];
            }
        }
    }
    // ... until all but the first `kept` of them are forgotten.
    std::size_t counted() const { return touched_.size(); }
    void forget(std::size_t kept = 0) {
        for (std::size_t i = kept; i < touched_.size(); ++i) --seen_[touched_[i]];
        touched_.resize(kept);
    }

private:
    static std::uint64_t key(std::int32_t node, std::int32_t word) {
        return std::uint64_t(std::uint32_t(node)) << 32 | std::uint32_t(word);
    }

    KeyTable children_;
    std::vector<std::int32_t> allowed_, seen_, touched_;
    std::vector<double> weight_;
};

}  // namespace dragoman::metrics
