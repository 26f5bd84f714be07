// Features of whole sentences and documents on derivations of phrases, whose translations they see as symbols.
#pragma once

#include "base/arrays.hpp"
#include "sampling/global_function.hpp"
#include "sampling/phrase/chain.hpp"

#include <memory>
#include <tuple>

namespace dragoman::sampling::phrase {

struct GlobalFeatureView {
    GlobalFunction function;                    // null if there are
    const IncrementalFunctions* incremental;    // these, which see documents
    double weight;
    bool document;                  // sees all sentences of a document, not just one
    const std::int32_t* source;     // a symbol for each source word of the batch
    const std::int32_t* words;      // a symbol for each word of each option of the batch
};

// What Python hands over of a feature: address, whether it is that of `IncrementalFunctions`, weight, whether it sees
// documents, symbols of source words and of options' words.
using GlobalArrays = std::tuple<std::uintptr_t, bool, double, bool, In1<std::int32_t>, In1<std::int32_t>>;

inline std::vector<GlobalFeatureView> views_of(const std::vector<GlobalArrays>& features) {
    std::vector<GlobalFeatureView> views;
    for (const auto& [address, incremental, weight, document, source, words] : features)
        views.push_back({incremental ? nullptr : reinterpret_cast<GlobalFunction>(address),
                         incremental ? reinterpret_cast<const IncrementalFunctions*>(address) : nullptr, weight, document, source.data(),
                         words.data()});
    return views;
}

// One feature on the present translations of a group of sentences.
class GlobalState {
public:
    // `source_offsets` are those of the group's sentences in the batch.
    GlobalState(const GlobalFeatureView& feature, std::span<const std::int64_t> source_offsets)
        : feature_(feature), targets_(source_offsets.size() - 1), memory_(nullptr, nullptr) {
        for (std::int64_t offset : source_offsets) source_offsets_.push_back(offset - source_offsets[0]);
        source_ = {feature.source + source_offsets[0], static_cast<std::size_t>(source_offsets_.back())};
    }

    // Sets a translation at the start, without a value.
    void start(std::size_t sentence, const OptionsView& options, const std::vector<std::int32_t>& phrases) {
        write(options, phrases, targets_[sentence]);
    }
    void evaluate() {
        if (targets_.empty()) return;
        if (feature_.incremental != nullptr) {
            gather(0, targets_[0]);
            memory_ = {feature_.incremental->begin(static_cast<std::int64_t>(targets_.size()), source_.data(), source_offsets_.data(),
                                                   document_.data(), document_offsets_.data()),
                       feature_.incremental->end};
        }
        const std::size_t count = feature_.document ? 1 : targets_.size();
        values_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            pending_ = targets_[i];
            values_[i] = value(i);
        }
    }

    // What a sentence's value, or the document's, would become, less what it is; weighted.
    double gain(std::size_t sentence, const OptionsView& options, const std::vector<std::int32_t>& phrases) {
        write(options, phrases, pending_);
        pending_value_ = value(sentence);
        return feature_.weight * (pending_value_ - values_[feature_.document ? 0 : sentence]);
    }
    void accept(std::size_t sentence) {
        if (memory_) feature_.incremental->accept(memory_.get());
        targets_[sentence].swap(pending_);
        values_[feature_.document ? 0 : sentence] = pending_value_;
    }
    bool of_document() const { return feature_.document; }
    // The present value.
    double value_of(std::size_t sentence) const { return values_[feature_.document ? 0 : sentence]; }
    double weighted(std::size_t sentence) const { return feature_.weight * value_of(sentence); }

private:
    void write(const OptionsView& options, const std::vector<std::int32_t>& phrases, std::vector<std::int32_t>& target) const {
        target.clear();
        const std::int32_t* const words = feature_.words;
        for (std::int32_t option : phrases)
            target.insert(target.end(), words + options.word_offsets[option], words + options.word_offsets[option + 1]);
    }

    // The translations of the document one after the other, with another in place of one sentence's.
    void gather(std::size_t sentence, const std::vector<std::int32_t>& instead) {
        document_.clear();
        document_offsets_.assign(1, 0);
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            const auto& target = i == sentence ? instead : targets_[i];
            document_.insert(document_.end(), target.begin(), target.end());
            document_offsets_.push_back(static_cast<std::int64_t>(document_.size()));
        }
    }

    // The value with the pending translation in place of one sentence's.
    double value(std::size_t sentence) {
        if (memory_)
            return checked(feature_.incremental->propose(memory_.get(), static_cast<std::int64_t>(sentence), pending_.data(),
                                                         static_cast<std::int64_t>(pending_.size())));
        if (!feature_.document) {
            const std::int64_t from = source_offsets_[sentence], to = source_offsets_[sentence + 1];
            const std::int64_t source_offsets[] = {0, to - from}, target_offsets[] = {0, static_cast<std::int64_t>(pending_.size())};
            return call(feature_.function, source_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)), source_offsets,
                        pending_, target_offsets, 0);
        }
        gather(sentence, pending_);
        return call(feature_.function, source_, source_offsets_, document_, document_offsets_, static_cast<std::int64_t>(sentence));
    }

    GlobalFeatureView feature_;
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
