// Blocks that a chain has met, with their weights: at low temperatures a chain stays near a few derivations, and meets the
// same blocks in every scan.
#pragma once

#include "base/open_addressing.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::sampling::phrase {

// Cumulated weights of the members of blocks, by keys: all that the weights depend on.
class BlockMemo {
public:
    // Forgets all.
    void restart() {
        numbers_ = NumberTable(64);
        hashes_.clear();
        keys_.clear();
        weights_.clear();
        key_ends_.assign(1, 0);
        weight_ends_.assign(1, 0);
    }

    // The weights of a block with this key; none if it is new, or was forgotten.
    std::span<const double> find(std::span<const std::int32_t> key) {
        if (is_off_) return {};
        hash_ = hash_words(key);
        const std::int32_t block = slot(key);
        hits_ += block >= 0;
        // Where most blocks are new, looking for them only costs time.
        if (++asked_ == kTrial) {
            is_off_ = hits_ * 4 < kTrial;
            if (is_off_) restart();
            asked_ = hits_ = 0;
        }
        if (block < 0 || is_off_) return {};
        return std::span(weights_).subspan(weight_ends_[static_cast<std::size_t>(block)], size(weight_ends_, block));
    }

    // Keeps the weights of the block that `find` has just not found.
    void add(std::span<const std::int32_t> key, std::span<const double> weights) {
        if (is_off_) return;
        if (weights_.size() + weights.size() > kMost) restart();
        slot(key) = static_cast<std::int32_t>(hashes_.size());
        hashes_.push_back(hash_);
        keys_.insert(keys_.end(), key.begin(), key.end());
        key_ends_.push_back(keys_.size());
        weights_.insert(weights_.end(), weights.begin(), weights.end());
        weight_ends_.push_back(weights_.size());
        numbers_.make_room(hashes_.size(), [&](std::int32_t block) { return hashes_[static_cast<std::size_t>(block)]; });
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 20;  // 8 MB
    static constexpr std::int64_t kTrial = 1 << 14;

    static std::size_t size(const std::vector<std::size_t>& ends, std::int32_t block) {
        return ends[static_cast<std::size_t>(block) + 1] - ends[static_cast<std::size_t>(block)];
    }
    std::int32_t& slot(std::span<const std::int32_t> key) {
        return numbers_.slot(hash_, [&](std::int32_t block) {
            return hashes_[static_cast<std::size_t>(block)] == hash_ &&
                   std::ranges::equal(std::span(keys_).subspan(key_ends_[static_cast<std::size_t>(block)], size(key_ends_, block)), key);
        });
    }

    NumberTable numbers_{64};
    std::uint64_t hash_ = 0;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::int32_t> keys_;
    std::vector<double> weights_;
    std::vector<std::size_t> key_ends_{0}, weight_ends_{0};
    std::int64_t asked_ = 0, hits_ = 0;
    bool is_off_ = false;
};

}  // namespace dragoman::sampling::phrase
