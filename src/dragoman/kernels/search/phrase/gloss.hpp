// The simplest translation: from left to right, by what options are worth alone.
#pragma once

#include "search/phrase/space.hpp"

#include <optional>

namespace dragoman::search::phrase {

// The best monotone derivation by what options are worth alone; nothing if there is no monotone derivation.
std::optional<std::vector<std::int32_t>> gloss(const PhraseSpace& space);

// The best option of each word by what it is worth alone; where only longer phrases cover a word, as above.
std::optional<std::vector<std::int32_t>> word_gloss(const PhraseSpace& space);

}  // namespace dragoman::search::phrase
