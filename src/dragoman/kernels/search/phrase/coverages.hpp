// Which source words a partial derivation covers.
#pragma once

#include "base/open_addressing.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::search::phrase {

// Source words covered, as numbered bit sets; everything that depends on the coverage alone is computed once for each.
// Only the bits between the first gap and the last word covered are kept, which a reordering limit keeps few: neither
// time nor memory depends on the length of the sentence.
class Coverages {
public:
    explicit Coverages(std::int32_t length);

    std::size_t size() const { return known_.size(); }
    std::int32_t count(std::int32_t id) const { return known_[id].count; }
    std::int32_t first_gap(std::int32_t id) const { return known_[id].gap; }

    // The end of the last word covered.
    std::int32_t reach(std::int32_t id) const;

    bool covers(std::int32_t id, std::int32_t position) const {
        const Known& known = known_[id];
        const std::int32_t block = position / 64 - known.base;
        if (block < 0) return true;
        return block < known.blocks && (bits_[known.first + block] >> (position % 64) & 1);
    }

    // The coverage with words [begin, end) as well, none of which it has.
    std::int32_t with(std::int32_t id, std::int32_t begin, std::int32_t end);

private:
    // Blocks of 64 words: those before `base` are covered, those from base + blocks on are not.
    struct Known {
        std::size_t first;  // among bits_
        std::uint64_t hash;
        std::int32_t base, blocks, count, gap;
    };

    std::span<const std::uint64_t> bits(const Known& known) const { return std::span(bits_).subspan(known.first, known.blocks); }

    // The number of the coverage in scratch_, whose first block is `base`.
    std::int32_t intern(std::int32_t base, std::int32_t count);

    std::int32_t length_;
    std::vector<std::uint64_t> bits_, scratch_;
    std::vector<Known> known_;
    NumberTable ids_;
};

}  // namespace dragoman::search::phrase
