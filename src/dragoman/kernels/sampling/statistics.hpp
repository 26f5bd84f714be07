// What a chain counts about itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dragoman::sampling {

template <std::size_t kinds>
struct Statistics {
    std::array<std::int64_t, kinds> steps{}, changes{};  // of each kind of step
    std::int64_t jumps = 0, accepted = 0, collected = 0;
};

}  // namespace dragoman::sampling
