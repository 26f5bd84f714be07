#include "sampling/phrase/global_feature.hpp"

#include "base/errors.hpp"

namespace dragoman::sampling::phrase {

GlobalState::GlobalState(const GlobalFeature& feature, double weight, std::span<const std::int64_t> source_offsets)
    : feature_(&feature), weight_(weight), targets_(source_offsets.size() - 1), memory_(nullptr, nullptr) {
    for (std::int64_t offset : source_offsets) source_offsets_.push_back(offset - source_offsets[0]);
    source_ = {feature.source.data() + source_offsets[0], static_cast<std::size_t>(source_offsets_.back())};
}

void GlobalState::evaluate() {
    if (targets_.empty()) return;
    if (feature_->incremental) {
        gather(0, targets_[0]);
        const IncrementalFunctions& functions = feature_->functions();
        memory_ = {functions.begin(static_cast<std::int64_t>(targets_.size()), source_.data(), source_offsets_.data(),
                                   document_.data(), document_offsets_.data()),
                   functions.end};
        // Without memory there is nothing to ask, and no plain function either.
        if (!memory_) throw FunctionError("a global feature has no memory for its document");
    }
    const std::size_t count = feature_->document ? 1 : targets_.size();
    values_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        pending_ = targets_[i];
        values_[i] = value(i);
    }
}

double GlobalState::gain(std::size_t sentence, const OptionsView& options, const std::vector<std::int32_t>& phrases) {
    write(options, phrases, pending_);
    pending_value_ = value(sentence);
    return weight_ * (pending_value_ - values_[feature_->document ? 0 : sentence]);
}

void GlobalState::accept(std::size_t sentence) {
    if (memory_) feature_->functions().accept(memory_.get());
    targets_[sentence].swap(pending_);
    values_[feature_->document ? 0 : sentence] = pending_value_;
}

void GlobalState::write(const OptionsView& options, const std::vector<std::int32_t>& phrases, std::vector<std::int32_t>& target) const {
    target.clear();
    const std::int32_t* const words = feature_->words.data();
    for (std::int32_t option : phrases)
        target.insert(target.end(), words + options.word_offsets[option], words + options.word_offsets[option + 1]);
}

void GlobalState::gather(std::size_t sentence, const std::vector<std::int32_t>& instead) {
    document_.clear();
    document_offsets_.assign(1, 0);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        const auto& target = i == sentence ? instead : targets_[i];
        document_.insert(document_.end(), target.begin(), target.end());
        document_offsets_.push_back(static_cast<std::int64_t>(document_.size()));
    }
}

double GlobalState::value(std::size_t sentence) {
    if (memory_)
        return checked(feature_->functions().propose(memory_.get(), static_cast<std::int64_t>(sentence),
                                                     pending_.data(), static_cast<std::int64_t>(pending_.size())));
    if (!feature_->document) {
        const std::int64_t from = source_offsets_[sentence], to = source_offsets_[sentence + 1];
        const std::int64_t source_offsets[] = {0, to - from}, target_offsets[] = {0, static_cast<std::int64_t>(pending_.size())};
        return call(feature_->function(),
                    source_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
                    source_offsets, pending_, target_offsets, 0);
    }
    gather(sentence, pending_);
    return call(feature_->function(), source_, source_offsets_, document_, document_offsets_,
                static_cast<std::int64_t>(sentence));
}

}  // namespace dragoman::sampling::phrase
