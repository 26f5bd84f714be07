// A phrase model whose weights change while it is used, with the features of its derivations.
#pragma once

#include "base/arrays.hpp"
#include "search/phrase/batch.hpp"
#include "search/phrase/derivation.hpp"

#include <memory>

namespace dragoman::tuning {

using lm::LanguageModelView;
using search::phrase::Derivation;
using search::phrase::OptionsView;
using search::phrase::PhraseBatch;
using search::phrase::PhraseModelView;
using search::phrase::PhraseSpace;

// The features of a batch's options, and where in a vector of weights those are that depend on context. The fields of the
// Python tuple `FeatureArrays`, in its order.
class FeatureTable {
public:
    explicit FeatureTable(const nb::tuple& arrays)
        : dense_(array_at<double, 2>(arrays, 0)), sparse_offsets_(array_at<std::int64_t>(arrays, 1)),
          sparse_ids_(array_at<std::int32_t>(arrays, 2)), sparse_values_(array_at<double>(arrays, 3)),
          reordering_(array_at<double, 2>(arrays, 4)), reorderings_(array_at<std::int32_t>(arrays, 5)),
          language_models_(array_at<std::int32_t>(arrays, 6)), distortion(nb::cast<std::int32_t>(arrays[7])),
          boundary(nb::cast<std::int32_t>(arrays[8])) {}

    // Calls visit(feature, value) for what an option has wherever it is placed.
    template <class Visit>
    void local(std::int64_t option, Visit&& visit) const {
        const std::size_t width = dense_.shape(1);
        const double* const row = dense_.data() + static_cast<std::size_t>(option) * width;
        for (std::size_t j = 0; j < width; ++j)
            if (row[j] != 0) visit(static_cast<std::int32_t>(j), row[j]);
        for (std::int64_t j = sparse_offsets_.data()[option]; j < sparse_offsets_.data()[option + 1]; ++j)
            visit(sparse_ids_.data()[j], sparse_values_.data()[j]);
    }

    // Calls visit(first feature, six values) for each reordering model: three orientations towards the option before,
    // three towards the one after.
    template <class Visit>
    void reordering(std::int64_t option, Visit&& visit) const {
        const std::size_t models = reorderings_.shape(0), options = models ? reordering_.shape(0) / models : 0;
        for (std::size_t r = 0; r < models; ++r)
            visit(reorderings_.data()[r], reordering_.data() + 6 * (r * options + static_cast<std::size_t>(option)));
    }

    std::span<const std::int32_t> language_models() const { return view(language_models_); }

private:
    In2<double> dense_;
    In1<std::int64_t> sparse_offsets_;
    In1<std::int32_t> sparse_ids_;
    In1<double> sparse_values_;
    In2<double> reordering_;
    In1<std::int32_t> reorderings_, language_models_;

public:
    std::int32_t distortion, boundary;  // the first feature of boundary symbols
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
    LearntModel(const PhraseBatch& batch, const FeatureTable& table, std::span<const double> start)
        : table(table), view(batch.model), weights_(start.begin(), start.end()) {
        view.boundary = batch.model.boundary == nullptr ? nullptr : weights_.data() + table.boundary;
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
        for (std::size_t k = 0; k < view.lm_weights.size(); ++k) view.lm_weights[k] = weights_[table.language_models()[k]];
        view.distortion_weight = weights_[table.distortion];
    }

    std::vector<double> weights_;
    std::uint64_t version_ = 1;
};

// A sentence under a learnt model, with its present derivation. Options are weighed again when they are needed.
class LearntSentence {
public:
    LearntSentence(const LearntModel& model, const PhraseBatch& batch, std::size_t sentence)
        : sentence(sentence), options(batch.options(sentence)), model_(model), first_option_(batch.first_option(sentence)),
          local_(static_cast<std::size_t>(options.count)), from_(3 * local_.size()), to_(3 * local_.size()), versions_(local_.size(), 0) {
        options.local = local_.data();
        options.reorder_from = from_.data();
        options.reorder_to = to_.data();
        for (std::int32_t option = 0; option < options.count; ++option) weigh(option);
        space_ = std::make_unique<PhraseSpace>(model.view, options);
        version_ = model.version();
    }
    LearntSentence(const LearntSentence&) = delete;
    LearntSentence& operator=(const LearntSentence&) = delete;

    const std::size_t sentence;
    OptionsView options;

    PhraseSpace& space() { return *space_; }
    std::int64_t number(std::int32_t option) const { return first_option_ + option; }
    Derivation& derivation() { return *derivation_; }
    void start(std::vector<std::int32_t> phrases) { derivation_.emplace(*space_, std::move(phrases)); }

    // Makes the present derivation's score right under the present weights.
    void freshen() {
        if (version_ == model_.version() && space_->remembered() < kMostRemembered) return;
        space_->forget_scores();
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
            sum.add(table.language_models()[k], sign * language_model_score(k, phrases));
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
        constexpr std::int32_t kEnd = 2;  // </s>
        const LanguageModelView& lm = model_.view.language_models[k];
        std::int32_t state = model_.view.lm_starts[k];
        double score = 0;
        for (std::int32_t option : phrases)
            for (std::int64_t w = options.word_offsets[option]; w < options.word_offsets[option + 1]; ++w) {
                const auto found = lm.query(state, options.words[k][w]);
                score += double(found.log10) * std::numbers::ln10;
                state = found.state;
            }
        return score + double(lm.query(state, kEnd).log10) * std::numbers::ln10;
    }

    const LearntModel& model_;
    std::int64_t first_option_;
    std::vector<double> local_, from_, to_;
    std::vector<std::uint64_t> versions_;
    std::unique_ptr<PhraseSpace> space_;
    std::optional<Derivation> derivation_;
    std::uint64_t version_ = 0;
};

}  // namespace dragoman::tuning
