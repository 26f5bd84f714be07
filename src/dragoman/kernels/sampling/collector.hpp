// What a chain has been in: derivations as rows of numbers, whatever they stand for.
#pragma once

#include "base/hashing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dragoman::sampling {

// Distinct derivations with counts, in order of first occurrence.
class Collector {
public:
    std::size_t size() const { return counts_.size(); }
    Words derivation(std::size_t row) const {
        return {values_.data() + offsets_[row], static_cast<std::size_t>(offsets_[row + 1] - offsets_[row])};
    }
    std::int64_t count(std::size_t row) const { return counts_[row]; }
    double score(std::size_t row) const { return scores_[row]; }

    // Counts a derivation; returns its row.
    std::int32_t add(Words derivation, double score, std::int64_t times = 1) {
        const std::uint64_t hash = hash_words(derivation);
        std::size_t at = hash & (slots_.size() - 1);
        for (; slots_[at] >= 0; at = (at + 1) & (slots_.size() - 1)) {
            const auto row = static_cast<std::size_t>(slots_[at]);
            if (hashes_[row] != hash || !std::ranges::equal(this->derivation(row), derivation)) continue;
            counts_[row] += times;
            return slots_[at];
        }
        const auto row = static_cast<std::int32_t>(size());
        slots_[at] = row;
        hashes_.push_back(hash);
        counts_.push_back(times);
        scores_.push_back(score);
        values_.insert(values_.end(), derivation.begin(), derivation.end());
        offsets_.push_back(static_cast<std::int64_t>(values_.size()));
        if (size() * 2 > slots_.size()) grow();
        return row;
    }

private:
    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        for (std::size_t row = 0; row < size(); ++row) {
            std::size_t at = hashes_[row] & (slots_.size() - 1);
            while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = static_cast<std::int32_t>(row);
        }
    }

    std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(64, -1);
    std::vector<std::uint64_t> hashes_;
    std::vector<std::int64_t> counts_, offsets_{0};
    std::vector<double> scores_;
    std::vector<std::int32_t> values_;
};

}  // namespace dragoman::sampling
