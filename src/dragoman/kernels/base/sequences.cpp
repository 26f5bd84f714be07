// Phrases as numbers: interning sequences of word ids, indexing them, and finding them in sentences.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/sequence_index.hpp"

namespace dragoman {
namespace {

std::vector<std::int32_t> build_slots(Words words, std::span<const std::int64_t> offsets, std::size_t slots) {
    std::vector<std::int32_t> table(slots, -1);
    const SequenceIndex index{words, offsets, table};
    for (std::size_t id = 0; id + 1 < offsets.size(); ++id)
        table[index.slot(index.sequence(static_cast<std::int32_t>(id)))] = static_cast<std::int32_t>(id);
    return table;
}

auto intern_sequences(In1<std::int32_t> words, In1<std::int64_t> offsets) {
    std::vector<std::int32_t> ids, distinct;
    std::vector<std::int64_t> bounds{0};
    {
        nb::gil_scoped_release release;
        const auto offset = view(offsets);
        ids.resize(offset.size() - 1);
        std::vector<std::int32_t> slots(table_size(1024), -1);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Words wanted(words.data() + offset[i], words.data() + offset[i + 1]);
            const std::size_t at = SequenceIndex{distinct, bounds, slots}.slot(wanted);
            ids[i] = slots[at];
            if (ids[i] >= 0) continue;
            ids[i] = slots[at] = static_cast<std::int32_t>(bounds.size() - 1);
            distinct.insert(distinct.end(), wanted.begin(), wanted.end());
            bounds.push_back(static_cast<std::int64_t>(distinct.size()));
            if (bounds.size() * 2 > slots.size()) slots = build_slots(distinct, bounds, slots.size() * 2);
        }
    }
    return together(give(std::move(ids)), give(std::move(distinct)), give(std::move(bounds)));
}

auto sequence_index(In1<std::int32_t> words, In1<std::int64_t> offsets) {
    std::vector<std::int32_t> slots;
    {
        nb::gil_scoped_release release;
        slots = build_slots(view(words), view(offsets), table_size(offsets.shape(0) - 1));
    }
    return give(std::move(slots));
}

// The slot at which the search for each sequence begins.
auto sequence_homes(In1<std::int32_t> words, In1<std::int64_t> offsets, std::uint64_t slots) {
    std::vector<std::int64_t> homes(offsets.shape(0) - 1);
    {
        nb::gil_scoped_release release;
        const SequenceIndex rows{view(words), view(offsets), {}};
        for (std::size_t i = 0; i < homes.size(); ++i)
            homes[i] = static_cast<std::int64_t>(hash_words(rows.sequence(static_cast<std::int32_t>(i))) & (slots - 1));
    }
    return give(std::move(homes));
}

// Some slots of a table with open addressing whose keys are all different: what comes first gets the first slot that is
// free. What belongs into slots elsewhere found none before these, and begins at the first; what finds none here has to
// go on behind them.
auto fill_slots(In1<std::int64_t> homes, std::int64_t slots, std::int64_t first, std::int64_t size) {
    std::vector<std::int32_t> rows(size, -1);
    std::vector<std::int64_t> left;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        for (std::size_t row = 0; row < homes.size(); ++row) {
            heed(stop);
            const std::int64_t home = homes.data()[row] - first;
            std::int64_t at = home >= 0 && home < size ? home : 0;
            while (at < size && rows[at] >= 0)
                if (++at == slots) at = 0;
            if (at < size)
                rows[at] = static_cast<std::int32_t>(row);
            else
                left.push_back(static_cast<std::int64_t>(row));
        }
    });
    return together(give(std::move(rows)), give(std::move(left)));
}

// For each sequence its id among the indexed ones, or -1.
auto find_sequences(In1<std::int32_t> wanted, In1<std::int64_t> bounds, In1<std::int32_t> words,
                    In1<std::int64_t> offsets, In1<std::int32_t> slots) {
    std::vector<std::int32_t> ids(bounds.shape(0) - 1);
    {
        nb::gil_scoped_release release;
        const SequenceIndex index{view(words), view(offsets), view(slots)};
        const SequenceIndex rows{view(wanted), view(bounds), {}};
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = index.find(rows.sequence(static_cast<std::int32_t>(i)));
    }
    return give(std::move(ids));
}

// For every position of every line and every length up to max_length: the id of the sequence there, or -1.
auto match_spans(In1<std::int32_t> tokens, In1<std::int64_t> lines, int max_length, In1<std::int32_t> words,
                 In1<std::int64_t> offsets, In1<std::int32_t> slots, int threads, Progress progress) {
    const SequenceIndex index{view(words), view(offsets), view(slots)};
    const auto token = view(tokens);
    const auto line = view(lines);
    std::vector<std::int32_t> found(token.size() * static_cast<std::size_t>(max_length), -1);
    constexpr std::size_t lines_per_block = 256;
    const std::size_t count = line.size() - 1;
    run_blocks((count + lines_per_block - 1) / lines_per_block, threads, progress, [&](std::size_t block) {
        for (std::size_t l = block * lines_per_block; l < std::min(count, (block + 1) * lines_per_block); ++l)
            for (auto begin = line[l]; begin < line[l + 1]; ++begin) {
                const auto longest = std::min<std::int64_t>(max_length, line[l + 1] - begin);
                for (std::int64_t length = 1; length <= longest; ++length)
                    found[static_cast<std::size_t>(begin * max_length + length - 1)] =
                        index.find(token.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)));
            }
    });
    return give(std::move(found), static_cast<std::size_t>(max_length));
}

}  // namespace

void bind_sequences(nb::module_& m) {
    m.def("intern_sequences", &intern_sequences, nb::arg("words"), nb::arg("offsets"),
          "Number the distinct rows of a ragged array: id of each row; the distinct rows' values and offsets.");
    m.def("sequence_index", &sequence_index, nb::arg("words"), nb::arg("offsets"),
          "Hash index of distinct rows.");
    m.def("sequence_homes", &sequence_homes, nb::arg("words"), nb::arg("offsets"), nb::arg("slots"),
          "The slot of each row in a hash index of so many slots.");
    m.def("fill_slots", &fill_slots, nb::arg("homes"), nb::arg("slots"), nb::arg("first"), nb::arg("size"),
          "`size` slots of a table of so many, from `first` on: the row in each, or -1; and the rows that find no place.\n"
          "Rows belong into the slots `homes` and come in this order; there are fewer than slots.");
    m.def("find_sequences", &find_sequences, nb::arg("wanted"), nb::arg("bounds"), nb::arg("words"),
          nb::arg("offsets"), nb::arg("slots"),
          "For each row of one ragged array its id among the indexed rows of another, or -1.");
    m.def("match_spans", &match_spans, nb::arg("tokens"), nb::arg("lines"), nb::arg("max_length"), nb::arg("words"),
          nb::arg("offsets"), nb::arg("slots"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "For every position of every line (row) and every length (column, from 1) the id of the indexed row, or -1.");
}

}  // namespace dragoman
