// How consistently a document's repeated words are translated, kept up to date as single sentences change.
//
// A source word f that stands in k > 1 sentences is consistent if some target word e stands in just their translations.
// How nearly so is Dice's coefficient, 2 c(f, e) / (k + T(e)), where T(e) is the number of translations with e and
// c(f, e) of those among them whose source has f. The value is the sum of k (max_e Dice(f, e) - 1) over such f.
//
// A change of one sentence takes words out of it and puts others in. For each of these the coefficients with all f of
// its column change; the largest coefficient of an f is searched anew only if it was the one that became smaller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dragoman::sampling {

class LexicalConsistency {
public:
    // Symbol 0 is for words that do not count.
    LexicalConsistency(std::size_t sentences, const std::int32_t* source_words, const std::int64_t* source_offsets,
                       const std::int32_t* target_words, const std::int64_t* target_offsets)
        : sources_of_(sentences), words_of_(sentences) {
        std::unordered_map<std::int32_t, std::vector<std::size_t>> places;
        std::vector<std::int32_t> order;  // of first occurrence: nothing depends on how a map is walked
        for (std::size_t s = 0; s < sentences; ++s)
            for (std::int64_t i = source_offsets[s]; i < source_offsets[s + 1]; ++i) {
                if (source_words[i] == 0) continue;
                auto& there = places[source_words[i]];
                if (there.empty()) order.push_back(source_words[i]);
                if (there.empty() || there.back() != s) there.push_back(s);
            }
        for (std::int32_t word : order) {
            auto& there = places[word];
            if (there.size() < 2) continue;
            for (std::size_t s : there) sources_of_[s].push_back(sources_.size());
            sources_.push_back({std::move(there)});
            sum_ += term(sources_.back());
        }
        for (std::size_t s = 0; s < sentences; ++s) {
            set_of(target_words + target_offsets[s], target_offsets[s + 1] - target_offsets[s], wanted_);
            become(s, wanted_);
        }
    }

    // The value if the sentence had this translation.
    double propose(std::size_t sentence, const std::int32_t* words, std::int64_t count) {
        if (proposed_) become(sentence_, before_);
        set_of(words, count, wanted_);
        proposed_ = wanted_ != words_of_[sentence];
        if (proposed_) {
            sentence_ = sentence;
            before_ = words_of_[sentence];
            become(sentence, wanted_);
        }
        return static_cast<double>(sum_) / kScale;
    }
    void accept() { proposed_ = false; }

private:
    // Terms are added up as integers, so that the sum is the same whatever way led to it.
    static constexpr double kScale = 1099511627776.0;  // 2^40

    struct Source {
        std::vector<std::size_t> sentences;
        double best = 0;  // Dice's coefficient
        bool stale = false;

        double dice(std::int64_t together, std::int64_t translations) const {
            return 2 * static_cast<double>(together) / static_cast<double>(static_cast<std::int64_t>(sentences.size()) + translations);
        }
    };
    struct Target {
        std::int64_t translations = 0;
        std::vector<std::pair<std::size_t, std::int64_t>> column;  // sources it stands with, and how often
    };

    static std::int64_t term(const Source& source) {
        return std::llround(kScale * static_cast<double>(source.sentences.size()) * (source.best - 1));
    }

    // The different words of a translation, as numbers from 0, sorted.
    void set_of(const std::int32_t* words, std::int64_t count, std::vector<std::size_t>& set) {
        set.clear();
        for (std::int64_t i = 0; i < count; ++i) {
            if (words[i] == 0) continue;
            const auto [found, added] = numbers_.try_emplace(words[i], targets_.size());
            if (added) {
                targets_.emplace_back();
                tally_.push_back(0);
            }
            set.push_back(found->second);
        }
        std::ranges::sort(set);
        set.erase(std::ranges::unique(set).begin(), set.end());
    }

    void become(std::size_t sentence, const std::vector<std::size_t>& wanted) {
        auto& present = words_of_[sentence];
        std::vector<std::size_t>& sources = sources_of_[sentence];
        gone_.clear();
        come_.clear();
        std::ranges::set_difference(present, wanted, std::back_inserter(gone_));
        std::ranges::set_difference(wanted, present, std::back_inserter(come_));
        for (std::size_t e : gone_) change(targets_[e], sources, -1);
        for (std::size_t e : come_) change(targets_[e], sources, +1);
        present.assign(wanted.begin(), wanted.end());
        for (std::size_t f : stale_) renew(sources_[f]);
        stale_.clear();
    }

    // One translation more, or less, has the word, and its source has these words.
    void change(Target& target, const std::vector<std::size_t>& sources, std::int64_t by) {
        const std::int64_t before = target.translations;
        target.translations += by;
        // Both are in ascending order.
        column_.clear();
        auto next = sources.begin();
        const auto put = [&](std::size_t f, std::int64_t together, std::int64_t now) {
            if (now > 0) column_.emplace_back(f, now);
            replace(f, sources_[f].dice(together, before), sources_[f].dice(now, target.translations));
        };
        for (const auto& [f, together] : target.column) {
            for (; next != sources.end() && *next < f; ++next) put(*next, 0, by);
            const bool here = next != sources.end() && *next == f;
            put(f, together, here ? together + by : together);
            if (here) ++next;
        }
        for (; next != sources.end(); ++next) put(*next, 0, by);
        target.column.assign(column_.begin(), column_.end());
    }

    void replace(std::size_t f, double before, double now) {
        Source& source = sources_[f];
        if (source.stale) return;
        if (now > source.best) {
            sum_ -= term(source);
            source.best = now;
            sum_ += term(source);
        } else if (before == source.best && now < before) {
            source.stale = true;
            stale_.push_back(f);
        }
    }

    void renew(Source& source) {
        sum_ -= term(source);
        source.stale = false;
        source.best = 0;
        for (std::size_t s : source.sentences)
            for (std::size_t e : words_of_[s]) ++tally_[e];
        for (std::size_t s : source.sentences)
            for (std::size_t e : words_of_[s]) {
                source.best = std::max(source.best, source.dice(tally_[e], targets_[e].translations));
                tally_[e] = 0;
            }
        sum_ += term(source);
    }

    std::vector<Source> sources_;  // those that are repeated
    std::vector<std::vector<std::size_t>> sources_of_, words_of_;  // of each sentence
    std::unordered_map<std::int32_t, std::size_t> numbers_;
    std::vector<Target> targets_;
    std::int64_t sum_ = 0;

    // The proposal under way, which is in place already; without `accept` it is taken back before the next.
    bool proposed_ = false;
    std::size_t sentence_ = 0;
    std::vector<std::size_t> before_;

    // Kept for their memory.
    std::vector<std::size_t> wanted_, gone_, come_, stale_;
    std::vector<std::int64_t> tally_;
    std::vector<std::pair<std::size_t, std::int64_t>> column_;
};

}  // namespace dragoman::sampling
