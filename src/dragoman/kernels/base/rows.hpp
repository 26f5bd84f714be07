// Rows of different lengths, one after the other in one array: what most kernels read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dragoman {

using Words = std::span<const std::int32_t>;
using Bounds = std::span<const std::int64_t>;  // where rows begin, and the end of the last

inline Words row(Words all, Bounds offsets, std::size_t i) {
    return all.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
}

}  // namespace dragoman
