// The suffix array of a corpus: all its positions in the order of what stands there.
#include "base/arrays.hpp"
#include "training/rules.hpp"

#include <algorithm>
#include <numeric>

namespace dragoman::training {
namespace {

// The suffixes of sentences by their first words, those that are the same so far by position; a sentence's end comes first.
std::vector<std::int32_t> sorted_suffixes(Words words, Bounds offsets, int depth) {
    std::vector<std::int32_t> suffixes(words.size()), end(words.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
        std::fill(end.begin() + offsets[i], end.begin() + offsets[i + 1], static_cast<std::int32_t>(offsets[i + 1]));
    std::iota(suffixes.begin(), suffixes.end(), 0);
    std::sort(suffixes.begin(), suffixes.end(), [&](std::int32_t a, std::int32_t b) {
        const int left = std::min(depth, end[a] - a), right = std::min(depth, end[b] - b);
        for (int k = 0; k < std::min(left, right); ++k)
            if (words[a + k] != words[b + k]) return words[a + k] < words[b + k];
        return left != right ? left < right : a < b;
    });
    return suffixes;
}

auto suffix_array(In1<std::int32_t> words, In1<std::int64_t> offsets, int depth) {
    std::vector<std::int32_t> suffixes;
    {
        nb::gil_scoped_release release;
        suffixes = sorted_suffixes(view(words), view(offsets), depth);
    }
    return give(std::move(suffixes));
}

}  // namespace

void bind_suffix_array(nb::module_& m) {
    m.def("suffix_array", &suffix_array, nb::arg("words"), nb::arg("offsets"), nb::arg("depth"),
          "The positions of all words by what is there: so many words of the sentence, then the position.");
}

}  // namespace dragoman::training
