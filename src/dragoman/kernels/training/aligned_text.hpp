// A parallel text with links, as Python hands it over.
#pragma once

#include "base/records.hpp"

namespace dragoman::training {

struct AlignedText {
    Ref<Rows> source, target;
    Ref<UnsignedRows> links;  // of each sentence pair, as source << 16 | target position, sorted
    std::optional<Held1<std::int64_t>> links_before;  // each word of the source

    std::size_t size() const { return source->size(); }
    int source_length(std::size_t i) const { return static_cast<int>((*source)[i].size()); }
    int target_length(std::size_t i) const { return static_cast<int>((*target)[i].size()); }
    // The links of some words of the source, which follow another.
    std::span<const std::uint32_t> links_of(std::int64_t word, std::size_t words) const {
        const std::int64_t* const first = links_before->data() + word;
        return {links->values.data() + first[0], links->values.data() + first[words]};
    }

    void check() const {
        require(target->size() == size() && links->size() == size(),
                "an aligned text needs two sides and links of the same length");
        require(!links_before || links_before->size() == source->values.size() + 1,
                "each word needs the number of links before it");
    }
};

}  // namespace dragoman::training
