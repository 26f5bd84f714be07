// Word lists: the UTF-8 bytes of all words, their offsets, and a hash index over them; and the cutting of text into
// words and lines, which is the same everywhere: ASCII white space separates words, `\n` alone ends a line.
#pragma once

#include "base/arrays.hpp"
#include "base/hashing.hpp"

#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace dragoman::text {

using Bytes = std::span<const std::uint8_t>;

// A word list that can grow.
class WordIndex {
public:
    WordIndex(const In1<std::uint8_t>& blob, const In1<std::int64_t>& offsets)
        : blob_(blob.data(), blob.data() + blob.shape(0)), offsets_(offsets.data(), offsets.data() + offsets.shape(0)) {
        rebuild(table_size(size()));
    }

    std::size_t size() const { return offsets_.size() - 1; }

    std::int32_t intern(Bytes word) {
        const std::size_t at = slot(word);
        if (slots_[at] >= 0) return slots_[at];
        if (size() >= std::size_t(std::numeric_limits<std::int32_t>::max())) throw std::length_error("too many words");
        const auto id = static_cast<std::int32_t>(size());
        blob_.insert(blob_.end(), word.begin(), word.end());
        offsets_.push_back(static_cast<std::int64_t>(blob_.size()));
        slots_[at] = id;
        if (size() * 2 > slots_.size()) rebuild(slots_.size() * 2);
        return id;
    }

    // The list as arrays: blob, offsets, index. The index has the size that a list built at once would have.
    auto take() {
        auto [blob, offsets, index] = take_parts();
        return together(std::move(blob), std::move(offsets), std::move(index));
    }
    std::tuple<Out<std::uint8_t>, Out<std::int64_t>, Out<std::int32_t>> take_parts() {
        if (slots_.size() != table_size(size())) rebuild(table_size(size()));
        return {give(std::move(blob_)), give(std::move(offsets_)), give(std::move(slots_))};
    }

private:
    Bytes word(std::int32_t id) const {
        return {blob_.data() + offsets_[id], static_cast<std::size_t>(offsets_[id + 1] - offsets_[id])};
    }

    std::size_t slot(Bytes wanted) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash_bytes(wanted.data(), wanted.size()) & mask;
        for (; slots_[at] >= 0; at = (at + 1) & mask) {
            const Bytes there = word(slots_[at]);
            if (there.size() == wanted.size() && std::memcmp(there.data(), wanted.data(), there.size()) == 0) break;
        }
        return at;
    }

    void rebuild(std::size_t slots) {
        slots_.assign(slots, -1);
        for (std::size_t id = 0; id < size(); ++id)
            slots_[slot(word(static_cast<std::int32_t>(id)))] = static_cast<std::int32_t>(id);
    }

    std::vector<std::uint8_t> blob_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> slots_;
};

// A word list that is only looked at.
class WordView {
public:
    WordView(const In1<std::uint8_t>& blob, const In1<std::int64_t>& offsets, const In1<std::int32_t>& index)
        : blob_(view(blob)), offsets_(view(offsets)), index_(view(index)) {}

    // The id of a word, or -1.
    std::int32_t find(Bytes wanted) const {
        const std::size_t mask = index_.size() - 1;
        for (std::size_t at = hash_bytes(wanted.data(), wanted.size()) & mask; index_[at] >= 0; at = (at + 1) & mask) {
            const auto begin = offsets_[index_[at]], end = offsets_[index_[at] + 1];
            if (std::size_t(end - begin) == wanted.size() &&
                std::memcmp(blob_.data() + begin, wanted.data(), wanted.size()) == 0)
                return index_[at];
        }
        return -1;
    }

private:
    Bytes blob_;
    std::span<const std::int64_t> offsets_;
    std::span<const std::int32_t> index_;
};

inline bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }

inline Bytes trimmed(Bytes field) {
    while (!field.empty() && is_space(field.back())) field = field.first(field.size() - 1);
    while (!field.empty() && is_space(field.front())) field = field.subspan(1);
    return field;
}

// Calls on_word(bytes) for each word of one line.
template <class OnWord>
void split_words(Bytes line, OnWord&& on_word) {
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t begin = at;
        while (at < line.size() && !is_space(line[at])) ++at;
        if (at > begin) on_word(line.subspan(begin, at - begin));
        while (at < line.size() && is_space(line[at])) ++at;
    }
}

// Calls on_line(bytes without the newline) for each line, until it returns false; a last line without its newline
// counts.
template <class OnLine>
void split_lines(Bytes text, OnLine&& on_line) {
    while (!text.empty()) {
        const void* found = std::memchr(text.data(), '\n', text.size());
        const std::size_t length =
            found ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - text.data()) : text.size();
        if (!on_line(text.first(length))) return;
        text = text.subspan(found ? length + 1 : length);
    }
}

}  // namespace dragoman::text
