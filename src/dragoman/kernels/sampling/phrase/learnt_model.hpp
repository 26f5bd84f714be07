// A phrase model whose weights change while it is used, with the features of its derivations.
#pragma once

#include "search/phrase/batch.hpp"
#include "search/phrase/derivation.hpp"

#include <memory>

namespace dragoman::sampling::phrase {

using search::phrase::Derivation;
using search::phrase::OptionsView;
using search::phrase::PhraseBatch;
using search::phrase::PhraseModelView;
using search::phrase::LocalSpace;

// The features of a batch's options, and where in a vector of weights those are that depend on context.
struct FeatureTable {
    Held2<double> dense;  // a column for each dense feature; those are the first ones
    Ref<FeatureRows> sparse;
    Held2<double> reorderings;             // six columns; the options of each reordering model one after the other
    Held1<std::int32_t> reordering_models;  // the first feature of each
    Ref<FeatureRows> oriented;              // properties of options: the first of six features of each
    Held1<std::int32_t> language_models, global_features;
    std::int32_t distortion, boundary;  // the first feature of boundary symbols
    Held1<std::uint8_t> learnt;         // whether the weight of a feature may change

    void check() const {
        require(sparse->size() == dense.shape(0) && oriented->size() == dense.shape(0), "options need dense and sparse features");
        require(reorderings.shape(0) == reordering_models.size() * dense.shape(0) &&
                    (reorderings.shape(0) == 0 || reorderings.shape(1) == 6),
                "options need six values for each reordering model");
    }

    // Calls visit(feature, value) for what an option has wherever it is placed.
    template <class Visit>
    void local(std::int64_t option, Visit&& visit) const {
        const std::size_t width = dense.shape(1);
        const double* const row = dense.data() + static_cast<std::size_t>(option) * width;
        for (std::size_t j = 0; j < width; ++j)
            if (row[j] != 0) visit(static_cast<std::int32_t>(j), row[j]);
        sparse->each(static_cast<std::size_t>(option), visit);
    }

    // Calls visit(first feature, six values) for each reordering model and property: three orientations towards the
    // option before, three towards the one after.
    template <class Visit>
    void reordering(std::int64_t option, Visit&& visit) const {
        for (std::size_t r = 0; r < reordering_models.size(); ++r)
            visit(reordering_models[r],
                  reorderings.data() + 6 * (r * dense.shape(0) + static_cast<std::size_t>(option)));
        oriented->each(static_cast<std::size_t>(option), [&](std::size_t feature, double value) {
            const double six[] = {value, value, value, value, value, value};
            visit(static_cast<std::int32_t>(feature), six);
        });
    }
};

// A sparse vector that is added to often.
class Accumulator {
public:
    explicit Accumulator(std::size_t size) : values_(size, 0.0), marked_(size, 0) {}

    void add(std::int32_t feature, double value) {
        if (!marked_[feature]) {
            marked_[feature] = 1;
            touched_.push_back(feature);
        }
        values_[feature] += value;
    }
    double operator[](std::int32_t feature) const { return values_[feature]; }

    // Moves the features that are not 0, ascending, and forgets all.
    void take(std::vector<std::pair<std::int32_t, double>>& out) {
        std::sort(touched_.begin(), touched_.end());
        out.clear();
        for (std::int32_t feature : touched_) {
            if (values_[feature] != 0) out.emplace_back(feature, values_[feature]);
            values_[feature] = 0;
            marked_[feature] = 0;
        }
        touched_.clear();
    }

private:
    std::vector<double> values_;
    std::vector<char> marked_;
    std::vector<std::int32_t> touched_;
};

using SparseVector = std::vector<std::pair<std::int32_t, double>>;

// The weights of one learner, and the phrase model under them.
class LearntModel {
public:
    LearntModel(const PhraseModelView& model, const FeatureTable& table, std::span<const double> start)
        : table(table), view(model), weights_(start.begin(), start.end()) {
        if (model.boundary != nullptr) view.boundary = weights_.data() + table.boundary;
        follow();
    }
    LearntModel(const LearntModel&) = delete;
    LearntModel& operator=(const LearntModel&) = delete;

    const FeatureTable& table;
    PhraseModelView view;

    const std::vector<double>& weights() const { return weights_; }
    std::uint64_t version() const { return version_; }

    void add(const SparseVector& vector, double factor) {
        for (const auto& [feature, value] : vector) weights_[feature] += factor * value;
        ++version_;
        follow();
    }

private:
    void follow() {
        for (std::size_t k = 0; k < view.lm_weights.size(); ++k)
            view.lm_weights[k] = weights_[table.language_models[k]];
        view.distortion_weight = weights_[table.distortion];
    }

    std::vector<double> weights_;
    std::uint64_t version_ = 1;
};

// A sentence under a learnt model, with its present derivation. Options are weighed again when they are needed.
class LearntSentence {
public:
    LearntSentence(const LearntModel& model, const PhraseBatch& batch, std::size_t sentence)
        : sentence(sentence), options(batch.options(sentence)), model_(model),
          first_option_(batch.option_offsets[sentence]), local_(static_cast<std::size_t>(options.count)),
          from_(3 * local_.size()), to_(3 * local_.size()), versions_(local_.size(), 0) {
        options.local = local_.data();
        options.reorder_from = from_.data();
        options.reorder_to = to_.data();
        for (std::int32_t option = 0; option < options.count; ++option) weigh(option);
        space_ = std::make_unique<LocalSpace>(model.view, options);
        version_ = model.version();
    }
    LearntSentence(const LearntSentence&) = delete;
    LearntSentence& operator=(const LearntSentence&) = delete;

    const std::size_t sentence;
    OptionsView options;

    LocalSpace& space() { return *space_; }
    std::int64_t number(std::int32_t option) const { return first_option_ + option; }
    Derivation& derivation() { return *derivation_; }
    void start(std::vector<std::int32_t> phrases) { derivation_.emplace(*space_, std::move(phrases)); }

    // Makes the present derivation's score right under the present weights.
    void freshen() {
        if (version_ == model_.version() && space_->weighted() < kMostRemembered) return;
        space_->forget_weighted();
        if (version_ == model_.version()) return;
        version_ = model_.version();
        weigh_all(derivation_->phrases());
        derivation_->rescore();
    }
    void weigh_all(std::span<const std::int32_t> options) {
        for (std::int32_t option : options)
            if (versions_[option] != model_.version()) weigh(option);
    }

    // Adds `sign` times the features by which a derivation differs from another of the same sentence to the sum of those.
    void add_features(const std::vector<std::int32_t>& phrases, std::size_t common_before, std::size_t common_after, double sign,
                      Accumulator& sum) const {
        const FeatureTable& table = model_.table;
        const std::size_t last = phrases.size() - common_after;
        for (std::size_t i = common_before; i < last; ++i)
            table.local(number(phrases[i]), [&](std::int32_t feature, double value) { sum.add(feature, sign * value); });
        for (std::size_t i = common_before; i < std::min(last + 1, phrases.size()); ++i)
            add_joint(i == 0 ? -1 : phrases[i - 1], phrases[i], sign, sum);
        if (model_.view.boundary != nullptr && common_after == 0)
            sum.add(boundary_feature(phrases.empty() ? 0 : options.right[phrases.back()], 0), sign);
        for (std::size_t k = 0; k < model_.view.language_models.size(); ++k)
            sum.add(table.language_models[k], sign * language_model_score(k, phrases));
    }

    // The features of one derivation less those of another.
    void difference(const std::vector<std::int32_t>& one, const std::vector<std::int32_t>& other, Accumulator& sum) const {
        const std::size_t least = std::min(one.size(), other.size());
        std::size_t before = 0, after = 0;
        while (before < least && one[before] == other[before]) ++before;
        while (after < least - before && one[one.size() - 1 - after] == other[other.size() - 1 - after]) ++after;
        add_features(one, before, after, 1, sum);
        add_features(other, before, after, -1, sum);
    }

private:
    static constexpr std::size_t kMostRemembered = std::size_t{1} << 14;

    void weigh(std::int32_t option) {
        const FeatureTable& table = model_.table;
        const double* const weights = model_.weights().data();
        double sum = 0;
        table.local(number(option), [&](std::int32_t feature, double value) { sum += weights[feature] * value; });
        local_[option] = sum;
        double* const from = from_.data() + 3 * option;
        double* const to = to_.data() + 3 * option;
        std::fill_n(from, 3, 0.0);
        std::fill_n(to, 3, 0.0);
        table.reordering(number(option), [&](std::int32_t feature, const double* values) {
            for (std::int32_t o = 0; o < 3; ++o) {
                from[o] += weights[feature + o] * values[o];
                to[o] += weights[feature + 3 + o] * values[3 + o];
            }
        });
        versions_[option] = model_.version();
    }

    void add_joint(std::int32_t previous, std::int32_t option, double sign, Accumulator& sum) const {
        const FeatureTable& table = model_.table;
        sum.add(table.distortion, -sign * std::abs(options.begin[option] - space_->end_of(previous)));
        const std::int32_t orientation = space_->orientation(previous, option);
        table.reordering(number(option), [&](std::int32_t feature, const double* values) { sum.add(feature + orientation, sign * values[orientation]); });
        if (previous >= 0)
            table.reordering(number(previous),
                             [&](std::int32_t feature, const double* values) { sum.add(feature + 3 + orientation, sign * values[3 + orientation]); });
        if (model_.view.boundary != nullptr)
            sum.add(boundary_feature(previous < 0 ? 0 : options.right[previous], options.left[option]), sign);
    }

    std::int32_t boundary_feature(std::int32_t right, std::int32_t left) const {
        return model_.table.boundary + static_cast<std::int32_t>(right * model_.view.boundary_columns) + left;
    }

    double language_model_score(std::size_t k, const std::vector<std::int32_t>& phrases) const {
        const lm::LanguageModelView& model = model_.view.language_models[k];
        std::int32_t state = model_.view.lm_starts[k];
        double score = 0;
        for (std::int32_t option : phrases)
            for (std::int64_t w = options.word_offsets[option]; w < options.word_offsets[option + 1]; ++w) {
                const auto found = model.query(state, options.words[k][w]);
                score += double(found.log10) * std::numbers::ln10;
                state = found.state;
            }
        return score + double(model.query(state, lm::eos).log10) * std::numbers::ln10;
    }

    const LearntModel& model_;
    std::int64_t first_option_;
    std::vector<double> local_, from_, to_;
    std::vector<std::uint64_t> versions_;
    std::unique_ptr<LocalSpace> space_;
    std::optional<Derivation> derivation_;
    std::uint64_t version_ = 0;
};

}  // namespace dragoman::sampling::phrase
