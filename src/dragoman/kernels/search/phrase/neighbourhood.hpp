// The derivations next to a derivation, operator by operator. Each operator works at a site (a phrase, or a position
// between source words) and visits all changes there that the reordering limit allows, and by how much they raise the
// score: visit(change, difference).
//
// The operators are those of Germann et al. (2001) and Langlais, Patry & Gotti (2007) for greedy decoding, and of Arun et
// al. (2009) for Gibbs sampling. Every change can be undone by its operator. What retranslations and merge_splits visit
// at a site, and the derivation itself, is a block: the same site gives the same block from each of its members.
#pragma once

#include "search/phrase/derivation.hpp"

#include <algorithm>
#include <optional>

namespace dragoman::search::phrase {

enum Operator : std::uint8_t { RETRANSLATE = 1, MERGE_SPLIT = 2, REORDER = 4, MOVE = 8 };

// Phrases that stand side by side in the target.
struct Window {
    std::int32_t first, last;
};

// New options for the phrases of a window.
inline Change replace(const Derivation& derivation, Window window, std::int32_t option) {
    return Change().keep(0, window.first).place(option).keep(window.last, derivation.size());
}
inline Change replace(const Derivation& derivation, Window window, std::int32_t one, std::int32_t other) {
    return Change().keep(0, window.first).place(one).place(other).keep(window.last, derivation.size());
}

// RETRANSLATE: another option for a phrase's span.
template <class Visit>
void retranslations(const Derivation& derivation, std::int32_t phrase, Visit&& visit) {
    for (std::int32_t option : derivation.space().on_span(derivation.begin(phrase), derivation.end(phrase))) {
        if (option == derivation.phrases()[phrase]) continue;
        const Change change = replace(derivation, {phrase, phrase + 1}, option);
        visit(change, derivation.difference(change));
    }
}

// The phrase, or the two phrases, at a position between two source words; nothing if the two are not neighbours.
inline std::optional<Window> window_at(const Derivation& derivation, std::int32_t position) {
    const auto [first, last] = std::minmax({derivation.phrase_of(position - 1), derivation.phrase_of(position)});
    if (last - first > 1) return std::nullopt;
    return Window{first, last + 1};
}

// MERGE-SPLIT: at a position between two source words, one phrase over both or two phrases that meet there and are
// neighbours in the target, in any order. No change at a position between phrases that are not neighbours.
template <class Visit>
void merge_splits(const Derivation& derivation, std::int32_t position, Visit&& visit) {
    const auto window = window_at(derivation, position);
    if (!window) return;
    const LocalSpace& space = derivation.space();
    const std::int32_t begin = derivation.begin(derivation.phrase_of(position - 1)), end = derivation.end(derivation.phrase_of(position));
    const std::int32_t now = derivation.phrases()[window->first];
    const std::int32_t next = window->last - window->first == 2 ? derivation.phrases()[window->first + 1] : -1;

    // What the limit allows is a matter of spans, so one option of each span tells it for all.
    if (end - begin <= space.longest()) {
        const auto merged = space.on_span(begin, end);
        if (!merged.empty() && derivation.allows(replace(derivation, *window, merged[0])))
            for (std::int32_t option : merged) {
                if (option == now) continue;
                const Change change = replace(derivation, *window, option);
                visit(change, derivation.difference(change));
            }
    }

    struct Ending {
        std::int32_t lm = -1;
        double score = 0;
    };
    std::vector<Ending> endings;  // after each second option: most fix the state that the rest is read in
    const auto pairs = [&](std::span<const std::int32_t> ones, std::span<const std::int32_t> others) {
        if (ones.empty() || others.empty() || !derivation.allows(replace(derivation, *window, ones[0], others[0]))) return;
        endings.assign(others.size(), {});
        for (std::int32_t one : ones) {
            Beginning single = derivation.before(window->first);
            derivation.place(single, one);
            for (std::size_t i = 0; i < others.size(); ++i) {
                if (one == now && others[i] == next) continue;
                Beginning both = single;
                derivation.place(both, others[i]);
                if (endings[i].lm != both.lm) endings[i] = {both.lm, derivation.ending(both, window->last)};
                visit(replace(derivation, *window, one, others[i]), both.score + endings[i].score - derivation.score());
            }
        }
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
    derivation.for_phrases_after(phrase == 0 ? 0 : derivation.end(phrase - 1), [&](std::int32_t other) {
        if (other <= phrase) return;
        const Change change = exchange(derivation, phrase, other);
        if (derivation.allows(change)) visit(change, derivation.difference(change));
    });
}

// MOVE: a phrase goes elsewhere. (Not before the one just before it, because that one may go behind this one.)
template <class Visit>
void moves(const Derivation& derivation, std::int32_t phrase, Visit&& visit) {
    const auto try_move = [&](std::int32_t to) {
        const Change change = move(derivation, phrase, to);
        if (derivation.allows(change)) visit(change, derivation.difference(change));
    };
    derivation.for_phrases_after(derivation.end(phrase), [&](std::int32_t to) {
        if (to < phrase - 1) try_move(to);
    });
    derivation.for_phrases_before(derivation.begin(phrase), [&](std::int32_t to) {
        if (to > phrase) try_move(to);
    });
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

}  // namespace dragoman::search::phrase
