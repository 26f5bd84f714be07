// Greedy hill-climbing for a batch of sentences: from a derivation to its best neighbour, until none is better.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "search/phrase/batch.hpp"
#include "search/phrase/gloss.hpp"
#include "search/phrase/neighbourhood.hpp"

#include <optional>

namespace dragoman::search::phrase {
namespace {

// Less than this is rounding, not improvement.
constexpr double kLeastGain = 1e-9;

struct Climb {
    bool found = false;
    double start_score = 0, score = 0;
    std::int64_t steps = 0, looked_at = 0;
    std::vector<std::int32_t> derivation;
};

// Steepest ascent; of neighbours that are equally good the first wins.
class Climber {
public:
    Climber(Derivation derivation, int operators, const std::atomic<bool>& stop)
        : derivation_(std::move(derivation)), operators_(operators), stop_(stop),
          retranslated_(static_cast<std::size_t>(derivation_.space().length())), merged_split_(retranslated_.size()) {}

    Climb climb(std::int64_t max_steps) {
        Climb result{true, derivation_.score(), derivation_.score(), 0, 0, derivation_.phrases()};
        while (result.steps < max_steps) {
            const std::optional<Change> change = best_change();
            if (!change) break;
            derivation_.apply(*change);
            // Scores rise from step to step also when summed anew, so that no rounding can lead in circles.
            if (!(derivation_.score() > result.score)) break;
            ++result.steps;
            result.score = derivation_.score();
            result.derivation = derivation_.phrases();
        }
        result.looked_at = looked_at_;
        return result;
    }

private:
    struct Best {
        double gain = kLeastGain;
        std::optional<Change> change;

        void add(const Change& other, double difference) {
            if (difference <= gain) return;
            gain = difference;
            change = other;
        }
    };

    // The best change of a window, which need not be looked for again while the surroundings are the same.
    struct Remembered {
        std::vector<std::int32_t> surroundings;
        double gain = kLeastGain;
        std::vector<std::int32_t> options;  // that replace the window's
    };

    std::optional<Change> best_change() {
        const std::int32_t phrases = derivation_.size();
        Best best;
        const auto visit = [&](const Change& change, double difference) { look(best, change, difference); };
        if (operators_ & RETRANSLATE)
            for (std::int32_t phrase = 0; phrase < phrases; ++phrase)
                recall(best, retranslated_[derivation_.begin(phrase)], {phrase, phrase + 1},
                       [&](auto&& see) { retranslations(derivation_, phrase, see); });
        if (operators_ & MERGE_SPLIT)
            for (std::int32_t position = 1; position < derivation_.space().length(); ++position)
                if (const auto window = window_at(derivation_, position))
                    recall(best, merged_split_[position], *window, [&](auto&& see) { merge_splits(derivation_, position, see); });
        if (operators_ & REORDER)
            for (std::int32_t phrase = 0; phrase < phrases; ++phrase) reorderings(derivation_, phrase, visit);
        if (operators_ & MOVE)
            for (std::int32_t phrase = 0; phrase < phrases; ++phrase) moves(derivation_, phrase, visit);
        return best.change;
    }

    template <class Enumerate>
    void recall(Best& best, Remembered& remembered, Window window, Enumerate&& enumerate) {
        derivation_.surroundings(window.first, window.last, surroundings_);
        if (surroundings_ != remembered.surroundings) {
            Best here;
            enumerate([&](const Change& change, double difference) { look(here, change, difference); });
            remembered.surroundings = surroundings_;
            remembered.gain = here.gain;
            remembered.options.clear();
            if (here.change)
                for (const Piece& piece : here.change->pieces())
                    if (piece.option >= 0) remembered.options.push_back(piece.option);
        }
        const auto& options = remembered.options;
        if (options.size() == 1) best.add(replace(derivation_, window, options[0]), remembered.gain);
        if (options.size() == 2) best.add(replace(derivation_, window, options[0], options[1]), remembered.gain);
    }

    void look(Best& best, const Change& change, double difference) {
        if (stop_.load(std::memory_order_relaxed)) throw std::runtime_error("stopped");
        ++looked_at_;
        best.add(change, difference);
    }

    Derivation derivation_;
    int operators_;
    const std::atomic<bool>& stop_;
    std::int64_t looked_at_ = 0;
    std::vector<Remembered> retranslated_;  // by the first source word
    std::vector<Remembered> merged_split_;  // by the position between source words
    std::vector<std::int32_t> surroundings_;
};

template <class T, class Get>
Out<T> column(const std::vector<Climb>& climbs, Get get) {
    std::vector<T> values;
    for (const Climb& climb : climbs) values.push_back(static_cast<T>(get(climb)));
    return give(std::move(values));
}

auto climb_derivations(const PhraseBatch& batch, const Rows& starts, int operators, std::int64_t max_steps,
                       int reordering_limit, int threads, Progress progress) {
    const PhraseModelView model = batch.model(reordering_limit);
    require(starts.size() == batch.sentences(), "each sentence needs a start, or an empty row");
    std::vector<Climb> climbs(batch.sentences());
    run_blocks(climbs.size(), threads, progress, [&](std::size_t s, const std::atomic<bool>& stop) {
        const OptionsView options = batch.options(s);
        LocalSpace space(model, options);
        std::optional<std::vector<std::int32_t>> start(std::in_place, starts[s].begin(), starts[s].end());
        if (start->empty()) start = gloss(space);
        if (start) climbs[s] = Climber(Derivation(space, std::move(*start)), operators, stop).climb(max_steps);
    });
    std::vector<std::int32_t> derivations;
    std::vector<std::int64_t> offsets{0};
    for (const Climb& climb : climbs) {
        derivations.insert(derivations.end(), climb.derivation.begin(), climb.derivation.end());
        offsets.push_back(static_cast<std::int64_t>(derivations.size()));
    }
    return together(column<std::uint8_t>(climbs, [](const Climb& c) { return !c.found; }),
                    column<double>(climbs, [](const Climb& c) { return c.score; }),
                    column<double>(climbs, [](const Climb& c) { return c.start_score; }),
                    column<std::int64_t>(climbs, [](const Climb& c) { return c.steps; }),
                    column<std::int64_t>(climbs, [](const Climb& c) { return c.looked_at; }), give(std::move(derivations)),
                    give(std::move(offsets)));
}

auto word_glosses(const PhraseBatch& batch, int threads, Progress progress) {
    const PhraseModelView model = batch.model(0);
    std::vector<std::vector<std::int32_t>> glosses(batch.sentences());
    run_blocks(glosses.size(), threads, progress, [&](std::size_t s, const std::atomic<bool>&) {
        const OptionsView options = batch.options(s);
        glosses[s] = word_gloss(PhraseSpace(model, options)).value_or(std::vector<std::int32_t>());
    });
    std::vector<std::int32_t> derivations;
    std::vector<std::int64_t> offsets{0};
    for (const auto& gloss : glosses) {
        derivations.insert(derivations.end(), gloss.begin(), gloss.end());
        offsets.push_back(static_cast<std::int64_t>(derivations.size()));
    }
    return together(give(std::move(derivations)), give(std::move(offsets)));
}

auto derivation_neighbours(const PhraseBatch& batch, std::size_t sentence, In1<std::int32_t> derivation, int operators,
                           int reordering_limit) {
    const PhraseModelView model = batch.model(reordering_limit);
    const OptionsView options = batch.options(sentence);
    std::vector<std::int32_t> found;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> differences;
    {
        nb::gil_scoped_release release;
        LocalSpace space(model, options);
        const Derivation here(space, {derivation.data(), derivation.data() + derivation.shape(0)});
        neighbours(here, operators, [&](const Change& change, double difference) {
            Derivation changed = here;
            changed.apply(change);
            found.insert(found.end(), changed.phrases().begin(), changed.phrases().end());
            offsets.push_back(static_cast<std::int64_t>(found.size()));
            differences.push_back(difference);
        });
    }
    return together(give(std::move(found)), give(std::move(offsets)), give(std::move(differences)));
}

}  // namespace

void bind_greedy(nb::module_& m) {
    m.def("climb_derivations", &climb_derivations, nb::arg("batch"), nb::arg("starts"), nb::arg("operators"),
          nb::arg("max_steps"), nb::arg("reordering_limit"), nb::arg("threads") = 1,
          nb::arg("progress") = nb::none(),
          "Climb from a derivation of each sentence, or from its gloss if that is empty.\n\n"
          "Returns whether there is no gloss, scores, scores of the starts, steps, neighbours looked at,\n"
          "derivations, offsets. `operators` is a sum of 1 retranslate, 2 merge and split, 4 reorder, 8 move.");
    m.def("word_glosses", &word_glosses, nb::arg("batch"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "The best option of each word of each sentence by what it is worth alone, and offsets.\n\n"
          "Where only longer phrases cover a word, the best monotone derivation; an empty row if there is none.");
    m.def("derivation_neighbours", &derivation_neighbours, nb::arg("batch"), nb::arg("sentence"),
          nb::arg("derivation"), nb::arg("operators"), nb::arg("reordering_limit"),
          "The neighbours of a derivation, their offsets, and by how much they score more.\n\n"
          "`operators` is a sum of 1 retranslate, 2 merge and split, 4 reorder, 8 move.");
}

}  // namespace dragoman::search::phrase
