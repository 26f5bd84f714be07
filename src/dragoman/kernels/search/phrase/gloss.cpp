#include "search/phrase/gloss.hpp"

namespace dragoman::search::phrase {

std::optional<std::vector<std::int32_t>> gloss(const PhraseSpace& space) {
    const std::int32_t n = space.length();
    std::vector<double> best(static_cast<std::size_t>(n) + 1, 0);
    std::vector<std::int32_t> choice(static_cast<std::size_t>(n), -1);
    for (std::int32_t begin = n - 1; begin >= 0; --begin)
        for (std::int32_t end = begin + 1; end <= std::min(n, begin + space.longest()); ++end) {
            const auto options = space.on_span(begin, end);
            if (options.empty() || (end < n && choice[end] < 0)) continue;
            const double score = space.estimate(options[0]) + best[end];
            if (choice[begin] >= 0 && score <= best[begin]) continue;
            best[begin] = score;
            choice[begin] = options[0];
        }
    std::vector<std::int32_t> derivation;
    for (std::int32_t at = 0; at < n; at = space.options.end[choice[at]]) {
        if (choice[at] < 0) return std::nullopt;
        derivation.push_back(choice[at]);
    }
    return derivation;
}

std::optional<std::vector<std::int32_t>> word_gloss(const PhraseSpace& space) {
    std::vector<std::int32_t> derivation;
    for (std::int32_t word = 0; word < space.length(); ++word) {
        const auto options = space.on_span(word, word + 1);
        if (options.empty()) return gloss(space);
        derivation.push_back(options[0]);
    }
    return derivation;
}

}  // namespace dragoman::search::phrase
