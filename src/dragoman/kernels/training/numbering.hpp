// Numbers for equal sequences of words, wherever they lie: what brings the instances of phrases and rules together.
#pragma once

#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace dragoman::training {

constexpr std::size_t kRowsPerBlock = 1 << 16;
constexpr std::size_t kGroupsPerBlock = 1 << 12;

inline std::size_t blocks_of(std::size_t items, std::size_t per_block) { return (items + per_block - 1) / per_block; }

// For every sequence the number of the first one with the same words. `Sequences` gives the i-th one with [i]. They are
// dealt out to partitions by their hash, so that each partition's table stays in the cache and partitions can be worked on
// independently.
template <class Sequences>
class Numbering {
public:
    Numbering(const Sequences& sequences, int threads, nb::handle progress)
        : sequences_(sequences), hashes_(sequences.size()), members_(sequences.size()), first_(sequences.size()) {
        const std::size_t n = sequences.size(), blocks = blocks_of(n, kRowsPerBlock);
        std::vector<std::array<std::size_t, kPartitions>> at(blocks);
        run_blocks(blocks, threads, nb::none(), [&](std::size_t block) {
            at[block].fill(0);
            for (std::size_t i = block * kRowsPerBlock; i < std::min(n, (block + 1) * kRowsPerBlock); ++i) {
                hashes_[i] = hash_words(sequences_[i]);
                ++at[block][partition(i)];
            }
        });
        std::vector<std::size_t> begin(kPartitions + 1, 0);
        std::size_t total = 0;
        for (std::size_t p = 0; p < kPartitions; ++p) {
            for (auto& counts : at) total += std::exchange(counts[p], total);
            begin[p + 1] = total;
        }
        run_blocks(blocks, threads, nb::none(), [&](std::size_t block) {
            for (std::size_t i = block * kRowsPerBlock; i < std::min(n, (block + 1) * kRowsPerBlock); ++i)
                members_[at[block][partition(i)]++] = static_cast<std::uint32_t>(i);
        });
        run_blocks(kPartitions, threads, progress, [&](std::size_t p) {
            intern(std::span(members_).subspan(begin[p], begin[p + 1] - begin[p]));
        });
    }

    const std::vector<std::uint32_t>& first() const { return first_; }

private:
    static constexpr std::size_t kPartitions = 256;

    std::size_t partition(std::size_t i) const { return hashes_[i] >> 56; }

    // The distinct sequences of a partition lie side by side, so that comparing with them stays in the cache.
    void intern(std::span<const std::uint32_t> members) {
        struct Entry {
            std::uint64_t hash;
            std::uint32_t first;
            std::size_t begin, end;
        };
        std::vector<std::int32_t> words;
        std::vector<Entry> entries;
        NumberTable table(table_size(512));
        for (const std::uint32_t i : members) {
            const auto& sequence = sequences_[i];
            std::int32_t& slot = table.slot(hashes_[i], [&](std::int32_t number) {
                const Entry& entry = entries[number];
                return entry.hash == hashes_[i] &&
                       std::equal(words.begin() + entry.begin, words.begin() + entry.end, sequence.begin(), sequence.end());
            });
            if (slot >= 0) {
                first_[i] = entries[slot].first;
                continue;
            }
            slot = static_cast<std::int32_t>(entries.size());
            first_[i] = i;
            const std::size_t begin = words.size();
            words.insert(words.end(), sequence.begin(), sequence.end());
            entries.push_back({hashes_[i], i, begin, words.size()});
            table.make_room(entries.size(), [&](std::int32_t number) { return entries[number].hash; });
        }
    }

    const Sequences& sequences_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::uint32_t> members_, first_;
};

// Numbers sequences in order of first occurrence: ids; the distinct ones' words and offsets.
template <class Sequences>
auto number_sequences(const Sequences& sequences, int threads, Progress progress) {
    const Numbering numbering(sequences, threads, progress);
    std::vector<std::int32_t> ids(sequences.size()), distinct_words;
    std::vector<std::int64_t> distinct_offsets{0};
    {
        nb::gil_scoped_release release;
        std::int32_t next = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const std::uint32_t first = numbering.first()[i];
            if (first != i) {
                ids[i] = ids[first];
                continue;
            }
            ids[i] = next++;
            const auto& words = sequences[i];
            distinct_words.insert(distinct_words.end(), words.begin(), words.end());
            distinct_offsets.push_back(static_cast<std::int64_t>(distinct_words.size()));
        }
    }
    return together(give(std::move(ids)), give(std::move(distinct_words)), give(std::move(distinct_offsets)));
}

}  // namespace dragoman::training
