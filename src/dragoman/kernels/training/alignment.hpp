// What the alignment kernels walk over. One side of the bitext is *given*, the other *generated* from it, word by word
// (or from NULL). All that is known of a generated word is kept together: its tokens, and the row of given words that
// it occurs with. One worker handles all tokens of a word, so its sums are made in corpus order by one thread: nothing
// is shared, and results are the same for any number of threads.
#pragma once

#include "base/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::training {

// Into how many blocks the tokens of a corpus are cut.
constexpr std::size_t kTokenBlocks = 256;

// A word whose probabilities are all smaller says nothing: shares of them are not numbers any more.
constexpr double kVanished = 1e-290;

// Kernels may be told of the tokens and pairs of some generated words only.
struct Cooccurrence {
    Ref<Rows> given_text, generated_text;
    Held1<std::int32_t> sentence, position;  // of each token, grouped by word
    Held1<std::int64_t> groups;              // where each generated word's tokens begin
    Held1<std::int64_t> pair_offsets;        // where each generated word's row of pairs begins
    Held1<std::int32_t> pair_given;          // the given word of each pair
    std::int32_t null_word;                  // one past the given vocabulary

    void check() const {
        require(given_text->size() == generated_text->size(), "a bitext needs two sides of the same length");
        require(sentence.size() == position.size() && bounds_rows(view(groups), sentence.size()),
                "tokens do not fit their words");
        require(bounds_rows(view(pair_offsets), pair_given.size()), "pairs do not fit their words");
    }

    std::size_t sentences() const { return given_text->size(); }
    std::size_t tokens() const { return generated_text->values.size(); }
    std::size_t words() const { return groups.size() - 1; }

    Words given(std::size_t s) const { return (*given_text)[s]; }
    Words generated(std::size_t s) const { return (*generated_text)[s]; }
    std::size_t generated_length(std::size_t s) const { return generated(s).size(); }

    // Calls on_token(token's number in the corpus, sentence, position) for the tokens of a generated word.
    template <class OnToken>
    void each_token(std::size_t word, OnToken&& on_token) const {
        for (auto at = groups[word]; at < groups[word + 1]; ++at)
            on_token(generated_text->offsets[sentence[at]] + position[at], sentence[at], position[at]);
    }

    // Calls on_pair(number of the pair, given word) for the row of a generated word; NULL is its first.
    template <class OnPair>
    void each_pair(std::size_t word, OnPair&& on_pair) const {
        for (auto pair = pair_offsets[word]; pair < pair_offsets[word + 1]; ++pair) on_pair(pair, pair_given[pair]);
    }
};

// Cuts rows into ranges that hold about equally many values: block b has the rows [bounds[b], bounds[b + 1]).
inline std::vector<std::size_t> balanced_blocks(std::span<const std::int64_t> offsets, std::size_t blocks) {
    std::vector<std::size_t> bounds{0};
    const std::size_t rows = offsets.size() - 1;
    for (std::size_t b = 1; b < blocks; ++b) {
        const auto wanted = static_cast<std::int64_t>(double(offsets.back()) * double(b) / double(blocks));
        const auto row = static_cast<std::size_t>(std::ranges::lower_bound(offsets, wanted) - offsets.begin());
        if (row > bounds.back() && row < rows) bounds.push_back(row);
    }
    if (rows > 0) bounds.push_back(rows);
    return bounds;
}

}  // namespace dragoman::training
