// Phrase extraction: every phrase pair that is consistent with the links of its sentence pair, with the word-based
// orientation (monotone, swap, other) towards the previous and the next target word.
#include "base/arrays.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <numeric>

namespace dragoman::training {
namespace {

enum Orientation : std::uint8_t { kMonotone = 0, kSwap = 1, kOther = 2 };

struct Instances {
    std::vector<std::int32_t> sentence;
    std::vector<std::uint16_t> source_begin, target_begin;  // enough, because a phrase pair has a link inside
    std::vector<std::uint8_t> source_length, target_length, previous, next;

    std::size_t size() const { return sentence.size(); }

    void resize(std::size_t n) {
        sentence.resize(n);
        for (auto* column : {&source_begin, &target_begin}) column->resize(n);
        for (auto* column : {&source_length, &target_length, &previous, &next}) column->resize(n);
    }

    void add(int row, int sb, int se, int tb, int te, Orientation to_previous, Orientation to_next) {
        sentence.push_back(row);
        source_begin.push_back(static_cast<std::uint16_t>(sb));
        source_length.push_back(static_cast<std::uint8_t>(se - sb + 1));
        target_begin.push_back(static_cast<std::uint16_t>(tb));
        target_length.push_back(static_cast<std::uint8_t>(te - tb + 1));
        previous.push_back(to_previous);
        next.push_back(to_next);
    }

    void copy_into(Instances& all, std::size_t at) const {
        std::ranges::copy(sentence, all.sentence.begin() + at);
        std::ranges::copy(source_begin, all.source_begin.begin() + at);
        std::ranges::copy(target_begin, all.target_begin.begin() + at);
        std::ranges::copy(source_length, all.source_length.begin() + at);
        std::ranges::copy(target_length, all.target_length.begin() + at);
        std::ranges::copy(previous, all.previous.begin() + at);
        std::ranges::copy(next, all.next.begin() + at);
    }
};

// The links of one sentence pair, sorted by (source, target) position; reused from sentence to sentence.
class Sentence {
public:
    void read(std::span<const std::uint32_t> links, int source_length, int target_length) {
        links_ = links;
        source_length_ = source_length;
        target_length_ = target_length;
        first_link_.assign(source_length + 1, 0);
        lowest_.assign(target_length, source_length);
        highest_.assign(target_length, -1);
        count_.assign(target_length, 0);
        for (const std::uint32_t link : links) {
            const int s = link >> 16, t = link & 0xFFFF;
            ++first_link_[s + 1];
            ++count_[t];
            lowest_[t] = std::min(lowest_[t], s);
            highest_[t] = std::max(highest_[t], s);
        }
        std::partial_sum(first_link_.begin(), first_link_.end(), first_link_.begin());
    }

    void extract(int row, int max_length, Instances& out) const {
        for (int tb = 0; tb < target_length_; ++tb) {
            int low = source_length_, high = -1, links = 0;
            for (int te = tb; te < target_length_ && te - tb < max_length; ++te) {
                low = std::min(low, lowest_[te]);
                high = std::max(high, highest_[te]);
                links += count_[te];
                if (high < 0) continue;
                if (high - low >= max_length) break;
                // All links of the target words end in [low, high]: the pair is consistent if those source words have
                // no others.
                if (first_link_[high + 1] - first_link_[low] != links) continue;
                for (int sb = low; sb >= 0 && high - sb < max_length && (sb == low || unaligned(sb)); --sb) {
                    const int end = std::min(source_length_, sb + max_length);
                    for (int se = high; se < end && (se == high || unaligned(se)); ++se)
                        out.add(row, sb, se, tb, te, orientation(aligned(sb - 1, tb - 1), aligned(se + 1, tb - 1)),
                                orientation(aligned(se + 1, te + 1), aligned(sb - 1, te + 1)));
                }
            }
        }
    }

private:
    bool unaligned(int s) const { return first_link_[s] == first_link_[s + 1]; }

    // The corners just outside the sentence pair count as linked.
    bool aligned(int s, int t) const {
        if (s < 0 || t < 0) return s == t;
        if (s >= source_length_ || t >= target_length_) return s == source_length_ && t == target_length_;
        for (int i = first_link_[s]; i < first_link_[s + 1]; ++i)
            if (int(links_[i] & 0xFFFF) == t) return true;
        return false;
    }

    static Orientation orientation(bool monotone, bool swap) {
        return monotone == swap ? kOther : monotone ? kMonotone : kSwap;
    }

    std::span<const std::uint32_t> links_;
    int source_length_ = 0, target_length_ = 0;
    std::vector<int> first_link_, lowest_, highest_, count_;
};

auto extract_phrases(In1<std::int64_t> source_offsets, In1<std::int64_t> target_offsets, In1<std::uint32_t> links,
                     In1<std::int64_t> link_offsets, int max_length, int threads, Progress progress) {
    const auto source = view(source_offsets), target = view(target_offsets), link = view(link_offsets);
    const std::size_t rows = source.size() - 1;
    constexpr std::size_t kPerBlock = 512;
    const std::size_t blocks = (rows + kPerBlock - 1) / kPerBlock;
    std::vector<Instances> parts(blocks);
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        Sentence sentence;
        const std::size_t end = std::min(rows, (block + 1) * kPerBlock);
        for (std::size_t row = block * kPerBlock; row < end; ++row) {
            sentence.read(view(links).subspan(link[row], link[row + 1] - link[row]), int(source[row + 1] - source[row]),
                          int(target[row + 1] - target[row]));
            sentence.extract(int(row), max_length, parts[block]);
        }
    });
    std::vector<std::size_t> begin(blocks + 1, 0);
    for (std::size_t block = 0; block < blocks; ++block) begin[block + 1] = begin[block] + parts[block].size();
    Instances all;
    all.resize(begin[blocks]);
    run_blocks(blocks, threads, nb::none(), [&](std::size_t block) {
        parts[block].copy_into(all, begin[block]);
        parts[block] = {};
    });
    return together(give(std::move(all.sentence)), give(std::move(all.source_begin)),
                    give(std::move(all.source_length)), give(std::move(all.target_begin)),
                    give(std::move(all.target_length)), give(std::move(all.previous)), give(std::move(all.next)));
}

}  // namespace

void bind_extract(nb::module_& m) {
    m.def("extract_phrases", &extract_phrases, nb::arg("source_offsets"), nb::arg("target_offsets"), nb::arg("links"),
          nb::arg("link_offsets"), nb::arg("max_length"), nb::arg("threads"), nb::arg("progress").none(),
          "Consistent phrase pairs of sorted links: sentence, source begin and length, target begin and length, and\n"
          "the orientation (0 monotone, 1 swap, 2 other) to the previous and the next phrase.");
}

}  // namespace dragoman::training
