// How often the holes of rules are reordered, by how many words they stand for (Chiang, Marton & Resnik 2008, section 4).
#include "base/parallel.hpp"
#include "training/aligned_text.hpp"
#include "training/numbering.hpp"
#include "training/rules.hpp"

#include <algorithm>
#include <array>

namespace dragoman::training {
namespace {

constexpr std::size_t kHoleSizes = 10;  // the last is of all that are larger, too

// Whether a link of the pair outside the hole crosses it. Holes have links, so that what another one does its links tell.
bool crosses(const SpanPair& whole, const SpanPair& hole, std::span<const std::uint32_t> links, const std::vector<int>& first_link) {
    for (int s = whole.source_begin; s < whole.source_end; ++s) {
        if (s == hole.source_begin) s = hole.source_end;
        if (s >= whole.source_end) break;
        for (int k = first_link[s]; k < first_link[s + 1]; ++k)
            if ((s < hole.source_begin) != (int(links[k] & 0xFFFF) < hole.target_begin)) return true;
    }
    return false;
}

auto count_hole_reordering(const AlignedText& text, In1<std::int32_t> limits, int threads, Progress progress) {
    const RuleLimits limit = limits_of(view(limits));
    constexpr std::size_t kPerBlock = 64;
    const std::size_t rows = text.size(), blocks = blocks_of(rows, kPerBlock);
    using Counts = std::array<double, 2 * kHoleSizes>;
    std::vector<Counts> parts(blocks, Counts{});
    run_blocks(blocks, threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        RuleSentence sentence(limit);
        std::vector<HoledPair> found;
        for (std::size_t i = block * kPerBlock; i < std::min(rows, (block + 1) * kPerBlock) && !stop; ++i) {
            const auto inner = (*text.links)[i];
            sentence.read(inner, text.source_length(i), text.target_length(i));
            for (const SpanPair& whole : sentence.pairs()) {
                found.clear();
                sentence.rules(whole, found);
                const double count = limit.fractional ? 1.0 / static_cast<double>(found.size()) : 1.0;
                for (const HoledPair& rule : found)
                    for (int k = 0; k < rule.nonterminals; ++k) {
                        const SpanPair& hole = rule.holes[k];
                        const std::size_t size = std::min(static_cast<std::size_t>(hole.source_length()), kHoleSizes) - 1;
                        parts[block][crosses(whole, hole, inner, sentence.first_link()) * kHoleSizes + size] += count;
                    }
            }
        }
    });
    std::vector<double> counts(2 * kHoleSizes, 0.0);
    for (const Counts& part : parts)
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += part[i];
    return give(std::move(counts), kHoleSizes);
}

}  // namespace

void bind_hole_reordering(nb::module_& m) {
    m.def("count_hole_reordering", &count_hole_reordering, nb::arg("text"), nb::arg("limits"), nb::arg("threads"),
          nb::arg("progress").none(),
          "The counts of holes of the rules of sorted links that are not reordered (first row) and that are, by the number of\n"
          "their source words: 1, 2, .. and 10 or more.");
}

}  // namespace dragoman::training
