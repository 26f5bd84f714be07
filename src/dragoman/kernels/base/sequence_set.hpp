// A growing set of distinct word sequences, numbered in the order in which they were first met.
#pragma once

#include "base/sequence_index.hpp"

#include <cstdint>
#include <vector>

namespace dragoman {

class SequenceSet {
public:
    std::size_t size() const { return offsets_.size() - 1; }
    Words sequence(std::size_t id) const { return index().sequence(static_cast<std::int32_t>(id)); }

    // The number of a sequence, which is added if it is new.
    std::int32_t intern(Words wanted) {
        const std::size_t at = index().slot(wanted);
        if (slots_[at] >= 0) return slots_[at];
        const auto id = static_cast<std::int32_t>(size());
        slots_[at] = id;
        words_.insert(words_.end(), wanted.begin(), wanted.end());
        offsets_.push_back(static_cast<std::int64_t>(words_.size()));
        if (size() * 2 > slots_.size()) grow();
        return id;
    }

    std::vector<std::int32_t> take_words() { return std::move(words_); }
    std::vector<std::int64_t> take_offsets() { return std::move(offsets_); }

private:
    SequenceIndex index() const { return {words_, offsets_, slots_}; }

    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        for (std::size_t id = 0; id < size(); ++id) slots_[index().slot(sequence(id))] = static_cast<std::int32_t>(id);
    }

    std::vector<std::int32_t> words_;
    std::vector<std::int64_t> offsets_{0};
    std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(table_size(512), -1);
};

}  // namespace dragoman
