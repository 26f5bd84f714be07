// Which of the alignments that a pair of sides was found with it keeps.
#pragma once

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "training/numbering.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace dragoman::training {

using LinkList = std::vector<std::uint32_t>;

// Among equally frequent alignments Moses prefers the greater one, comparing word by word the sets of positions that
// each word is linked to: target words for the forward table, source words for the backward table. With links as
// sorted (word, position) pairs: at the first difference the one whose word comes earlier has the longer set there.
inline bool greater_links(const LinkList& a, const LinkList& b) {
    const auto [x, y] = std::ranges::mismatch(a, b);
    if (x == a.end() || y == b.end()) return x != a.end();
    return *x >> 16 != *y >> 16 ? *x >> 16 < *y >> 16 : *x > *y;
}

// `Links` knows the links of instances, relative(instance, links), their count(instance), and what a sum of counts is when
// it is compared, rounded(count).
template <class Links>
class AlignmentChoice {
public:
    explicit AlignmentChoice(const Links& links) : links_(links) {}

    // The instances (forward, backward) that carry the pair's alignment.
    std::pair<std::uint32_t, std::uint32_t> choose(std::span<const std::uint32_t> instances) {
        if (instances.size() == 1) return {instances[0], instances[0]};
        used_ = 0;
        for (const std::uint32_t i : instances) {
            links_.relative(i, found_);
            const auto end = kinds_.begin() + static_cast<std::ptrdiff_t>(used_);
            const auto kind = std::find_if(kinds_.begin(), end, [&](const Kind& k) { return k.links == found_; });
            if (kind != end) {
                kind->count += links_.count(i);
                continue;
            }
            if (used_ == kinds_.size()) kinds_.emplace_back();
            Kind& added = kinds_[used_++];
            added.instance = i;
            added.count = links_.count(i);
            added.links.swap(found_);
        }
        if (used_ == 1) return {instances[0], instances[0]};
        return {best(true), best(false)};
    }

private:
    struct Kind {
        std::uint32_t instance;
        std::uint64_t count;
        LinkList links;
    };

    std::uint32_t best(bool by_target) const {
        const Kind* chosen = &kinds_[0];
        for (const Kind& kind : std::span(kinds_).subspan(1, used_ - 1)) {
            const std::uint64_t count = links_.rounded(kind.count), most = links_.rounded(chosen->count);
            if (count > most || (count == most && greater_links(sorted(kind, by_target), sorted(*chosen, by_target))))
                chosen = &kind;
        }
        return chosen->instance;
    }

    static LinkList sorted(const Kind& kind, bool by_target) {
        LinkList result = kind.links;
        if (by_target)
            for (std::uint32_t& link : result) link = link << 16 | link >> 16;
        std::ranges::sort(result);
        return result;
    }

    const Links& links_;
    LinkList found_;
    std::vector<Kind> kinds_;  // the first `used_`; the others keep their memory
    std::size_t used_ = 0;
};

// For each pair the instances that carry its alignment, for the forward and for the backward table.
template <class Links>
auto choose_links(const Links& links, std::span<const std::uint32_t> instances, std::span<const std::int64_t> offsets,
                  int threads, Progress progress) {
    const std::size_t n = offsets.size() - 1;
    std::vector<std::uint32_t> forward(n), backward(n);
    run_blocks(blocks_of(n, kRowsPerBlock), threads, progress, [&](std::size_t block) {
        AlignmentChoice choice(links);
        for (std::size_t pair = block * kRowsPerBlock; pair < std::min(n, (block + 1) * kRowsPerBlock); ++pair)
            std::tie(forward[pair], backward[pair]) =
                choice.choose(instances.subspan(offsets[pair], offsets[pair + 1] - offsets[pair]));
    });
    return together(give(std::move(forward)), give(std::move(backward)));
}

}  // namespace dragoman::training
