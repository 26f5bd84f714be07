// A list of distinct word sequences (phrases) with a hash index: exact look-up by the words themselves.
#pragma once

#include "base/open_addressing.hpp"
#include "base/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace dragoman {

// Sequence `id` is words[offsets[id] : offsets[id + 1]]; `slots` is an open-addressing table of ids, -1 where empty.
struct SequenceIndex {
    Words words;
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> slots;

    Words sequence(std::int32_t id) const {
        return words.subspan(static_cast<std::size_t>(offsets[id]), static_cast<std::size_t>(offsets[id + 1] - offsets[id]));
    }

    // The slot that holds the sequence, or the empty one where it belongs.
    std::size_t slot(Words wanted) const {
        return probe(hash_words(wanted), slots.size(), [&](std::size_t at) { return slots[at] < 0 || std::ranges::equal(sequence(slots[at]), wanted); });
    }

    // The id of a sequence, or -1.
    std::int32_t find(Words wanted) const { return slots[slot(wanted)]; }
};

}  // namespace dragoman
