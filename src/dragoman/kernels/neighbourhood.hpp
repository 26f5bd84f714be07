// The derivations next to a derivation, operator by operator. Each operator works at a site (a phrase, or a position
// between source words) and visits all changes there that the reordering limit allows.
//
// The operators are those of Germann et al. (2001) and Langlais, Patry & Gotti (2007) for greedy decoding, and of Arun et
// al. (2009) for Gibbs sampling. Every change can be undone by its operator. What retranslations and merge_splits visit
// at a site, and the derivation itself, is a block: the same site gives the same block from each of its members.
#pragma once

#include "derivation.hpp"

namespace dragoman {

enum Operator : std::uint8_t { RETRANSLATE = 1, MERGE_SPLIT = 2, REORDER = 4, MOVE = 8 };

// RETRANSLATE: another option for a phrase's span.
template <class Visit>
void retranslations(const Derivation& derivation, std::int32_t phrase, Visit&& visit) {
    for (std::int32_t option : derivation.space().on_span(derivation.begin(phrase), derivation.end(phrase)))
        if (option != derivation.phrases()[phrase])
            visit(Change().keep(0, phrase).place(option).keep(phrase + 1, derivation.size()));
}

// MERGE-SPLIT: at a position between two source words, one phrase over both or two phrases that meet there, which are
// neighbours in the target, in any order. No change at a position between phrases that are not neighbours.
template <class Visit>
void merge_splits(const Derivation& derivation, std::int32_t position, Visit&& visit) {
    const std::int32_t left = derivation.phrase_of(position - 1), right = derivation.phrase_of(position);
    if (std::abs(left - right) > 1) return;
    const std::int32_t begin = derivation.begin(left), end = derivation.end(right);
    const std::int32_t first = std::min(left, right), last = std::max(left, right) + 1;
    const std::int32_t now = derivation.phrases()[first], next = last - first == 2 ? derivation.phrases()[first + 1] : -1;
    const PhraseSpace& space = derivation.space();

    const auto with = [&](std::int32_t option) { return Change().keep(0, first).place(option).keep(last, derivation.size()); };
    const auto with_two = [&](std::int32_t one, std::int32_t other) {
        return Change().keep(0, first).place(one).place(other).keep(last, derivation.size());
    };
    // What the limit allows is a matter of spans, so one option of each span tells it for all.
    if (end - begin <= space.longest()) {
        const auto merged = space.on_span(begin, end);
        if (!merged.empty() && derivation.allows(with(merged[0])))
            for (std::int32_t option : merged)
                if (option != now) visit(with(option));
    }
    const auto pairs = [&](std::span<const std::int32_t> ones, std::span<const std::int32_t> others) {
        if (ones.empty() || others.empty() || !derivation.allows(with_two(ones[0], others[0]))) return;
        for (std::int32_t one : ones)
            for (std::int32_t other : others)
                if (one != now || other != next) visit(with_two(one, other));
    };
    const auto lefts = space.on_span(begin, position), rights = space.on_span(position, end);
    pairs(lefts, rights);
    pairs(rights, lefts);
}

// Two phrases change places; first < second.
inline Change exchange(const Derivation& derivation, std::int32_t first, std::int32_t second) {
    return Change()
        .keep(0, first)
        .keep(second, second + 1)
        .keep(first + 1, second)
        .keep(first, first + 1)
        .keep(second + 1, derivation.size());
}

// A phrase goes behind a later one, or before an earlier one.
inline Change move(const Derivation& derivation, std::int32_t phrase, std::int32_t to) {
    const std::int32_t first = std::min(phrase, to), last = std::max(phrase, to) + 1;
    const std::int32_t middle = phrase < to ? phrase + 1 : phrase;
    return Change().keep(0, first).keep(middle, last).keep(first, middle).keep(last, derivation.size());
}

// REORDER: a phrase and any later one change places.
template <class Visit>
void reorderings(const Derivation& derivation, std::int32_t phrase, Visit&& visit) {
    for (std::int32_t other = phrase + 1; other < derivation.size(); ++other)
        if (const Change change = exchange(derivation, phrase, other); derivation.allows(change)) visit(change);
}

// MOVE: a phrase goes elsewhere. (Not before the one just before it, because that one may go behind this one.)
template <class Visit>
void moves(const Derivation& derivation, std::int32_t phrase, Visit&& visit) {
    for (std::int32_t to = 0; to < derivation.size(); ++to) {
        if (to == phrase || to == phrase - 1) continue;
        if (const Change change = move(derivation, phrase, to); derivation.allows(change)) visit(change);
    }
}

// All changes of the chosen operators.
template <class Visit>
void neighbours(const Derivation& derivation, int operators, Visit&& visit) {
    const std::int32_t phrases = derivation.size(), words = derivation.space().length();
    if (operators & RETRANSLATE)
        for (std::int32_t phrase = 0; phrase < phrases; ++phrase) retranslations(derivation, phrase, visit);
    if (operators & MERGE_SPLIT)
        for (std::int32_t position = 1; position < words; ++position) merge_splits(derivation, position, visit);
    if (operators & REORDER)
        for (std::int32_t phrase = 0; phrase < phrases; ++phrase) reorderings(derivation, phrase, visit);
    if (operators & MOVE)
        for (std::int32_t phrase = 0; phrase < phrases; ++phrase) moves(derivation, phrase, visit);
}

}  // namespace dragoman
