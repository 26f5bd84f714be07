// The strings of one sentence after the other.
#pragma once

#include "base/records.hpp"

namespace dragoman::decision {

// Sentences that a thread takes at a time.
constexpr std::size_t kSentencesPerBlock = 8;

struct StringLists {
    Ref<Rows> strings;
    Held1<std::int64_t> sentences;  // where the strings of each begin

    std::size_t count() const { return sentences.size() - 1; }
    std::size_t begin(std::size_t sentence) const { return static_cast<std::size_t>(sentences[sentence]); }
    std::size_t end(std::size_t sentence) const { return static_cast<std::size_t>(sentences[sentence + 1]); }
    Words operator[](std::size_t i) const { return (*strings)[i]; }
    void check() const {
        require(bounds_rows(view(sentences), strings->size()), "the bounds of sentences do not fit their strings");
    }
};

}  // namespace dragoman::decision
