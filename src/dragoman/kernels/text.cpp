// Text as numbers: words interned as int32 ids, lines as ranges of ids.
// A word list is three arrays: the UTF-8 bytes of all words, their offsets, and a hash index over them.
#include "arrays.hpp"
#include "hashing.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace dragoman {
namespace {

using Bytes = std::span<const std::uint8_t>;

class WordIndex {
public:
    WordIndex(const In1<std::uint8_t>& blob, const In1<std::int64_t>& offsets)
        : blob_(blob.data(), blob.data() + blob.shape(0)), offsets_(offsets.data(), offsets.data() + offsets.shape(0)) {
        rebuild(table_size(size()));
    }

    std::size_t size() const { return offsets_.size() - 1; }

    std::int32_t find(Bytes word) const { return slots_[slot(word)]; }

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

    std::vector<std::uint8_t> take_blob() { return std::move(blob_); }
    std::vector<std::int64_t> take_offsets() { return std::move(offsets_); }
    std::vector<std::int32_t> take_index() {
        if (slots_.size() != table_size(size())) rebuild(table_size(size()));
        return std::move(slots_);
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
        for (std::size_t id = 0; id < size(); ++id) slots_[slot(word(static_cast<std::int32_t>(id)))] = static_cast<std::int32_t>(id);
    }

    std::vector<std::uint8_t> blob_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> slots_;
};

bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }

// Calls on_word(bytes) for each whitespace-separated token and on_line() at the end of each line; a last line without
// its newline counts.
template <class OnWord, class OnLine>
void split(Bytes text, OnWord&& on_word, OnLine&& on_line) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        while (at < text.size() && text[at] != '\n') {
            const std::size_t begin = at;
            while (at < text.size() && text[at] != '\n' && !is_space(text[at])) ++at;
            if (at > begin) on_word(text.subspan(begin, at - begin));
            while (at < text.size() && is_space(text[at])) ++at;
        }
        on_line();
    }
}

struct Lines {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};
    void end_line() { offsets.push_back(static_cast<std::int64_t>(ids.size())); }
};

auto word_index(In1<std::uint8_t> blob, In1<std::int64_t> offsets) {
    return give(WordIndex(blob, offsets).take_index());
}

auto intern_lines(In1<std::uint8_t> text, In1<std::uint8_t> blob, In1<std::int64_t> offsets) {
    WordIndex words(blob, offsets);
    Lines lines;
    {
        nb::gil_scoped_release release;
        split(view(text), [&](Bytes word) { lines.ids.push_back(words.intern(word)); }, [&] { lines.end_line(); });
    }
    auto index = words.take_index();
    return nb::make_tuple(give(std::move(lines.ids)), give(std::move(lines.offsets)), give(words.take_blob()),
                          give(words.take_offsets()), give(std::move(index)));
}

std::int32_t lookup(Bytes blob, std::span<const std::int64_t> offsets, std::span<const std::int32_t> index, Bytes wanted) {
    const std::size_t mask = index.size() - 1;
    for (std::size_t at = hash_bytes(wanted.data(), wanted.size()) & mask; index[at] >= 0; at = (at + 1) & mask) {
        const auto begin = offsets[index[at]], end = offsets[index[at] + 1];
        if (std::size_t(end - begin) == wanted.size() && std::memcmp(blob.data() + begin, wanted.data(), wanted.size()) == 0)
            return index[at];
    }
    return 0;
}

auto lookup_lines(In1<std::uint8_t> text, In1<std::uint8_t> blob, In1<std::int64_t> offsets, In1<std::int32_t> index) {
    Lines lines;
    {
        nb::gil_scoped_release release;
        split(view(text), [&](Bytes word) { lines.ids.push_back(lookup(view(blob), view(offsets), view(index), word)); },
              [&] { lines.end_line(); });
    }
    return nb::make_tuple(give(std::move(lines.ids)), give(std::move(lines.offsets)));
}

auto join_lines(In1<std::int32_t> ids, In1<std::int64_t> lines, In1<std::uint8_t> blob, In1<std::int64_t> offsets) {
    std::vector<std::uint8_t> text;
    {
        nb::gil_scoped_release release;
        const auto id = view(ids);
        const auto line = view(lines);
        const auto offset = view(offsets);
        for (std::size_t l = 0; l + 1 < line.size(); ++l) {
            for (auto at = line[l]; at < line[l + 1]; ++at) {
                if (at > line[l]) text.push_back(' ');
                text.insert(text.end(), blob.data() + offset[id[at]], blob.data() + offset[id[at] + 1]);
            }
            text.push_back('\n');
        }
    }
    return give(std::move(text));
}

}  // namespace

void bind_text(nb::module_& m) {
    m.def("word_index", &word_index, nb::arg("blob").noconvert(), nb::arg("offsets").noconvert());
    m.def("intern_lines", &intern_lines, nb::arg("text").noconvert(), nb::arg("blob").noconvert(),
          nb::arg("offsets").noconvert());
    m.def("lookup_lines", &lookup_lines, nb::arg("text").noconvert(), nb::arg("blob").noconvert(),
          nb::arg("offsets").noconvert(), nb::arg("index").noconvert());
    m.def("join_lines", &join_lines, nb::arg("ids").noconvert(), nb::arg("lines").noconvert(),
          nb::arg("blob").noconvert(), nb::arg("offsets").noconvert());
}

}  // namespace dragoman
