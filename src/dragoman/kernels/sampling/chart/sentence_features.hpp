// Features of whole sentences on derivations of a chart, whose translations they see as symbols.
#pragma once

#include "base/arrays.hpp"
#include "sampling/chart/derivation.hpp"
#include "sampling/global_function.hpp"

#include <tuple>
#include <vector>

namespace dragoman::sampling::chart {

// What Python hands over of a feature: address of its function, weight, symbols of source words and of rules' words.
using SentenceFeature = std::tuple<std::uintptr_t, double, In1<std::int32_t>, In1<std::int32_t>>;

class SentenceFeatures {
public:
    SentenceFeatures(const std::vector<SentenceFeature>& features, const ChartBatch& batch, std::size_t first_word, std::size_t length)
        : features_(features), batch_(batch), first_word_(first_word), length_(length) {}

    bool any() const { return !features_.empty(); }

    // The weighted sum of the features of a derivation.
    double score(const ChartDerivation& derivation) {
        double sum = 0;
        for (const auto& [address, weight, source, words] : features_) {
            target_.clear();
            derivation.for_words([&](std::int32_t rule, std::size_t place) {
                target_.push_back(words.data()[static_cast<std::size_t>(batch_.first_word(rule)) + place]);
            });
            const std::int64_t source_offsets[] = {0, static_cast<std::int64_t>(length_)};
            const std::int64_t target_offsets[] = {0, static_cast<std::int64_t>(target_.size())};
            sum += weight * call(reinterpret_cast<GlobalFunction>(address), view(source).subspan(first_word_, length_), source_offsets, target_,
                                 target_offsets, 0);
        }
        return sum;
    }

private:
    const std::vector<SentenceFeature>& features_;
    const ChartBatch& batch_;
    std::size_t first_word_, length_;
    std::vector<std::int32_t> target_;
};

}  // namespace dragoman::sampling::chart
