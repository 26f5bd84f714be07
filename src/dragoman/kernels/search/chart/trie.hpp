// The trie of a grammar's source sides, as model/grammar.py describes it.
#pragma once

#include "base/arrays.hpp"

#include <algorithm>
#include <tuple>

namespace dragoman::search::chart {

// first_child, symbols and first_rule of a grammar.
using TrieArrays = std::tuple<In1<std::int64_t>, In1<std::int32_t>, In1<std::int64_t>>;

class Trie {
public:
    static constexpr std::int32_t kNonterminal = -1;

    explicit Trie(const TrieArrays& arrays)
        : first_child_(std::get<0>(arrays).data()), symbols_(std::get<1>(arrays).data()), first_rule_(std::get<2>(arrays).data()) {}

    // The child that a symbol leads to, or 0: the root is nobody's child.
    std::int64_t child(std::int64_t node, std::int32_t symbol) const {
        const std::int32_t* const first = symbols_ + first_child_[node];
        const std::int32_t* const last = symbols_ + first_child_[node + 1];
        const std::int32_t* const found = std::lower_bound(first, last, symbol);
        return found != last && *found == symbol ? found - symbols_ : 0;
    }

    // The child that a nonterminal leads to, the least of all symbols.
    std::int64_t nonterminal(std::int64_t node) const {
        const std::int64_t first = first_child_[node];
        return first < first_child_[node + 1] && symbols_[first] == kNonterminal ? first : 0;
    }

    std::int64_t rules(std::int64_t node) const { return first_rule_[node + 1] - first_rule_[node]; }

private:
    const std::int64_t* first_child_;
    const std::int32_t* symbols_;
    const std::int64_t* first_rule_;
};

}  // namespace dragoman::search::chart
