// Random derivations, made from left to right in the target: the next phrase is drawn among all that the reordering
// limit allows. Every derivation can come out, with a probability that one pass over it tells.
#pragma once

#include "base/random_stream.hpp"
#include "search/phrase/space.hpp"

#include <optional>

namespace dragoman::sampling::phrase {

using search::phrase::PhraseSpace;

// A span is drawn by what its options are worth together, the distortion, and what is lost or gained for the words
// around it, all to the power of `sharpness`, and then one of its options. Sharpness 0 draws uniformly.
class ForwardProposal {
public:
    ForwardProposal(PhraseSpace& space, double sharpness);

    // Draws a derivation and returns the logarithm of its probability; nothing if the draw ran into a dead end.
    std::optional<double> draw(Stream& stream, std::vector<std::int32_t>& derivation);

    // The logarithm of the probability that `draw` makes this derivation.
    double log_probability(const std::vector<std::int32_t>& derivation);

private:
    struct Span {
        std::int32_t begin, end;
        double weight;
    };

    // However bad, everything stays possible.
    static constexpr double kLeast = -30;
    // What it costs to leave the first uncovered word where no single jump comes back to it: most often a dead end.
    static constexpr double kOutOfReach = -10;

    void prepare(std::int32_t begin, std::int32_t end);

    double& worth(std::int32_t begin, std::int32_t end) {
        return worth_[static_cast<std::size_t>(begin) * space_.longest() + static_cast<std::size_t>(end - begin - 1)];
    }

    void restart();

    void cover(std::int32_t begin, std::int32_t end);

    // Lists the spans that may come next with their weights; returns the sum of these.
    double list_spans();

    PhraseSpace& space_;
    double sharpness_;
    std::vector<char> covered_;  // and one after the last word
    std::vector<double> shares_;  // probability of each option given its span
    std::vector<double> worth_;   // of the options of each span together
    std::vector<Span> spans_;
    std::int32_t left_ = 0, end_ = 0, first_gap_ = 0;
};

}  // namespace dragoman::sampling::phrase
