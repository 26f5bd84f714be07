// The simplest translation: from left to right, by what options are worth alone.
#pragma once

#include "search/phrase/space.hpp"

#include <optional>

namespace dragoman::search::phrase {

// The best monotone derivation by what options are worth alone; nothing if there is no monotone derivation.
std::optional<std::vector<std::int32_t>> gloss(const PhraseSpace& space);

}  // namespace dragoman::search::phrase
