// What chains of SampleRank work with, and what they report.
#pragma once

#include "sampling/phrase/batch_gain.hpp"
#include "sampling/phrase/global_feature.hpp"

namespace dragoman::sampling::phrase {

// What e' is: drawn by its probability, or the model's best (the chain goes on from there), or the one to fear, with
// the best score less gain, while the chain goes on from what is drawn.
enum Worse : int { DRAWN, BEST, FEAR };

// The derivations that a batch starts with: the best monotone ones by what options are worth alone, glosses of the words,
// or random ones.
enum Start : int { MONOTONE, GLOSS, RANDOM };

struct RankSettings {
    int start;
    std::array<double, KINDS> rates;
    std::int64_t burn_in, samples;  // steps a sentence
    double temperature;
    double gain_scale;  // score that a point of the metric is worth, or a hundredth of the batch's source words
    bool in_words;
    double margin;  // negative: the oracle's gain, or what an error leaves of 100
    double bound;   // C
    std::size_t constraints;
    bool by_margin;  // also where the order is right, but not by the margin
    bool by_gain;    // e+ has the best gain, not the best sum of gain and score
    int worse;
    bool best_found;    // e+ and e' have to stay behind the best gain that was found of the sentence, too
    bool applied_only;  // samples are steps at which the operator can be applied
    double sign;
    int reordering_limit;
    bool trace;
};

// What all chains share.
struct RankMaterial {
    const PhraseBatch& batch;
    const FeatureTable& table;
    const GlobalFeatures& globals;
    const BleuReferences* references;  // null: `callback` knows the gains
    const nb::object& callback;
    Bounds units;  // sentences or documents
    const PhraseModelView& model;
    Bounds source_offsets;
    std::span<const double> feature_units;  // updates are the smallest in features divided by these
};

// Each step, for those who want to know; where there is nothing to choose, and in burn-in, there is no oracle.
struct RankTrace {
    // Rows of sentence, operator, first and second point, members of the block, number of constraints.
    std::vector<std::int32_t> steps;
    std::vector<std::int32_t> phrases;
    // Of where the chain goes on, the oracle e+, e', and the best that was found, by turns.
    std::vector<std::int64_t> phrase_offsets{0};
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

}  // namespace dragoman::sampling::phrase
