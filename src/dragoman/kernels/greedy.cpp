// Greedy hill-climbing for a batch of sentences: from a derivation to its best neighbour, until none is better.
#include "arrays.hpp"
#include "neighbourhood.hpp"
#include "parallel.hpp"
#include "phrase_batch.hpp"

#include <optional>

namespace dragoman {
namespace {

// Less than this is rounding, not improvement.
constexpr double kLeastGain = 1e-9;

struct Climb {
    bool found = false;
    double start_score = 0, score = 0;
    std::int64_t steps = 0, looked_at = 0;
    std::vector<std::int32_t> derivation;
};

// The best monotone derivation by what options are worth alone; nothing if there is no monotone derivation.
std::optional<std::vector<std::int32_t>> gloss(const PhraseSpace& space) {
    const std::int32_t n = space.length();
    std::vector<double> best(static_cast<std::size_t>(n) + 1, 0);
    std::vector<std::int32_t> choice(static_cast<std::size_t>(n), -1);
    for (std::int32_t begin = n - 1; begin >= 0; --begin)
        for (std::int32_t end = begin + 1; end <= std::min(n, begin + space.longest()); ++end) {
            const auto options = space.on_span(begin, end);
            if (options.empty() || (end < n && choice[end] < 0)) continue;
            const double score = space.estimate(options[0]) + best[end];
            if (choice[begin] >= 0 && score <= best[begin]) continue;
            best[begin] = score;
            choice[begin] = options[0];
        }
    std::vector<std::int32_t> derivation;
    for (std::int32_t at = 0; at < n; at = space.options.end[choice[at]]) {
        if (choice[at] < 0) return std::nullopt;
        derivation.push_back(choice[at]);
    }
    return derivation;
}

// Steepest ascent; of neighbours that are equally good the first wins.
void climb(Derivation derivation, int operators, std::int64_t max_steps, const std::atomic<bool>& stop, Climb& result) {
    result.found = true;
    result.start_score = result.score = derivation.score();
    result.derivation = derivation.phrases();
    while (result.steps < max_steps && !stop) {
        double gain = kLeastGain;
        std::optional<Change> best;
        neighbours(derivation, operators, [&](const Change& change) {
            if (stop.load(std::memory_order_relaxed)) return;
            ++result.looked_at;
            const double difference = derivation.difference(change);
            if (difference <= gain) return;
            gain = difference;
            best = change;
        });
        if (!best) return;
        derivation.apply(*best);
        // Scores rise from step to step also when summed anew, so that no rounding can lead in circles.
        if (!(derivation.score() > result.score)) return;
        ++result.steps;
        result.score = derivation.score();
        result.derivation = derivation.phrases();
    }
}

template <class T, class Get>
Out1<T> column(const std::vector<Climb>& climbs, Get get) {
    std::vector<T> values;
    for (const Climb& climb : climbs) values.push_back(static_cast<T>(get(climb)));
    return give(std::move(values));
}

auto climb_derivations(nb::tuple arrays, In1<std::int32_t> starts, In1<std::int64_t> start_offsets, int operators, std::int64_t max_steps,
                       int reordering_limit, int threads, nb::object progress) {
    const PhraseBatch batch(arrays, reordering_limit);
    std::vector<Climb> climbs(batch.sentences());
    run_blocks(climbs.size(), threads, progress, [&](std::size_t s, const std::atomic<bool>& stop) {
        const OptionsView options = batch.options(s);
        PhraseSpace space(batch.model, options);
        std::optional<std::vector<std::int32_t>> start(std::in_place, starts.data() + start_offsets.data()[s],
                                                       starts.data() + start_offsets.data()[s + 1]);
        if (start->empty()) start = gloss(space);
        if (start) climb(Derivation(space, std::move(*start)), operators, max_steps, stop, climbs[s]);
    });
    std::vector<std::int32_t> derivations;
    std::vector<std::int64_t> offsets{0};
    for (const Climb& climb : climbs) {
        derivations.insert(derivations.end(), climb.derivation.begin(), climb.derivation.end());
        offsets.push_back(static_cast<std::int64_t>(derivations.size()));
    }
    return nb::make_tuple(column<std::uint8_t>(climbs, [](const Climb& c) { return !c.found; }),
                          column<double>(climbs, [](const Climb& c) { return c.score; }),
                          column<double>(climbs, [](const Climb& c) { return c.start_score; }),
                          column<std::int64_t>(climbs, [](const Climb& c) { return c.steps; }),
                          column<std::int64_t>(climbs, [](const Climb& c) { return c.looked_at; }), give(std::move(derivations)),
                          give(std::move(offsets)));
}

auto derivation_neighbours(nb::tuple arrays, std::size_t sentence, In1<std::int32_t> derivation, int operators, int reordering_limit) {
    const PhraseBatch batch(arrays, reordering_limit);
    const OptionsView options = batch.options(sentence);
    std::vector<std::int32_t> found;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> differences;
    {
        nb::gil_scoped_release release;
        PhraseSpace space(batch.model, options);
        const Derivation here(space, {derivation.data(), derivation.data() + derivation.shape(0)});
        neighbours(here, operators, [&](const Change& change) {
            Derivation changed = here;
            changed.apply(change);
            found.insert(found.end(), changed.phrases().begin(), changed.phrases().end());
            offsets.push_back(static_cast<std::int64_t>(found.size()));
            differences.push_back(here.difference(change));
        });
    }
    return nb::make_tuple(give(std::move(found)), give(std::move(offsets)), give(std::move(differences)));
}

}  // namespace

void bind_greedy(nb::module_& m) {
    m.def("climb_derivations", &climb_derivations, nb::arg("arrays"), nb::arg("starts").noconvert(), nb::arg("start_offsets").noconvert(),
          nb::arg("operators"), nb::arg("max_steps"), nb::arg("reordering_limit"), nb::arg("threads") = 1, nb::arg("progress") = nb::none());
    m.def("derivation_neighbours", &derivation_neighbours, nb::arg("arrays"), nb::arg("sentence"), nb::arg("derivation").noconvert(),
          nb::arg("operators"), nb::arg("reordering_limit"));
}

}  // namespace dragoman
