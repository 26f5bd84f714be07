// Text as numbers: words interned as int32 ids, lines as ranges of ids, phrases interned as ids of their own.
// A word list is three arrays: the UTF-8 bytes of all words, their offsets, and a hash index over them.
#include "word_index.hpp"

#include <algorithm>

namespace dragoman {
namespace {

struct Lines {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> offsets{0};
    void end_line() { offsets.push_back(static_cast<std::int64_t>(ids.size())); }
};

nb::object word_index(In1<std::uint8_t> blob, In1<std::int64_t> offsets) {
    return nb::object(WordIndex(blob, offsets).take()[2]);
}

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
    const nb::tuple list = words.take();
    return nb::make_tuple(give(std::move(lines.ids)), give(std::move(lines.offsets)), list[0], list[1], list[2]);
}

auto lookup_lines(In1<std::uint8_t> text, In1<std::uint8_t> blob, In1<std::int64_t> offsets, In1<std::int32_t> index) {
    const WordView words(blob, offsets, index);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = lines_of(view(text), [&](Bytes word) { return std::max(words.find(word), 0); });
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

auto intern_sequences(In1<std::int32_t> words, In1<std::int64_t> offsets) {
    std::vector<std::int32_t> ids, distinct_words;
    std::vector<std::int64_t> distinct_offsets{0};
    {
        nb::gil_scoped_release release;
        const auto offset = view(offsets);
        const std::size_t n = offset.size() - 1;
        ids.resize(n);
        std::vector<std::int32_t> slots(table_size(1024), -1);
        auto sequence = [&](std::int32_t id) {
            return std::span<const std::int32_t>(distinct_words.data() + distinct_offsets[id],
                                                 distinct_words.data() + distinct_offsets[id + 1]);
        };
        auto slot = [&](std::span<const std::int32_t> wanted) {
            const std::size_t mask = slots.size() - 1;
            std::size_t at = hash_words(wanted) & mask;
            while (slots[at] >= 0 && !std::ranges::equal(sequence(slots[at]), wanted)) at = (at + 1) & mask;
            return at;
        };
        for (std::size_t i = 0; i < n; ++i) {
            const std::span<const std::int32_t> wanted(words.data() + offset[i], words.data() + offset[i + 1]);
            const std::size_t at = slot(wanted);
            if (slots[at] < 0) {
                slots[at] = static_cast<std::int32_t>(distinct_offsets.size() - 1);
                distinct_words.insert(distinct_words.end(), wanted.begin(), wanted.end());
                distinct_offsets.push_back(static_cast<std::int64_t>(distinct_words.size()));
                ids[i] = slots[at];
                if (distinct_offsets.size() * 2 > slots.size()) {
                    slots.assign(slots.size() * 2, -1);
                    for (std::size_t id = 0; id + 1 < distinct_offsets.size(); ++id)
                        slots[slot(sequence(static_cast<std::int32_t>(id)))] = static_cast<std::int32_t>(id);
                }
            } else {
                ids[i] = slots[at];
            }
        }
    }
    return nb::make_tuple(give(std::move(ids)), give(std::move(distinct_words)), give(std::move(distinct_offsets)));
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
    m.def("intern_sequences", &intern_sequences, nb::arg("words").noconvert(), nb::arg("offsets").noconvert());
}

}  // namespace dragoman
