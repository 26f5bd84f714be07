// What chains of SampleRank are told, share, and report.
#pragma once

#include "base/arrays.hpp"
#include "sampling/phrase/global_feature.hpp"
#include "tuning/batch_gain.hpp"

#include <array>

namespace dragoman::tuning {

using sampling::phrase::GlobalFeatureView;
using sampling::phrase::KINDS;

// What e' is: drawn by its probability, or the model's best (the chain goes on from there), or the one to fear, with the
// best score less gain, while the chain goes on from what is drawn.
enum class Worse { DRAWN, BEST, FEAR };

struct RankSettings {
    std::array<double, KINDS> rates;
    std::int64_t burn_in, samples;  // steps a sentence
    double temperature;
    double gain_scale;
    double margin;  // negative: the oracle's gain, or what an error leaves of 100
    double bound;   // C
    std::size_t constraints;
    bool by_margin;  // also where the order is right, but not by the margin
    bool by_gain;    // e+ has the best gain, not the best sum of gain and score
    Worse worse;
    bool best_found;    // e+ and e' have to stay behind the best gain that was found of the sentence, too
    bool applied_only;  // samples are steps at which the operator can be applied
    double sign;
    bool trace;
};

// What all chains share.
struct RankMaterial {
    const PhraseBatch& batch;
    const FeatureTable& table;
    const BleuReferences* references;  // null: `callback` knows the gains
    const nb::object& callback;
    std::span<const std::int32_t> words;
    std::vector<GlobalFeatureView> globals;
    std::span<const std::int32_t> global_features;  // their numbers
    std::span<const std::uint8_t> learnt;           // whether the weight of a feature may change
    std::span<const std::int64_t> source_offsets, units;
};

// Each step, for those who want to know; where there is nothing to choose, and in burn-in, there is no oracle.
struct RankTrace {
    std::vector<std::int32_t> steps;  // rows of sentence, operator, first and second point, members of the block, number of constraints
    std::vector<std::int32_t> phrases;
    std::vector<std::int64_t> phrase_offsets{0};  // of where the chain goes on, the oracle e+, e', and the best that was found, by turns
    std::vector<double> numbers;  // rows of score and gain of e', the same of the oracle, dual of the first constraint
    std::vector<double> weights;  // rows, after each step

    void add(const std::vector<std::int32_t>& derivation) {
        phrases.insert(phrases.end(), derivation.begin(), derivation.end());
        phrase_offsets.push_back(static_cast<std::int64_t>(phrases.size()));
    }
};

struct RankReport {
    std::int64_t steps = 0, updates = 0, changes = 0, clipped = 0;
    double gain = 0;       // of batches at their end, summed
    std::int64_t batches = 0;
    double moved = 0;      // length of the changes of weights, summed
};

}  // namespace dragoman::tuning
