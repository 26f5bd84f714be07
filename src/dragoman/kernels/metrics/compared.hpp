// Hypotheses and what they are compared with, in the same ids; words that no reference has are below 0.
#pragma once

#include "base/records.hpp"

namespace dragoman::metrics {

struct Compared {
    Ref<Rows> hypotheses;
    Held1<std::int64_t> sentences;  // that each hypothesis translates
    Ref<Rows> references;

    std::size_t size() const { return sentences.size(); }
    Words reference(std::size_t hypothesis) const {
        return (*references)[static_cast<std::size_t>(sentences[hypothesis])];
    }
    void check() const { require(hypotheses->size() == sentences.size(), "each hypothesis needs a sentence"); }
};

}  // namespace dragoman::metrics
