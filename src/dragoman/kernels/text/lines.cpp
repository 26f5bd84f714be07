// Text as numbers: words interned as int32 ids, lines as ranges of ids.
// A word list is three arrays: the UTF-8 bytes of all words, their offsets, and a hash index over them.
#include "text/word_index.hpp"

#include <algorithm>
#include <utility>

namespace dragoman::text {
namespace {

struct Lines {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};
    void end_line() { offsets.push_back(static_cast<std::int64_t>(ids.size())); }
};

auto word_index(const Texts& words) { return std::get<2>(WordIndex(words).take_parts()); }

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

auto intern_lines(In1<std::uint8_t> text, const Texts& known) {
    WordIndex words(known);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = lines_of(view(text), [&](Bytes word) { return words.intern(word); });
    }
    auto [new_blob, new_offsets, index] = words.take_parts();
    return together(give(std::move(lines.ids)), give(std::move(lines.offsets)), std::move(new_blob), std::move(new_offsets), std::move(index));
}

auto lookup_lines(In1<std::uint8_t> text, const Texts& known, In1<std::int32_t> index) {
    const WordView words(known, index);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = lines_of(view(text), [&](Bytes word) { return std::max(words.find(word), 0); });
    }
    return together(give(std::move(lines.ids)), give(std::move(lines.offsets)));
}

auto join_lines(const Rows& lines, const Texts& words) {
    std::vector<std::uint8_t> text;
    {
        nb::gil_scoped_release release;
        for (std::size_t l = 0; l < lines.size(); ++l) {
            bool any = false;
            for (const std::int32_t id : lines[l]) {
                if (std::exchange(any, true)) text.push_back(' ');
                const Bytes word = words[static_cast<std::size_t>(id)];
                text.insert(text.end(), word.begin(), word.end());
            }
            text.push_back('\n');
        }
    }
    return give(std::move(text));
}

}  // namespace

void bind_lines(nb::module_& m) {
    m.def("word_index", &word_index, nb::arg("words"),
          "Hash index of a word list.");
    m.def("intern_lines", &intern_lines, nb::arg("text"), nb::arg("words"),
          "Words of text as ids, growing the word list: ids, line offsets, and the new list's blob, offsets, index.");
    m.def("lookup_lines", &lookup_lines, nb::arg("text"), nb::arg("words"), nb::arg("index"),
          "Words of text as ids of a fixed word list (0 where unknown), and line offsets.");
    m.def("join_lines", &join_lines, nb::arg("lines"), nb::arg("words"),
          "Ids as text: words separated by spaces, lines ended by newlines.");
}

}  // namespace dragoman::text
