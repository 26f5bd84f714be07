// Hash tables with open addressing and linear probing: a power of two of slots, at most half of them taken.
#pragma once

#include "base/hashing.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dragoman {

// From the slot of a hash on, the first one for which done(slot) holds.
template <class Done>
std::size_t probe(std::uint64_t hash, std::size_t slots, Done&& done) {
    const std::size_t mask = slots - 1;
    std::size_t at = hash & mask;
    while (!done(at)) at = (at + 1) & mask;
    return at;
}

// Numbers of things that lie elsewhere, found by what they stand for.
class NumberTable {
public:
    explicit NumberTable(std::size_t slots) : slots_(slots, -1) {}

    // Forgets all; there will be so many.
    void restart(std::size_t numbers) { slots_.assign(table_size(numbers), -1); }

    // The slot of the number for which same(number) holds, or the free one (-1) where it belongs.
    template <class Same>
    std::int32_t& slot(std::uint64_t hash, Same&& same) {
        return slots_[probe(hash, slots_.size(), [&](std::size_t at) { return slots_[at] < 0 || same(slots_[at]); })];
    }

    // Makes room for more than these numbers (or for more than 0 to `size` - 1), all different, if there is little left.
    template <class HashOf>
    void make_room(std::span<const std::int32_t> numbers, HashOf&& hash_of) {
        if (numbers.size() * 2 <= slots_.size()) return;
        slots_.assign(slots_.size() * 2, -1);
        for (const std::int32_t number : numbers) insert(number, hash_of(number));
    }
    template <class HashOf>
    void make_room(std::size_t size, HashOf&& hash_of) {
        if (size * 2 <= slots_.size()) return;
        slots_.assign(slots_.size() * 2, -1);
        for (std::size_t i = 0; i < size; ++i) insert(static_cast<std::int32_t>(i), hash_of(static_cast<std::int32_t>(i)));
    }

    std::size_t slots() const { return slots_.size(); }
    std::vector<std::int32_t> take() { return std::move(slots_); }

private:
    void insert(std::int32_t number, std::uint64_t hash) {
        slots_[probe(hash, slots_.size(), [&](std::size_t at) { return slots_[at] < 0; })] = number;
    }

    std::vector<std::int32_t> slots_;
};

// Numbers by their keys.
class KeyTable {
public:
    struct Slot {
        std::uint64_t key = 0;
        std::int32_t number = -1;
    };

    KeyTable() = default;
    explicit KeyTable(std::size_t keys) { restart(keys); }

    // Forgets all; there will be about so many.
    void restart(std::size_t keys) {
        slots_.assign(table_size(keys), Slot{});
        used_ = 0;
    }

    // The number of a key, or -1.
    std::int32_t find(std::uint64_t key) const { return slots_[position(key)].number; }

    // Where the number of a key is or, if it is -1, belongs; to be put there before anything else.
    Slot& slot(std::uint64_t key) { return slots_[position(key)]; }
    void put(Slot& slot, std::uint64_t key, std::int32_t number) {
        slot = {key, number};
        if (++used_ * 2 > slots_.size()) grow();
    }

private:
    std::size_t position(std::uint64_t key) const {
        return probe(mix(key), slots_.size(), [&](std::size_t at) { return slots_[at].number < 0 || slots_[at].key == key; });
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.number >= 0) slots_[position(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace dragoman
