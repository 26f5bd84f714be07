// Streams of random numbers that depend on a seed and on what they are for, never on threads or on each other.
#pragma once

#include "base/hashing.hpp"

#include <cstdint>

namespace dragoman {

// SplitMix64 from a start that is a hash of the seed and of a number.
class Stream {
public:
    Stream(std::uint64_t seed, std::uint64_t number) : state_(mix(mix(seed + step) + (number + 1) * step)) {}
    // One for each pair of numbers.
    Stream(std::uint64_t seed, std::uint64_t number, std::uint64_t second) : Stream(mix(mix(seed + step) + (number + 1) * step), second) {}

    // Uniform in [0, 1), on the multiples of 2^-53.
    double uniform() { return static_cast<double>(mix(state_ += step) >> 11) * 0x1p-53; }

    // Uniform in [0, bound).
    std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(uniform() * static_cast<double>(bound)); }

private:
    static constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;
    std::uint64_t state_;
};

}  // namespace dragoman
