// What follows the places that a step changes, as the language models see it after each state that the step may leave.
#pragma once

#include "search/phrase/derivation.hpp"

namespace dragoman::search::phrase {

// Endings of the step under way, in a small table: a state whose slot is taken by another is looked at again.
class Endings {
public:
    // Begins a step after which the phrases from one on stay as they are.
    void restart(const Derivation& derivation, std::int32_t phrase) {
        derivation_ = &derivation;
        phrase_ = phrase;
        ++step_;
    }

    // What the language models say of those phrases after a state (`Derivation::ending_lm`).
    double after(std::int32_t lm) {
        Slot& slot = slots_[static_cast<std::uint32_t>(lm) * 0x9e3779b1U >> 23];
        if (slot.step != step_ || slot.lm != lm) slot = {step_, lm, derivation_->ending_lm(lm, phrase_)};
        return slot.score;
    }

private:
    struct Slot {
        std::uint64_t step = 0;
        std::int32_t lm = 0;
        double score = 0;
    };

    const Derivation* derivation_ = nullptr;
    std::int32_t phrase_ = 0;
    std::uint64_t step_ = 0;
    std::vector<Slot> slots_ = std::vector<Slot>(512);
};

}  // namespace dragoman::search::phrase
