#include "search/phrase/coverages.hpp"

#include <algorithm>
#include <bit>

namespace dragoman::search::phrase {

Coverages::Coverages(std::int32_t length)
    : length_(length), stride_(static_cast<std::size_t>(length + 63) / 64), ids_(64) {
    scratch_.assign(stride_, 0);
    intern();
}

std::int32_t Coverages::with(std::int32_t id, std::int32_t begin, std::int32_t end) {
    std::copy_n(bits_.begin() + id * stride_, stride_, scratch_.begin());
    for (std::int32_t p = begin; p < end; ++p) scratch_[p / 64] |= std::uint64_t(1) << (p % 64);
    return intern();
}

std::int32_t Coverages::intern() {
    std::uint64_t hash = 0;
    for (std::uint64_t word : scratch_) hash = mix(hash * 0x9e3779b97f4a7c15ULL + word);
    std::int32_t& slot = ids_.slot(hash, [&](std::int32_t id) { return std::equal(scratch_.begin(), scratch_.end(), bits_.begin() + id * stride_); });
    if (slot >= 0) return slot;
    const auto id = slot = static_cast<std::int32_t>(size());
    hashes_.push_back(hash);
    bits_.insert(bits_.end(), scratch_.begin(), scratch_.end());
    std::int32_t covered = 0, gap = length_;
    for (std::size_t w = 0; w < stride_; ++w) {
        covered += std::popcount(scratch_[w]);
        if (gap == length_ && ~scratch_[w])
            gap = std::min<std::int32_t>(length_, static_cast<std::int32_t>(w * 64) + std::countr_one(scratch_[w]));
    }
    counts_.push_back(covered);
    gaps_.push_back(gap);
    ids_.make_room(size(), [&](std::int32_t number) { return hashes_[number]; });
    return id;
}

}  // namespace dragoman::search::phrase
