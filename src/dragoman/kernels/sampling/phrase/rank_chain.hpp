// One chain of SampleRank (Haddow, Arun & Koehn 2011): it goes through batches of sentences, and changes the weights
// whenever model and metric disagree on two neighbours of a derivation.
#pragma once

#include "sampling/phrase/forward_proposal.hpp"
#include "sampling/phrase/margin_update.hpp"
#include "sampling/phrase/rank_settings.hpp"
#include "search/phrase/gloss.hpp"

#include <atomic>

namespace dragoman::sampling::phrase {

class RankChain {
public:
    RankChain(const RankMaterial& material, const RankSettings& settings, std::span<const double> weights,
              std::uint64_t seed, std::uint64_t number)
        : material_(material), settings_(settings), model_(material.model, material.table, weights), seed_(seed),
          number_(number), stream_(seed, number, 0), late_(weights.size(), 0.0), squares_(weights.size(), 0.0),
          sum_(weights.size()) {
        if (material.references != nullptr)
            gain_ = std::make_unique<BleuGain>(*material.references, settings.sign);
        else
            gain_ = std::make_unique<CallbackGain>(material.callback, view(material.batch.words->values));
    }

    RankReport report;
    RankTrace trace;

    const std::vector<double>& weights() const { return model_.weights(); }
    std::int64_t collected() const { return collected_; }
    // The sum of the squared differences in each feature over all pairs of the constraints.
    const std::vector<double>& squares() const { return squares_; }
    // The sum of the weights after each collected step.
    std::vector<double> total() const {
        std::vector<double> total(model_.weights());
        for (std::size_t f = 0; f < total.size(); ++f) total[f] = static_cast<double>(collected_) * total[f] - late_[f];
        return total;
    }

    // Works on the sentences of some units; returns the number of one without a derivation, or -1.
    std::int64_t run(std::span<const std::int64_t> units, std::uint64_t batch, const std::atomic<bool>& stop) {
        stream_ = Stream(seed_, number_, batch);
        const std::int64_t missing = begin(units);
        if (missing >= 0 || sentences_.empty()) return missing;
        const auto size = static_cast<std::int64_t>(sentences_.size());
        learning_ = false;
        for (std::int64_t i = 0; i < settings_.burn_in * size && !halted(stop); ++i) step();
        learning_ = true;
        gain_->start(sentences_);
        // Where operators can hardly ever be applied, as in sentences of one word, there is an end all the same.
        const std::int64_t wanted = settings_.samples * size;
        for (std::int64_t i = 0, tried = 0; i < wanted && tried < kPatience * wanted && !halted(stop); ++tried) {
            if (!step() && settings_.applied_only) continue;
            ++i;
            ++collected_;
        }
        ++report.batches;
        report.gain += last_gain_;
        return -1;
    }

private:
    static constexpr int kAttempts = 1000;
    static constexpr std::int64_t kPatience = 100;

    static bool halted(const std::atomic<bool>& stop) {
        heed(stop);
        return false;
    }

    // The best gain that a sentence has had in this batch, as it was then.
    struct Found {
        double gain = -std::numeric_limits<double>::infinity();
        std::vector<std::int32_t> phrases;
    };

    // The global features of a document, or of a sentence.
    struct Group {
        std::size_t first;  // place of its first sentence
        std::vector<GlobalState> states;
    };

    std::int64_t begin(std::span<const std::int64_t> units) {
        sentences_.clear();
        found_.clear();
        groups_.clear();
        group_of_.clear();
        std::int64_t words = 0;
        for (const std::int64_t unit : units) {
            const std::int64_t first = material_.units[unit], last = material_.units[unit + 1];
            if (!material_.globals.empty()) add_group(first, last);
            for (std::int64_t s = first; s < last; ++s) {
                auto sentence = std::make_unique<LearntSentence>(model_, material_.batch, static_cast<std::size_t>(s));
                std::vector<std::int32_t> start;
                if (!begin(sentence->space(), start)) return s;
                sentence->start(std::move(start));
                sentences_.push_back(std::move(sentence));
                words += sentences_.back()->options.sentence_length;
                found_.emplace_back();
                group_of_.push_back(groups_.size() - 1);
            }
        }
        gain_scale_ = settings_.gain_scale * (settings_.in_words ? static_cast<double>(words) / 100 : 1.0);
        for (Group& group : groups_)
            for (GlobalState& state : group.states) {
                for (std::size_t i = group.first; i < sentences_.size() && &groups_[group_of_[i]] == &group; ++i)
                    state.start(i - group.first, sentences_[i]->options, sentences_[i]->derivation().phrases());
                state.evaluate();
            }
        return -1;
    }

    bool begin(LocalSpace& space, std::vector<std::int32_t>& start) {
        std::optional<std::vector<std::int32_t>> found;
        if (settings_.start == Start::MONOTONE) found = search::phrase::gloss(space);
        if (settings_.start == Start::GLOSS) found = search::phrase::word_gloss(space);
        if (found) {
            start = std::move(*found);
            return true;
        }
        ForwardProposal random(space, 0.0);
        for (int attempt = 0; attempt < kAttempts; ++attempt)
            if (random.draw(stream_, start)) return true;
        return false;
    }

    void add_group(std::int64_t first, std::int64_t last) {
        Group group{sentences_.size(), {}};
        const Bounds offsets = material_.source_offsets.subspan(static_cast<std::size_t>(first), last - first + 1);
        // Values come without weights, which change.
        for (const auto& feature : material_.globals) group.states.emplace_back(*feature, 1.0, offsets);
        groups_.push_back(std::move(group));
    }

    // Returns whether there was a place at which the operator can be applied.
    bool step() {
        ++report.steps;
        constraints_.clear();
        numbers_ = {};
        oracle_phrases_.clear();
        worse_phrases_.clear();
        const auto place = static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(sentences_.size())));
        LearntSentence& sentence = *sentences_[place];
        Point point = choose_kind();
        if (!choose_point(sentence, point)) {
            note(place, point, 0);
            return false;
        }
        sentence.freshen();
        list(sentence, point);
        if (!groups_.empty()) add_global_scores(place, sentence);
        const std::size_t drawn = draw();
        if (learning_ && block_.size() > 1) look_for_constraints(place, sentence, drawn);
        sentence.derivation().changed(block_.change(drawn), drawn_phrases_);
        if (drawn != block_.present()) accept(place, sentence, drawn);
        update();
        note(place, point, block_.size());
        return point.kind != REORDERINGS || block_.size() > 1;
    }

    struct Point {
        Kind kind;
        std::int32_t one = 0, other = 0;
    };

    Point choose_kind() {
        double total = 0;
        for (double rate : settings_.rates) total += rate;
        double wanted = stream_.uniform() * total;
        std::size_t kind = 0;
        while (kind + 1 < KINDS && (wanted >= settings_.rates[kind] || settings_.rates[kind] == 0)) wanted -= settings_.rates[kind++];
        return {static_cast<Kind>(kind)};
    }

    // A place where the operator can work, if there is one. Which places there are for an operator does not depend on what
    // it chooses there, so that each draw leaves the distribution of the model as it is.
    bool choose_point(LearntSentence& sentence, Point& point) {
        const Derivation& derivation = sentence.derivation();
        const std::int32_t length = sentence.options.sentence_length;
        if (length == 0) return false;
        if (point.kind == MERGES_AND_SPLITS) {
            if (length < 2) return false;
            point.one = 1 + static_cast<std::int32_t>(stream_.below(length - 1));
            return true;
        }
        begins_.clear();
        for (std::int32_t word = 0; word < length; word = derivation.end(derivation.phrase_of(word))) begins_.push_back(word);
        if (point.kind == RETRANSLATIONS) {
            point.one = begins_[static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(begins_.size())))];
            return true;
        }
        const int limit = model_.view.reordering_limit;
        const std::int32_t reach = limit < 0 ? length : limit;
        pairs_.clear();
        for (std::size_t i = 0; i < begins_.size(); ++i)
            for (std::size_t j = i + 1; j < begins_.size() && begins_[j] - begins_[i] <= reach; ++j) pairs_.emplace_back(begins_[i], begins_[j]);
        if (pairs_.empty()) return false;
        std::tie(point.one, point.other) = pairs_[static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(pairs_.size())))];
        return true;
    }

    void list(LearntSentence& sentence, const Point& point) {
        switch (point.kind) {
            case MERGES_AND_SPLITS: block_.merge_split(sentence.derivation(), point.one); break;
            case REORDERINGS: block_.reorder(sentence.derivation(), point.one, point.other); break;
            default: block_.retranslate(sentence.derivation(), point.one);
        }
        for (const auto& options : block_.options()) sentence.weigh_all(options);
        block_.score();
    }

    void add_global_scores(std::size_t place, LearntSentence& sentence) {
        Group& group = groups_[group_of_[place]];
        global_values_.assign(block_.size() * group.states.size(), 0.0);
        for (std::size_t member = 0; member < block_.size(); ++member) {
            if (member == block_.present()) continue;
            sentence.derivation().changed(block_.change(member), drawn_phrases_);
            for (std::size_t g = 0; g < group.states.size(); ++g) {
                const double value = group.states[g].gain(place - group.first, sentence.options, drawn_phrases_);
                global_values_[member * group.states.size() + g] = value;
                block_.scores()[member] += model_.weights()[material_.table.global_features[g]] * value;
            }
        }
    }

    std::size_t draw() {
        const std::vector<double>& scores = block_.scores();
        if (scores.size() == 1) return 0;
        if (learning_ && settings_.worse == Worse::BEST)
            return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
        const double peak = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        probabilities_.resize(scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i) total += probabilities_[i] = std::exp((scores[i] - peak) / settings_.temperature);
        double wanted = stream_.uniform() * total;
        std::size_t drawn = 0;
        while (drawn + 1 < scores.size() && wanted >= probabilities_[drawn]) wanted -= probabilities_[drawn++];
        return drawn;
    }

    // Finds the oracle, the member with the best gain or the best sum of gain and score, and where model and gain order it
    // and others differently. Where sums count, members whose score no gain can make up for are left out.
    void look_for_constraints(std::size_t place, LearntSentence& sentence, std::size_t drawn) {
        const std::vector<double>& scores = block_.scores();
        const double scale = gain_scale_;
        const bool all = settings_.by_gain || settings_.best_found;
        const double least = all ? -std::numeric_limits<double>::infinity() : best_score(settings_.constraints) - scale * gain_->range();
        members_.clear();
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (scores[i] >= least || i == drawn) members_.push_back(i);
        gain_->gains(place, sentence, block_, members_, gains_);
        std::size_t hope = 0, fear = 0, top = 0, here = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const double score = scores[members_[m]], gain = scale * gains_[m];
            if (members_[m] == drawn) here = m;
            if (score + gain > scores[members_[hope]] + scale * gains_[hope]) hope = m;
            if (score - gain > scores[members_[fear]] - scale * gains_[fear]) fear = m;
            if (std::pair(gains_[m], score) > std::pair(gains_[top], scores[members_[top]])) top = m;
        }
        const std::size_t oracle = settings_.by_gain ? top : hope, worse = settings_.worse == Worse::FEAR ? fear : here;
        drawn_index_ = here;
        last_gain_ = gains_[here];
        oracle_ = members_[oracle];
        numbers_ = {scores[members_[worse]], gains_[worse], scores[oracle_], gains_[oracle], 0};
        sentence.derivation().changed(block_.change(members_[worse]), worse_phrases_);
        sentence.derivation().changed(block_.change(oracle_), oracle_phrases_);
        if (settings_.best_found && gains_[top] > found_[place].gain) {
            found_[place].gain = gains_[top];
            sentence.derivation().changed(block_.change(members_[top]), found_[place].phrases);
        }
        const auto lack = [&](std::size_t m) {
            return margin(gains_[oracle]) * (gains_[oracle] - gains_[m]) - (scores[oracle_] - scores[members_[m]]);
        };
        const auto wrong = [&](std::size_t m) {
            if (!(gains_[oracle] > gains_[m])) return false;
            return settings_.by_margin ? lack(m) > 0 : scores[oracle_] < scores[members_[m]];
        };
        if (wrong(worse)) add_constraint(place, sentence, worse, lack(worse));
        if (settings_.best_found && (settings_.by_margin || wrong(worse))) look_at_best_found(place, sentence, oracle, worse);
        if (settings_.constraints < 2) return;
        violated_.clear();
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (m != worse && wrong(m)) violated_.push_back(m);
        const std::size_t wanted = std::min(violated_.size(), settings_.constraints - 1);
        std::partial_sort(violated_.begin(), violated_.begin() + static_cast<std::ptrdiff_t>(wanted), violated_.end(),
                          [&](std::size_t a, std::size_t b) { return std::pair(-lack(a), a) < std::pair(-lack(b), b); });
        for (std::size_t i = 0; i < wanted; ++i) add_constraint(place, sentence, violated_[i], lack(violated_[i]));
    }

    // What a point of gain is worth in score, where something of this gain is better.
    double margin(double gain) const {
        return gain_scale_ * (settings_.margin >= 0 ? settings_.margin : std::max(0.0, gain + (settings_.sign < 0 ? 100.0 : 0.0)));
    }

    // If the best gain of all that was found of the sentence is better than the oracle's, that has to be ahead of both
    // by the margin. If it is, the constraint is there all the same: another one may spoil it.
    void look_at_best_found(std::size_t place, LearntSentence& sentence, std::size_t oracle, std::size_t worse) {
        const Found& best = found_[place];
        if (!(best.gain > gains_[oracle])) return;
        best_values_.clear();
        if (!groups_.empty()) {
            Group& group = groups_[group_of_[place]];
            for (GlobalState& state : group.states) best_values_.push_back(state.gain(place - group.first, sentence.options, best.phrases));
        }
        const std::size_t before = constraints_.size();
        bool violated = before > 0;
        for (const std::size_t m : {oracle, worse}) {
            SparseVector vector = difference(sentence, best.phrases, m == oracle ? oracle_phrases_ : worse_phrases_, best_values_, values(place, members_[m]));
            double ahead = 0;
            for (const auto& [feature, value] : vector) ahead += model_.weights()[feature] * value;
            const double lack = margin(best.gain) * (best.gain - gains_[m]) - ahead;
            violated |= lack > 0;
            add_constraint(std::move(vector), lack);
            if (oracle == worse) break;
        }
        if (!violated) constraints_.resize(before);
    }

    // The score that is the `rank`-best of the block.
    double best_score(std::size_t rank) {
        const std::vector<double>& scores = block_.scores();
        if (rank < 2) return *std::max_element(scores.begin(), scores.end());
        ranked_ = scores;
        const auto at = ranked_.begin() + static_cast<std::ptrdiff_t>(std::min(rank, ranked_.size()) - 1);
        std::nth_element(ranked_.begin(), at, ranked_.end(), std::greater<>());
        return *at;
    }

    void add_constraint(std::size_t place, LearntSentence& sentence, std::size_t m, double lack) {
        const std::size_t member = members_[m];
        sentence.derivation().changed(block_.change(member), drawn_phrases_);
        add_constraint(difference(sentence, oracle_phrases_, drawn_phrases_, values(place, oracle_), values(place, member)), lack);
    }

    void add_constraint(SparseVector vector, double lack) {
        std::erase_if(vector, [&](const auto& entry) { return !material_.table.learnt[entry.first]; });
        if (!vector.empty()) constraints_.push_back({std::move(vector), lack});
    }

    // The global features of a member.
    std::span<const double> values(std::size_t place, std::size_t member) const {
        if (groups_.empty()) return {};
        const std::size_t count = groups_[group_of_[place]].states.size();
        return std::span(global_values_).subspan(member * count, count);
    }

    // The features of one derivation less those of another, of which the global ones are given.
    SparseVector difference(const LearntSentence& sentence, const std::vector<std::int32_t>& one, const std::vector<std::int32_t>& other,
                            std::span<const double> one_values, std::span<const double> other_values) {
        sentence.difference(one, other, sum_);
        for (std::size_t g = 0; g < one_values.size(); ++g)
            sum_.add(material_.table.global_features[g], one_values[g] - other_values[g]);
        SparseVector vector;
        sum_.take(vector);
        return vector;
    }

    void accept(std::size_t place, LearntSentence& sentence, std::size_t drawn) {
        ++report.changes;
        if (learning_) gain_->accept(place, drawn_index_);
        if (!groups_.empty()) {
            Group& group = groups_[group_of_[place]];
            for (GlobalState& state : group.states) {
                state.gain(place - group.first, sentence.options, drawn_phrases_);
                state.accept(place - group.first);
            }
        }
        sentence.derivation().apply(block_.change(drawn));
    }

    void update() {
        if (constraints_.empty()) return;
        for (Constraint& constraint : constraints_)
            for (auto& [feature, value] : constraint.vector) {
                squares_[feature] += value * value;
                value /= material_.feature_units[feature];
            }
        const std::vector<double> duals = hildreth(constraints_, settings_.bound);
        numbers_[4] = duals[0];
        double moved = 0;
        for (std::size_t i = 0; i < constraints_.size(); ++i) {
            if (duals[i] == 0) continue;
            SparseVector& vector = constraints_[i].vector;
            for (auto& [feature, value] : vector) value /= material_.feature_units[feature];
            model_.add(vector, duals[i]);
            // The weights after step t count from then on: sum over all steps = steps * last weights - Σ (t - 1) change.
            for (const auto& [feature, value] : vector) late_[feature] += static_cast<double>(collected_) * (duals[i] * value);
            moved += duals[i] * std::sqrt(dot(vector, vector));
            report.clipped += duals[i] >= settings_.bound;
        }
        report.moved += moved;
        report.updates += moved > 0;
    }

    void note(std::size_t place, const Point& point, std::size_t members) {
        if (!settings_.trace) return;
        LearntSentence& sentence = *sentences_[place];
        trace.steps.insert(trace.steps.end(), {static_cast<std::int32_t>(sentence.sentence), point.kind, point.one, point.other,
                                               static_cast<std::int32_t>(members), static_cast<std::int32_t>(constraints_.size())});
        trace.add(sentence.derivation().phrases());
        trace.add(oracle_phrases_);
        trace.add(worse_phrases_);
        trace.add(found_[place].phrases);
        trace.numbers.insert(trace.numbers.end(), numbers_.begin(), numbers_.end());
        trace.weights.insert(trace.weights.end(), model_.weights().begin(), model_.weights().end());
    }

    const RankMaterial& material_;
    const RankSettings& settings_;
    LearntModel model_;
    std::uint64_t seed_, number_;
    Stream stream_;
    std::unique_ptr<BatchGain> gain_;
    std::vector<std::unique_ptr<LearntSentence>> sentences_;
    std::vector<Found> found_;
    std::vector<Group> groups_;
    std::vector<std::size_t> group_of_;
    bool learning_ = false;
    std::int64_t collected_ = 0;
    std::vector<double> late_, squares_;
    double gain_scale_ = 0, last_gain_ = 0;

    // Of the step under way.
    PhraseBlock block_;
    Accumulator sum_;
    std::vector<Constraint> constraints_;
    std::size_t oracle_ = 0, drawn_index_ = 0;
    std::array<double, 5> numbers_{};
    std::vector<std::size_t> members_, violated_;
    std::vector<double> gains_, probabilities_, ranked_, global_values_, best_values_;
    std::vector<std::int32_t> drawn_phrases_, oracle_phrases_, worse_phrases_, begins_;
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
};

}  // namespace dragoman::sampling::phrase
