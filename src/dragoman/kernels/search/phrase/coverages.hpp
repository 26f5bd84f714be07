// Which source words a partial derivation covers.
#pragma once

#include "base/open_addressing.hpp"

#include <cstdint>
#include <vector>

namespace dragoman::search::phrase {

// Source words covered, as numbered bit sets; everything that depends on the coverage alone is computed once for each.
class Coverages {
public:
    explicit Coverages(std::int32_t length);

    std::size_t size() const { return counts_.size(); }
    std::int32_t count(std::int32_t id) const { return counts_[id]; }
    std::int32_t first_gap(std::int32_t id) const { return gaps_[id]; }

    bool covers(std::int32_t id, std::int32_t position) const {
        return bits_[id * stride_ + position / 64] >> (position % 64) & 1;
    }

    std::int32_t with(std::int32_t id, std::int32_t begin, std::int32_t end);

private:
    std::int32_t intern();

    std::int32_t length_;
    std::size_t stride_;
    std::vector<std::uint64_t> bits_, scratch_, hashes_;
    std::vector<std::int32_t> counts_, gaps_;
    NumberTable ids_;
};

}  // namespace dragoman::search::phrase
