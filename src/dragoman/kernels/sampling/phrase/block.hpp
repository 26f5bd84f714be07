// All derivations of a block (see chain.hpp), and their scores: what a step of a sampler chooses from.
#pragma once

#include "search/phrase/endings.hpp"
#include "search/phrase/neighbourhood.hpp"

namespace dragoman::sampling::phrase {

using search::phrase::Beginning;
using search::phrase::Change;
using search::phrase::Derivation;
using search::phrase::Endings;
using search::phrase::LocalSpace;
using search::phrase::Window;

class PhraseBlock {
public:
    // The block of an operator at a point; it has no scores yet.
    void retranslate(const Derivation& derivation, std::int32_t word) {
        restart(derivation, derivation.phrase_of(word), derivation.phrase_of(word));
        if (derivation.begin(first_) == word) singles_ = derivation.space().on_span(word, derivation.end(first_));
        find_present();
    }

    void merge_split(const Derivation& derivation, std::int32_t position) {
        const std::int32_t left = derivation.phrase_of(position - 1), right = derivation.phrase_of(position);
        restart(derivation, std::min(left, right), std::max(left, right));
        const LocalSpace& space = derivation.space();
        const std::int32_t begin = derivation.begin(left), end = derivation.end(right);
        const bool together = left == right || left + 1 == right;
        if (together && end - begin <= space.longest()) singles_ = space.on_span(begin, end);
        ones_ = space.on_span(begin, position);
        others_ = space.on_span(position, end);
        if (right < left) std::swap(ones_, others_);
        find_present();
    }

    // The two phrases must begin at these words.
    void reorder(const Derivation& derivation, std::int32_t one, std::int32_t other) {
        const auto [left, right] = std::minmax({derivation.phrase_of(one), derivation.phrase_of(other)});
        restart(derivation, left, right);
        exchange_ = derivation.allows(exchange(derivation, first_, second_));
    }

    // The options that the scores of the members will be asked for.
    std::array<std::span<const std::int32_t>, 3> options() const { return {singles_, ones_, others_}; }

    std::size_t size() const { return std::max<std::size_t>(1 + exchange_, singles_.size() + ones_.size() * others_.size()); }

    void score() {
        scores_.clear();
        if (!singles_.empty()) add_singles();
        if (!ones_.empty() && !others_.empty()) add_pairs();
        if (scores_.empty()) scores_.push_back(0);
        if (exchange_) scores_.push_back(derivation_->difference(exchange(*derivation_, first_, second_)));
    }

    // After `score`: how much each member scores more than the present derivation.
    std::vector<double>& scores() { return scores_; }
    // Which member that is.
    std::size_t present() const { return present_; }

    Change change(std::size_t member) const {
        const Derivation& derivation = *derivation_;
        if (member == present_) return Change().keep(0, derivation.size());
        if (exchange_) return exchange(derivation, first_, second_);
        if (member < singles_.size()) return replace(derivation, {first_, second_ + 1}, singles_[member]);
        const std::size_t pair = member - singles_.size();
        return Change()
            .keep(0, first_)
            .place(ones_[pair / others_.size()])
            .keep(first_ + 1, second_)
            .place(others_[pair % others_.size()])
            .keep(second_ + 1, derivation.size());
    }

    // All members have the same phrases before and after these: [first, last) of the present derivation.
    Window window() const { return {first_, second_ + 1}; }

private:
    void restart(const Derivation& derivation, std::int32_t first, std::int32_t second) {
        derivation_ = &derivation;
        first_ = first;
        second_ = second;
        singles_ = ones_ = others_ = {};
        exchange_ = false;
        present_ = 0;
    }

    void find_present() {
        const auto place = [](std::span<const std::int32_t> options, std::int32_t option) {
            return static_cast<std::size_t>(std::ranges::find(options, option) - options.begin());
        };
        const auto& phrases = derivation_->phrases();
        if (first_ == second_) {
            if (!singles_.empty()) present_ = place(singles_, phrases[first_]);
        } else {
            present_ = singles_.size() + place(ones_, phrases[first_]) * others_.size() + place(others_, phrases[second_]);
        }
    }

    void add_singles() {
        LocalSpace& space = derivation_->space();
        const Beginning start = derivation_->before(first_);
        space.read_all(start.lm, singles_, steps_);
        derivation_->seams(singles_, second_ + 1, seams_);
        const LocalSpace::Joint joint = space.joint(start.previous, singles_[0]);
        endings_.restart(*derivation_, second_ + 1);
        for (std::size_t i = 0; i < singles_.size(); ++i) {
            Beginning beginning = start;
            derivation_->place(beginning, singles_[i], steps_[i], joint);
            scores_.push_back(beginning.score + seams_[i] + endings_.after(beginning.lm) - derivation_->score());
        }
    }

    // Second options after a first one score alike if the first ones leave the same states and are of the same class.
    struct Row {
        std::int32_t lm, exit;
        std::size_t first;
    };

    void add_pairs() {
        LocalSpace& space = derivation_->space();
        const Beginning start = derivation_->before(first_);
        space.read_all(start.lm, ones_, steps_);
        derivation_->seams(others_, second_ + 1, seams_);
        for (std::size_t i = 0; i < others_.size(); ++i) seams_[i] += space.options.local[others_[i]];
        const LocalSpace::Joint joint = space.joint(start.previous, ones_[0]);
        endings_.restart(*derivation_, second_ + 1);
        rows_.clear();
        row_scores_.clear();
        for (std::size_t i = 0; i < ones_.size(); ++i) {
            Beginning beginning = start;
            derivation_->place(beginning, ones_[i], steps_[i], joint);
            if (first_ + 1 < second_) derivation_->keep(beginning, first_ + 1, second_);
            const double before = beginning.score - derivation_->score();
            const std::size_t row = row_after(beginning);
            for (std::size_t j = 0; j < others_.size(); ++j) scores_.push_back(before + row_scores_[row + j]);
        }
    }

    std::size_t row_after(const Beginning& beginning) {
        LocalSpace& space = derivation_->space();
        const std::int32_t exit = space.exit_of(beginning.previous);
        for (const Row& row : rows_)
            if (row.lm == beginning.lm && row.exit == exit) return row.first;
        const std::size_t first = row_scores_.size();
        rows_.push_back({beginning.lm, exit, first});
        space.read_all(beginning.lm, others_, row_steps_);
        const LocalSpace::Joint joint = space.joint(beginning.previous, others_[0]);
        for (std::size_t j = 0; j < others_.size(); ++j)
            row_scores_.push_back(space.join(joint, others_[j]) + row_steps_[j].score + seams_[j] + endings_.after(row_steps_[j].lm));
        return first;
    }

    const Derivation* derivation_ = nullptr;
    std::int32_t first_ = 0, second_ = 0;
    bool exchange_ = false;
    std::size_t present_ = 0;
    std::span<const std::int32_t> singles_, ones_, others_;
    std::vector<double> scores_, seams_, row_scores_;
    std::vector<LocalSpace::Step> steps_, row_steps_;
    std::vector<Row> rows_;
    Endings endings_;
};

}  // namespace dragoman::sampling::phrase
