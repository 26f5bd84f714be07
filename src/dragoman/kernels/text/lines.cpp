// Text as numbers: words interned as int32 ids, lines as ranges of ids.
// A word list is three arrays: the UTF-8 bytes of all words, their offsets, and a hash index over them.
#include "text/word_index.hpp"

#include <algorithm>

namespace dragoman::text {
namespace {

struct Lines {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};
    void end_line() { offsets.push_back(static_cast<std::int64_t>(ids.size())); }
};

auto word_index(In1<std::uint8_t> blob, In1<std::int64_t> offsets) { return std::get<2>(WordIndex(blob, offsets).take_parts()); }

template <class IdOf>
Lines lines_of(Bytes text, IdOf&& id_of) {
    Lines lines;
    split_lines(text, [&](Bytes line) {
        split_words(line, [&](Bytes word) { lines.ids.push_back(id_of(word)); });
        lines.end_line();
        return true;
    });
    return lines;
}

auto intern_lines(In1<std::uint8_t> text, In1<std::uint8_t> blob, In1<std::int64_t> offsets) {
    WordIndex words(blob, offsets);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = lines_of(view(text), [&](Bytes word) { return words.intern(word); });
    }
    auto [new_blob, new_offsets, index] = words.take_parts();
    return together(give(std::move(lines.ids)), give(std::move(lines.offsets)), std::move(new_blob), std::move(new_offsets), std::move(index));
}

auto lookup_lines(In1<std::uint8_t> text, In1<std::uint8_t> blob, In1<std::int64_t> offsets, In1<std::int32_t> index) {
    const WordView words(blob, offsets, index);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = lines_of(view(text), [&](Bytes word) { return std::max(words.find(word), 0); });
    }
    return together(give(std::move(lines.ids)), give(std::move(lines.offsets)));
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

void bind_lines(nb::module_& m) {
    m.def("word_index", &word_index, nb::arg("blob"), nb::arg("offsets"),
          "Hash index of a word list.");
    m.def("intern_lines", &intern_lines, nb::arg("text"), nb::arg("blob"), nb::arg("offsets"),
          "Words of text as ids, growing the word list: ids, line offsets, and the new list's blob, offsets, index.");
    m.def("lookup_lines", &lookup_lines, nb::arg("text"), nb::arg("blob"), nb::arg("offsets"), nb::arg("index"),
          "Words of text as ids of a fixed word list (0 where unknown), and line offsets.");
    m.def("join_lines", &join_lines, nb::arg("ids"), nb::arg("lines"), nb::arg("blob"), nb::arg("offsets"),
          "Ids as text: words separated by spaces, lines ended by newlines.");
}

}  // namespace dragoman::text
