// What a chain has been in: derivations as rows of numbers, whatever they stand for; and what it counts about itself.
#pragma once

#include "base/open_addressing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <array>
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
        std::int32_t& slot = rows_.slot(hash, [&](std::int32_t row) {
            return hashes_[static_cast<std::size_t>(row)] == hash && std::ranges::equal(this->derivation(static_cast<std::size_t>(row)), derivation);
        });
        if (slot >= 0) {
            counts_[static_cast<std::size_t>(slot)] += times;
            return slot;
        }
        const auto row = slot = static_cast<std::int32_t>(size());
        hashes_.push_back(hash);
        counts_.push_back(times);
        scores_.push_back(score);
        values_.insert(values_.end(), derivation.begin(), derivation.end());
        offsets_.push_back(static_cast<std::int64_t>(values_.size()));
        rows_.make_room(size(), [&](std::int32_t number) { return hashes_[static_cast<std::size_t>(number)]; });
        return row;
    }

private:
    NumberTable rows_{64};
    std::vector<std::uint64_t> hashes_;
    std::vector<std::int64_t> counts_, offsets_{0};
    std::vector<double> scores_;
    std::vector<std::int32_t> values_;
};

template <std::size_t kinds>
struct Statistics {
    std::array<std::int64_t, kinds> steps{}, changes{};  // of each kind of step
    std::int64_t jumps = 0, accepted = 0, collected = 0;
    std::int64_t scans_tested = 0, scans_accepted = 0;  // where whole scans are accepted or rejected
};

}  // namespace dragoman::sampling
