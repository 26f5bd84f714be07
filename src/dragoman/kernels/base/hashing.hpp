// Hashes that are the same on every machine and in every process, because indices built with them are kept on disk.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace dragoman {

// A bijective mixer of 64 bits (the finaliser of splitmix64).
inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// The upper 64 bits of a product: a number below `size` for each hash, as evenly as hashes are spread.
inline std::uint64_t high_product(std::uint64_t hash, std::uint64_t size) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(hash) * size >> 64);
}

inline std::uint64_t hash_bytes(const std::uint8_t* data, std::size_t size) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ size;
    for (; size >= 8; data += 8, size -= 8) {
        std::uint64_t word;
        std::memcpy(&word, data, 8);
        h = mix(h ^ word);
    }
    std::uint64_t tail = 0;
    std::memcpy(&tail, data, size);
    return mix(h ^ tail);
}

inline std::uint64_t hash_words(std::span<const std::int32_t> words) {
    std::uint64_t h = words.size();
    for (std::int32_t word : words) h = mix(h * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(word) + 1);
    return h;
}

// The size of an open-addressing table for `entries` keys: a power of two, at most half full.
inline std::size_t table_size(std::size_t entries) { return std::bit_ceil(entries * 2 + 2); }

}  // namespace dragoman
