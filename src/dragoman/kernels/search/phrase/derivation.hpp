// A derivation that can change: the sequence of its options in target order, in the space of space.hpp, and what
// a change would do to its score.
//
// A change says what the new derivation is made of: runs of the old one, kept as they are, and new options. All that
// scores anew are the seams between these pieces (distortion, orientation, boundary symbols), the new options, and the
// words after a seam until the language models are in the states they were in before.
#pragma once

#include "search/phrase/local_space.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace dragoman::search::phrase {

// A part of a changed derivation: phrases first to last of the old one, or a new option.
struct Piece {
    std::int32_t first, last;
    std::int32_t option;  // -1: old phrases
};

// The pieces of a changed derivation, in target order. They must cover each source word once.
class Change {
public:
    // Keeps the old phrases [first, last).
    Change& keep(std::int32_t first, std::int32_t last) {
        if (first < last) pieces_[size_++] = {first, last, -1};
        return *this;
    }
    Change& place(std::int32_t option) {
        pieces_[size_++] = {0, 0, option};
        return *this;
    }

    std::span<const Piece> pieces() const { return {pieces_.data(), size_}; }

private:
    std::array<Piece, 5> pieces_;  // two phrases change places: what is before, between and after, and the two
    std::size_t size_ = 0;
};

// The beginning of a changed derivation: its score, its last option, and the language model states after it.
struct Beginning {
    double score;
    std::int32_t previous, lm;
};

class Derivation {
public:
    // Throws std::invalid_argument unless the options are a derivation.
    Derivation(LocalSpace& space, std::vector<std::int32_t> options);

    LocalSpace& space() const { return space_; }
    double score() const { return score_; }
    const std::vector<std::int32_t>& phrases() const { return phrases_; }  // options in target order

    std::int32_t size() const { return static_cast<std::int32_t>(phrases_.size()); }
    std::int32_t begin(std::int32_t phrase) const { return space_.options.begin[phrases_[phrase]]; }
    std::int32_t end(std::int32_t phrase) const { return space_.options.end[phrases_[phrase]]; }
    // The phrase that translates a source word.
    std::int32_t phrase_of(std::int32_t word) const { return phrase_of_[word]; }

    // Calls visit(phrase) for the phrases that a jump from a source position may lead to, ...
    template <class Visit>
    void for_phrases_after(std::int32_t position, Visit&& visit) const {
        for_words_near(position, [&](std::int32_t word) {
            if (begin(phrase_of_[word]) == word) visit(phrase_of_[word]);
        });
    }
    // ... and for those that a jump to a source position may come from.
    template <class Visit>
    void for_phrases_before(std::int32_t position, Visit&& visit) const {
        for_words_near(position - 1, [&](std::int32_t word) {
            if (end(phrase_of_[word]) == word + 1) visit(phrase_of_[word]);
        });
    }

    // Whether all jumps of the changed derivation keep to the reordering limit.
    bool allows(const Change& change) const;

    // By how much the score would rise.
    double difference(const Change& change) const;

    // The same piece by piece, for changes that begin alike: what stands before a phrase, ...
    Beginning before(std::int32_t phrase) const { return {totals_[phrase], option_before(phrase), lms_[phrase]}; }

    // ... a new option after it, ...
    void place(Beginning& beginning, std::int32_t option) const { place(beginning, option, space_.read(beginning.lm, option)); }
    void place(Beginning& beginning, std::int32_t option, const LocalSpace::Step& step) const {
        place(beginning, option, step, space_.joint(beginning.previous, option));
    }
    void place(Beginning& beginning, std::int32_t option, const LocalSpace::Step& step, const LocalSpace::Joint& joint) const {
        beginning.score += space_.options.local[option] + space_.join(joint, option) + step.score;
        beginning.previous = option;
        beginning.lm = step.lm;
    }

    // ... old phrases [first, last) after it, which score as they did, but for the seam and words with a new history, ...
    void keep(Beginning& beginning, std::int32_t first, std::int32_t last) const {
        beginning.score += totals_[last] - totals_[first];
        const std::int32_t before = option_before(first);
        if (beginning.previous != before)
            beginning.score += space_.join(beginning.previous, phrases_[first]) - space_.join(before, phrases_[first]);
        for (std::int32_t i = first; i < last; ++i) {
            if (beginning.lm == lms_[i]) {
                beginning.lm = lms_[last];
                break;
            }
            const auto step = space_.read(beginning.lm, phrases_[i]);
            beginning.score += step.score - lm_scores_[i];
            beginning.lm = step.lm;
        }
        beginning.previous = phrases_[last - 1];
    }

    // ... and the score of what is left: the old phrases from `phrase` on, and the end of the sentence.
    double ending(const Beginning& beginning, std::int32_t phrase) const {
        return seam(beginning.previous, phrase) + ending_lm(beginning.lm, phrase);
    }

    // The two parts of an ending: that of the option before, ...
    double seam(std::int32_t previous, std::int32_t phrase) const {
        if (phrase == size()) return space_.close(previous);
        const std::int32_t before = option_before(phrase);
        double score = totals_.back() - totals_[phrase] + space_.close(phrases_.back());
        if (previous != before) score += space_.join(previous, phrases_[phrase]) - space_.join(before, phrases_[phrase]);
        return score;
    }
    // The same for options that are all on one span.
    void seams(std::span<const std::int32_t> previous, std::int32_t phrase, std::vector<double>& scores) const;
    // ... and that of the language models: what changes if they read the rest from another state, and the end.
    double ending_lm(std::int32_t lm, std::int32_t phrase) const {
        double score = 0;
        for (; phrase < size() && lm != lms_[phrase]; ++phrase) {
            const auto step = space_.read(lm, phrases_[phrase]);
            score += step.score - lm_scores_[phrase];
            lm = step.lm;
        }
        return score + (lm == lms_[phrase] ? finish_ : space_.finish(lm));
    }

    // All that the scores of options in place of phrases [first, last) depend on, apart from the sum of all others: what
    // stands before them, and what stands after them as far as its score may change. Added to what is there.
    void context(std::int32_t first, std::int32_t last, std::vector<std::int32_t>& found) const;
    // The same after these phrases themselves: all that the differences depend on.
    void surroundings(std::int32_t first, std::int32_t last, std::vector<std::int32_t>& found) const;

    // Becomes another derivation.
    void become(const std::vector<std::int32_t>& options);

    // Scores all anew, after a change of weights.
    void rescore() { score_anew(); }

    // The options of the changed derivation.
    void changed(const Change& change, std::vector<std::int32_t>& options) const { gather(change.pieces(), options); }

    // Scores anew what differs, and sums all up from there in the order of the phrases: the sums are those of a
    // derivation that was made like this.
    void apply(const Change& change);

private:
    std::int32_t first_option(const Piece& piece) const { return piece.option < 0 ? phrases_[piece.first] : piece.option; }
    std::int32_t last_option(const Piece& piece) const { return piece.option < 0 ? phrases_[piece.last - 1] : piece.option; }
    std::int32_t option_before(std::int32_t phrase) const { return phrase == 0 ? -1 : phrases_[phrase - 1]; }

    template <class Visit>
    void for_words_near(std::int32_t position, Visit&& visit) const {
        const int jump = space_.model.reordering_limit;
        const std::int32_t limit = jump < 0 ? space_.length() : std::min(jump, space_.length());
        const std::int32_t stop = std::min(space_.length(), position + limit + 1);
        for (std::int32_t word = std::max(0, position - limit); word < stop; ++word) visit(word);
    }

    void score_anew();

    // Scores a phrase after a state; returns the state that follows.
    std::int32_t score_phrase(std::size_t i, std::int32_t lm);

    void sum_up(std::size_t first);

    void gather(std::span<const Piece> pieces, std::vector<std::int32_t>& options) const;

    void check() const;

    LocalSpace& space_;
    std::vector<std::int32_t> phrases_, phrase_of_, changed_;
    std::vector<std::int32_t> lms_;   // language model states before each phrase, and before the sentence's end
    std::vector<double> lm_scores_;   // of each phrase
    std::vector<double> phrase_scores_;  // the same with all other scores
    std::vector<double> totals_;      // score of all phrases before each, and of all
    double finish_ = 0, score_ = 0;
    std::int32_t history_ = 0;  // words that a language model looks back at most
};

}  // namespace dragoman::search::phrase
