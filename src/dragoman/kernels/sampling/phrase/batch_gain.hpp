// What a metric says of a batch of sentences when the translation of one of them changes: its statistics add up, so that
// only the changed sentence is looked at.
#pragma once

#include "metrics/reference_trie.hpp"
#include "sampling/phrase/block.hpp"
#include "sampling/phrase/learnt_model.hpp"

#include <cmath>
#include <limits>

namespace dragoman::sampling::phrase {

using metrics::ReferenceTrie;
using search::phrase::Piece;

class BatchGain {
public:
    virtual ~BatchGain() = default;
    // Begins with the present derivations of some sentences.
    virtual void start(std::span<const std::unique_ptr<LearntSentence>> sentences) = 0;
    // No two gains can differ by more.
    virtual double range() const = 0;
    // The gain of the batch with some members of a block in place of the present derivation.
    virtual void gains(std::size_t place, LearntSentence& sentence, const PhraseBlock& block, std::span<const std::size_t> members,
                       std::vector<double>& gains) = 0;
    // One of the members of the last call becomes the present derivation; `index` is its place among them.
    virtual void accept(std::size_t place, std::size_t index) = 0;
};

// References as BLEU counts them, and the options of a batch in their words.
struct BleuReferences {
    Ref<Rows> options;
    Ref<Rows> references;   // all of the first sentence, then those of the second, and so on
    std::size_t count;      // of references of each sentence
    Held2<double> lengths;  // of each sentence (row), ascending: the closest counts
    std::size_t order;
    double smoothing;

    void check() const {
        require(order > 0 && order <= kLongest, "n-grams are too long, or have no words");
        require(references->size() == count * lengths.shape(0) && lengths.shape(1) > 0,
                "sentences need references, and their lengths");
    }

    static constexpr std::size_t kLongest = 16;

    ReferenceTrie trie(std::size_t sentence) const {
        ReferenceTrie trie;
        const std::size_t first = sentence * count, last = first + count;
        trie.clear(order * static_cast<std::size_t>(references->offsets[last] - references->offsets[first]));
        for (std::size_t r = first; r < last; ++r) trie.add((*references)[r], nullptr, order);
        return trie;
    }

    // The closest of the lengths that a sentence may have, which are ascending.
    double length(std::size_t sentence, double words) const {
        const double* const own = lengths.data() + sentence * lengths.shape(1);
        double closest = own[0];
        for (std::size_t r = 1; r < lengths.shape(1); ++r)
            if (std::abs(own[r] - words) < std::abs(closest - words)) closest = own[r];
        return closest;
    }
};

// BLEU from 0 to 100, with a constant added to all counts.
class BleuGain final : public BatchGain {
public:
    BleuGain(const BleuReferences& references, double sign) : references_(references), sign_(sign) {}

    double range() const override { return 100; }

    void start(std::span<const std::unique_ptr<LearntSentence>> sentences) override {
        tries_.clear();
        present_.clear();
        sums_ = Counts(references_.order);
        for (const auto& sentence : sentences) {
            tries_.push_back(references_.trie(sentence->sentence));
            words_.clear();
            for (std::int32_t option : sentence->derivation().phrases()) append(*sentence, option, words_);
            Counts counts(references_.order);
            tries_.back().count(words_, references_.order, counts.matches.data());
            finish(counts, words_.size(), sentence->sentence);
            present_.push_back(counts);
            sums_.add(counts, 1);
        }
    }

    void gains(std::size_t place, LearntSentence& sentence, const PhraseBlock& block, std::span<const std::size_t> members,
               std::vector<double>& gains) override {
        const std::size_t order = references_.order;
        ReferenceTrie& trie = tries_[place];
        Counts fixed(order), rest = sums_;
        rest.add(present_[place], -1);
        const std::size_t length = count_surroundings(sentence, block, trie, fixed.matches.data());
        const std::size_t fixed_grams = trie.counted();
        gains.clear();
        pending_.clear();
        for (std::size_t member : members) {
            if (member == block.present()) {
                pending_.push_back(present_[place]);
            } else {
                Counts counts = fixed;
                words_.assign(before_.begin(), before_.end());
                append_window(sentence, block, member);
                const std::size_t inside = words_.size();
                words_.insert(words_.end(), after_.begin(), after_.end());
                trie.count_from(words_, 0, inside, before_.size(), order, counts.matches.data());
                trie.forget(fixed_grams);
                finish(counts, length + inside - before_.size(), sentence.sentence);
                pending_.push_back(counts);
            }
            Counts changed = rest;
            changed.add(pending_.back(), 1);
            gains.push_back(sign_ * 100 * score(changed));
        }
        trie.forget();
    }

    void accept(std::size_t place, std::size_t index) override {
        sums_.add(present_[place], -1);
        sums_.add(pending_[index], 1);
        present_[place] = pending_[index];
    }

private:
    struct Counts {
        explicit Counts(std::size_t order) : order(order) {}
        void add(const Counts& other, double sign) {
            for (std::size_t n = 0; n < order; ++n) {
                matches[n] += sign * other.matches[n];
                totals[n] += sign * other.totals[n];
            }
            length += sign * other.length;
            reference_length += sign * other.reference_length;
        }

        std::size_t order;
        std::array<double, BleuReferences::kLongest> matches{}, totals{};
        double length = 0, reference_length = 0;
    };

    // From 0 to 1.
    double score(const Counts& counts) const {
        const double added = references_.smoothing;
        double precision = 1;
        for (std::size_t n = 0; n < counts.order; ++n) precision *= (counts.matches[n] + added) / (counts.totals[n] + added);
        const double length = counts.length + added, reference_length = counts.reference_length + added;
        if (!(precision > 0) || !(length > 0)) return 0;
        return std::exp(std::log(precision) / static_cast<double>(counts.order) + std::min(0.0, 1 - reference_length / length));
    }

    void finish(Counts& counts, std::size_t words, std::size_t sentence) const {
        counts.length = static_cast<double>(words);
        counts.reference_length = references_.length(sentence, counts.length);
        for (std::size_t n = 0; n < counts.order; ++n) counts.totals[n] = static_cast<double>(words > n ? words - n : 0);
    }

    void append(const LearntSentence& sentence, std::int32_t option, std::vector<std::int32_t>& words) const {
        const Words added = (*references_.options)[static_cast<std::size_t>(sentence.number(option))];
        words.insert(words.end(), added.begin(), added.end());
    }

    // Counts the n-grams that all members share, before and after the window, and finds the words next to it; returns
    // the number of words outside.
    std::size_t count_surroundings(LearntSentence& sentence, const PhraseBlock& block, ReferenceTrie& trie, double* matches) {
        const std::size_t order = references_.order, reach = order - 1;
        const auto& phrases = sentence.derivation().phrases();
        before_.clear();
        for (std::int32_t i = 0; i < block.window().first; ++i) append(sentence, phrases[i], before_);
        after_.clear();
        for (std::size_t i = static_cast<std::size_t>(block.window().last); i < phrases.size(); ++i) append(sentence, phrases[i], after_);
        const std::size_t words = before_.size() + after_.size();
        trie.count_from(before_, 0, before_.size(), 0, order, matches);
        trie.count_from(after_, 0, after_.size(), 0, order, matches);
        if (before_.size() > reach) before_.erase(before_.begin(), before_.end() - static_cast<std::ptrdiff_t>(reach));
        if (after_.size() > reach) after_.resize(reach);
        return words;
    }

    void append_window(LearntSentence& sentence, const PhraseBlock& block, std::size_t member) {
        const auto& phrases = sentence.derivation().phrases();
        const Change change = block.change(member);
        for (const Piece& piece : change.pieces()) {
            if (piece.option >= 0) {
                append(sentence, piece.option, words_);
                continue;
            }
            const std::int32_t first = std::max(piece.first, block.window().first), last = std::min(piece.last, block.window().last);
            for (std::int32_t i = first; i < last; ++i) append(sentence, phrases[i], words_);
        }
    }

    const BleuReferences& references_;
    double sign_;
    std::vector<ReferenceTrie> tries_;
    Counts sums_{0};
    std::vector<Counts> present_, pending_;
    std::vector<std::int32_t> words_, before_, after_;
};

// A Python function, or None.
class GainFunction : public nb::object {
public:
    static constexpr auto Name = nb::detail::const_name("collections.abc.Callable[[int, ") + array_name<std::int32_t> + nb::detail::const_name(", ") +
                                 array_name<std::int64_t> + nb::detail::const_name(", ") + array_name<double> + nb::detail::const_name("], tuple[") +
                                 array_name<double> + nb::detail::const_name(", ") + array_name<double> + nb::detail::const_name("]]");
    static bool check_(nb::handle) { return true; }
    using nb::object::object;
};

// Any metric, by a Python function of a sentence's number, translations of it (words of the options, with offsets), and
// the sum of the statistics of the batch's other sentences. It returns the statistics of each translation (rows), and the
// gain of each.
class CallbackGain final : public BatchGain {
public:
    CallbackGain(const nb::object& callback, std::span<const std::int32_t> words) : callback_(callback), words_(words) {}

    double range() const override { return std::numeric_limits<double>::infinity(); }

    void start(std::span<const std::unique_ptr<LearntSentence>> sentences) override {
        present_.clear();
        sums_.clear();
        for (const auto& sentence : sentences) {
            text_.clear();
            append(*sentence, sentence->derivation().phrases());
            call(sentence->sentence, {0, static_cast<std::int64_t>(text_.size())}, sums_, nullptr);
            present_.push_back(pending_);
            sums_.resize(width_, 0.0);
            for (std::size_t k = 0; k < width_; ++k) sums_[k] += pending_[k];
        }
    }

    void gains(std::size_t place, LearntSentence& sentence, const PhraseBlock& block, std::span<const std::size_t> members,
               std::vector<double>& gains) override {
        text_.clear();
        std::vector<std::int64_t> offsets{0};
        for (std::size_t member : members) {
            sentence.derivation().changed(block.change(member), phrases_);
            append(sentence, phrases_);
            offsets.push_back(static_cast<std::int64_t>(text_.size()));
        }
        std::vector<double> rest = sums_;
        for (std::size_t k = 0; k < width_; ++k) rest[k] -= present_[place][k];
        call(sentence.sentence, std::move(offsets), std::move(rest), &gains);
    }

    void accept(std::size_t place, std::size_t index) override {
        for (std::size_t k = 0; k < width_; ++k) {
            const double changed = pending_[index * width_ + k];
            sums_[k] += changed - present_[place][k];
            present_[place][k] = changed;
        }
    }

private:
    void append(const LearntSentence& sentence, const std::vector<std::int32_t>& phrases) {
        for (std::int32_t option : phrases)
            text_.insert(text_.end(), words_.begin() + sentence.options.word_offsets[option], words_.begin() + sentence.options.word_offsets[option + 1]);
    }

    void call(std::size_t sentence, std::vector<std::int64_t> offsets, std::vector<double> rest, std::vector<double>* gains) {
        nb::gil_scoped_acquire acquire;
        const std::size_t rows = offsets.size() - 1;
        const nb::object answer = callback_(sentence, give(std::vector<std::int32_t>(text_)), give(std::move(offsets)),
                                            give(std::move(rest)));
        const auto [statistics, scores] = nb::cast<std::tuple<In2<double>, In1<double>>>(answer);
        if (statistics.shape(0) != rows || scores.shape(0) != rows) throw std::invalid_argument("a gain is missing");
        width_ = statistics.shape(1);
        pending_.assign(statistics.data(), statistics.data() + statistics.size());
        if (gains != nullptr) gains->assign(scores.data(), scores.data() + rows);
    }

    const nb::object& callback_;
    std::span<const std::int32_t> words_;
    std::size_t width_ = 0;
    std::vector<std::int32_t> text_, phrases_;
    std::vector<double> sums_, pending_;
    std::vector<std::vector<double>> present_;
};

}  // namespace dragoman::sampling::phrase
