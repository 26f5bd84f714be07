// Features of whole sentences and documents on derivations of phrases, whose translations they see as symbols.
#pragma once

#include "sampling/global_function.hpp"
#include "sampling/phrase/chain.hpp"

#include <memory>

namespace dragoman::sampling::phrase {

// One feature on the present translations of a group of sentences.
class GlobalState {
public:
    // `source_offsets` are those of the group's sentences in the batch.
    GlobalState(const GlobalFeature& feature, double weight, std::span<const std::int64_t> source_offsets);

    // Sets a translation at the start, without a value.
    void start(std::size_t sentence, const OptionsView& options, const std::vector<std::int32_t>& phrases) {
        write(options, phrases, targets_[sentence]);
    }
    void evaluate();

    // What a sentence's value, or the document's, would become, less what it is; weighted.
    double gain(std::size_t sentence, const OptionsView& options, const std::vector<std::int32_t>& phrases);
    void accept(std::size_t sentence);
    bool of_document() const { return feature_->document; }
    // The present value.
    double value_of(std::size_t sentence) const { return values_[feature_->document ? 0 : sentence]; }
    double weighted(std::size_t sentence) const { return weight_ * value_of(sentence); }

private:
    void write(const OptionsView& options, const std::vector<std::int32_t>& phrases, std::vector<std::int32_t>& target) const;

    // The translations of the document one after the other, with another in place of one sentence's.
    void gather(std::size_t sentence, const std::vector<std::int32_t>& instead);

    // The value with the pending translation in place of one sentence's.
    double value(std::size_t sentence);

    const GlobalFeature* feature_;
    double weight_;
    std::vector<std::int64_t> source_offsets_;
    std::span<const std::int32_t> source_;
    std::vector<std::vector<std::int32_t>> targets_;
    std::vector<double> values_;
    std::vector<std::int32_t> pending_, document_;
    std::vector<std::int64_t> document_offsets_;
    double pending_value_ = 0;
    std::unique_ptr<void, void (*)(void*)> memory_;
};

// All features together, as one sentence of a group sees them.
class GlobalCorrection final : public Correction {
public:
    GlobalCorrection(std::vector<GlobalState>& states, std::size_t sentence, const OptionsView& options)
        : states_(states), sentence_(sentence), options_(options) {}

    double gain(const std::vector<std::int32_t>& phrases) override {
        double sum = 0;
        for (GlobalState& state : states_) sum += state.gain(sentence_, options_, phrases);
        return sum;
    }
    void accept() override {
        for (GlobalState& state : states_) state.accept(sentence_);
    }
    // The weighted sum of the present values of features of the sentence, or of the document.
    double weighted(bool of_document) const {
        double sum = 0;
        for (const GlobalState& state : states_)
            if (state.of_document() == of_document) sum += state.weighted(sentence_);
        return sum;
    }

private:
    std::vector<GlobalState>& states_;
    std::size_t sentence_;
    const OptionsView& options_;
};

}  // namespace dragoman::sampling::phrase
