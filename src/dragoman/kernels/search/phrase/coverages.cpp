#include "search/phrase/coverages.hpp"

#include <algorithm>
#include <bit>

namespace dragoman::search::phrase {

Coverages::Coverages(std::int32_t length) : length_(length), ids_(64) { intern(0, 0); }

std::int32_t Coverages::reach(std::int32_t id) const {
    const Known& known = known_[id];
    const std::int32_t end = 64 * (known.base + known.blocks);
    return known.blocks == 0 ? known.gap : end - std::countl_zero(bits(known).back());
}

std::int32_t Coverages::with(std::int32_t id, std::int32_t begin, std::int32_t end) {
    const Known& before = known_[id];
    const auto old = bits(before);
    const std::int32_t base = before.base;
    scratch_.assign(std::max<std::size_t>(old.size(), (end - 1) / 64 - base + 1), 0);
    std::copy(old.begin(), old.end(), scratch_.begin());
    for (std::int32_t p = begin; p < end; ++p) scratch_[p / 64 - base] |= std::uint64_t(1) << (p % 64);
    const auto open = std::find_if(scratch_.begin(), scratch_.end(), [](std::uint64_t block) { return ~block != 0; });
    const auto full = static_cast<std::int32_t>(open - scratch_.begin());
    scratch_.erase(scratch_.begin(), open);
    return intern(base + full, before.count + end - begin);
}

std::int32_t Coverages::intern(std::int32_t base, std::int32_t count) {
    auto hash = static_cast<std::uint64_t>(base);
    for (std::uint64_t block : scratch_) hash = mix(hash * 0x9e3779b97f4a7c15ULL + block);
    std::int32_t& slot =
        ids_.slot(hash, [&](std::int32_t id) { return known_[id].base == base && std::ranges::equal(bits(known_[id]), scratch_); });
    if (slot >= 0) return slot;
    const auto id = slot = static_cast<std::int32_t>(size());
    const std::int32_t gap = std::min(length_, 64 * base + (scratch_.empty() ? 0 : std::countr_one(scratch_[0])));
    known_.push_back({bits_.size(), hash, base, static_cast<std::int32_t>(scratch_.size()), count, gap});
    bits_.insert(bits_.end(), scratch_.begin(), scratch_.end());
    ids_.make_room(size(), [&](std::int32_t number) { return known_[number].hash; });
    return id;
}

}  // namespace dragoman::search::phrase
