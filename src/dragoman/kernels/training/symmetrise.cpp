// From the links of two directions to one alignment (Och & Ney 2003; Koehn, Och & Marcu 2003), in the order of atools:
// candidates are tried from the first source word to the last, and each takes effect at once.
#include "base/parallel.hpp"
#include "training/alignment.hpp"

namespace dragoman::training {
namespace {

constexpr std::size_t kSentences = 1024;

enum class Method { intersection, union_, grow_diag, grow_diag_final, grow_diag_final_and };

using Row = std::vector<std::uint32_t>;

std::uint32_t source(std::uint32_t link) { return link >> 16; }
std::uint32_t target(std::uint32_t link) { return link & 0xFFFF; }

Row sorted_row(const In1<std::uint32_t>& values, const In1<std::int64_t>& offsets, std::size_t s) {
    Row row(values.data() + offsets.data()[s], values.data() + offsets.data()[s + 1]);
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
    return row;
}

// One sentence pair's alignment as it grows: its links, sorted, and which words have one.
class Growth {
public:
    explicit Growth(const Row& links, const Row& candidates) {
        std::uint32_t sources = 0, targets = 0;
        for (const auto link : candidates) {
            sources = std::max(sources, source(link) + 1);
            targets = std::max(targets, target(link) + 1);
        }
        source_linked_.resize(sources);
        target_linked_.resize(targets);
        for (const auto link : links) add(link);
    }

    const Row& links() const { return links_; }
    bool has(std::uint32_t link) const { return std::ranges::binary_search(links_, link); }
    bool source_free(std::uint32_t link) const { return !source_linked_[source(link)]; }
    bool target_free(std::uint32_t link) const { return !target_linked_[target(link)]; }

    bool has_neighbour(std::uint32_t link) const {
        const std::int32_t s = source(link), t = target(link);
        for (std::int32_t i = std::max(s - 1, 0); i <= std::min(s + 1, 0xFFFF); ++i)
            for (std::int32_t j = std::max(t - 1, 0); j <= std::min(t + 1, 0xFFFF); ++j)
                if ((i != s || j != t) && has(std::uint32_t(i) << 16 | std::uint32_t(j))) return true;
        return false;
    }

    void add(std::uint32_t link) {
        links_.insert(std::ranges::lower_bound(links_, link), link);
        source_linked_[source(link)] = target_linked_[target(link)] = true;
    }

private:
    Row links_;
    std::vector<bool> source_linked_, target_linked_;
};

// Adds neighbours (also diagonal ones) of links while they link a word that has none.
void grow_diagonally(Growth& growth, Row candidates) {
    for (bool grown = true; grown;) {
        Row left;
        for (const auto link : candidates) {
            if ((growth.source_free(link) || growth.target_free(link)) && growth.has_neighbour(link))
                growth.add(link);
            else
                left.push_back(link);
        }
        grown = left.size() < candidates.size();
        candidates = std::move(left);
    }
}

void add_final(Growth& growth, const Row& direction, Method method) {
    for (const auto link : direction) {
        const bool source_free = growth.source_free(link), target_free = growth.target_free(link);
        if (method == Method::grow_diag_final_and ? source_free && target_free : source_free || target_free)
            growth.add(link);
    }
}

Row symmetrise_row(const Row& forward, const Row& reverse, Method method) {
    Row both, either;
    std::ranges::set_union(forward, reverse, std::back_inserter(either));
    if (method == Method::union_) return either;
    std::ranges::set_intersection(forward, reverse, std::back_inserter(both));
    if (method == Method::intersection) return both;
    Row candidates;
    std::ranges::set_difference(either, both, std::back_inserter(candidates));
    Growth growth(both, either);
    grow_diagonally(growth, std::move(candidates));
    if (method != Method::grow_diag) {
        add_final(growth, forward, method);
        add_final(growth, reverse, method);
    }
    return growth.links();
}

auto symmetrise_links(In1<std::uint32_t> forward, In1<std::int64_t> forward_offsets, In1<std::uint32_t> reverse,
                      In1<std::int64_t> reverse_offsets, int method, int threads) {
    const std::size_t sentences = forward_offsets.shape(0) - 1;
    const std::size_t blocks = (sentences + kSentences - 1) / kSentences;
    std::vector<Row> parts(blocks);
    std::vector<std::int64_t> offsets(sentences + 1);
    run_blocks(blocks, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t s = block * kSentences; s < std::min(sentences, (block + 1) * kSentences); ++s) {
            const Row row = symmetrise_row(sorted_row(forward, forward_offsets, s),
                                           sorted_row(reverse, reverse_offsets, s), static_cast<Method>(method));
            parts[block].insert(parts[block].end(), row.begin(), row.end());
            offsets[s + 1] = static_cast<std::int64_t>(row.size());
        }
    });
    for (std::size_t s = 0; s < sentences; ++s) offsets[s + 1] += offsets[s];
    std::vector<std::uint32_t> links;
    links.reserve(offsets.back());
    for (const Row& part : parts) links.insert(links.end(), part.begin(), part.end());
    return together(give(std::move(links)), give(std::move(offsets)));
}

}  // namespace

void bind_symmetrise(nb::module_& m) {
    m.def("symmetrise_links", &symmetrise_links, nb::arg("forward"), nb::arg("forward_offsets"), nb::arg("reverse"),
          nb::arg("reverse_offsets"), nb::arg("method"), nb::arg("threads"),
          "Both directions' links made one; methods: 0 intersection, 1 union, 2 grow-diag, 3 …-final, 4 …-final-and.");
}

}  // namespace dragoman::training
