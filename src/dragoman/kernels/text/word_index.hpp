// Word lists: the UTF-8 bytes of all words, their offsets, and a hash index over them; and the cutting of text into
// words and lines, which is the same everywhere: ASCII white space separates words, `\n` alone ends a line.
#pragma once

#include "base/open_addressing.hpp"
#include "base/records.hpp"

#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace dragoman::text {

using Bytes = std::span<const std::uint8_t>;

inline std::uint64_t hash_of(Bytes word) { return hash_bytes(word.data(), word.size()); }
inline bool same(Bytes one, Bytes other) { return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0; }

// A word list that can grow.
class WordIndex {
public:
    explicit WordIndex(const Texts& words)
        : blob_(words.values.data(), words.values.data() + words.values.size()),
          offsets_(words.offsets.data(), words.offsets.data() + words.offsets.size()) {
        rebuild(table_size(size()));
    }

    std::size_t size() const { return offsets_.size() - 1; }

    std::int32_t intern(Bytes word) {
        std::int32_t& slot = ids_.slot(hash_of(word), [&](std::int32_t id) { return same(this->word(id), word); });
        if (slot >= 0) return slot;
        if (size() >= std::size_t(std::numeric_limits<std::int32_t>::max())) throw std::length_error("too many words");
        const auto id = slot = static_cast<std::int32_t>(size());
        blob_.insert(blob_.end(), word.begin(), word.end());
        offsets_.push_back(static_cast<std::int64_t>(blob_.size()));
        if (size() * 2 > ids_.slots()) rebuild(ids_.slots() * 2);
        return id;
    }

    // The list as arrays: blob, offsets, index. The index has the size that a list built at once would have.
    auto take() {
        auto [blob, offsets, index] = take_parts();
        return together(std::move(blob), std::move(offsets), std::move(index));
    }
    std::tuple<Out<std::uint8_t>, Out<std::int64_t>, Out<std::int32_t>> take_parts() {
        if (ids_.slots() != table_size(size())) rebuild(table_size(size()));
        return {give(std::move(blob_)), give(std::move(offsets_)), give(ids_.take())};
    }

private:
    Bytes word(std::int32_t id) const {
        return {blob_.data() + offsets_[id], static_cast<std::size_t>(offsets_[id + 1] - offsets_[id])};
    }

    void rebuild(std::size_t slots) {
        ids_ = NumberTable(slots);
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(size()); ++i)
            ids_.slot(hash_of(word(i)), [&](std::int32_t id) { return same(word(id), word(i)); }) = i;
    }

    std::vector<std::uint8_t> blob_;
    std::vector<std::int64_t> offsets_;
    NumberTable ids_{0};
};

// A word list that is only looked at.
class WordView {
public:
    WordView(const Texts& words, const In1<std::int32_t>& index) : words_(words), index_(view(index)) {}

    // The id of a word, or -1.
    std::int32_t find(Bytes wanted) const {
        return index_[probe(hash_of(wanted), index_.size(), [&](std::size_t at) {
            return index_[at] < 0 || same(words_[static_cast<std::size_t>(index_[at])], wanted);
        })];
    }

private:
    const Texts& words_;
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
