// What chains leave of sentences, and how it is handed to Python.
#pragma once

#include "base/arrays.hpp"
#include "sampling/collector.hpp"
#include "sampling/schedule.hpp"

#include <vector>

namespace dragoman::sampling {

// What one chain leaves of one sentence.
template <std::size_t kinds>
struct Visited {
    bool found = false;
    double seconds = 0;
    Collector derivations;
    std::vector<std::int32_t> trace;
    Statistics<kinds> statistics;
    double best_score = 0;
    std::vector<std::int32_t> best;
};

// The chains of all sentences put together: distinct derivations of a sentence, whichever chain found them.
template <std::size_t kinds>
nb::dict collect(std::vector<Visited<kinds>>& visited, std::size_t sentences, const Schedule& schedule) {
    const auto chains = schedule.chains, samples = static_cast<std::size_t>(schedule.samples);
    std::vector<std::int64_t> rows{0}, offsets{0}, counts, best_offsets{0}, statistics;
    std::vector<std::int32_t> derivations, best, trace;
    std::vector<double> scores, best_scores, seconds;
    std::vector<std::uint8_t> found;
    if (schedule.trace) trace.assign(sentences * chains * samples, -1);
    for (std::size_t s = 0; s < sentences; ++s) {
        Collector all;
        const std::size_t first_count = counts.size();
        bool every = true;
        for (std::size_t c = 0; c < chains; ++c) {
            Visited<kinds>& one = visited[s * chains + c];
            every = every && one.found;
            std::vector<std::int32_t> number(one.derivations.size());
            for (std::size_t row = 0; row < number.size(); ++row) {
                number[row] = all.add(one.derivations.derivation(row), one.derivations.score(row));
                counts.resize(first_count + all.size() * chains, 0);
                counts[first_count + static_cast<std::size_t>(number[row]) * chains + c] = one.derivations.count(row);
            }
            for (std::size_t i = 0; i < one.trace.size(); ++i)
                trace[(s * chains + c) * samples + i] = number[static_cast<std::size_t>(one.trace[i])];
            best.insert(best.end(), one.best.begin(), one.best.end());
            best_offsets.push_back(static_cast<std::int64_t>(best.size()));
            best_scores.push_back(one.best_score);
            seconds.push_back(one.seconds);
            const auto& counted = one.statistics;
            statistics.insert(statistics.end(), counted.steps.begin(), counted.steps.end());
            statistics.insert(statistics.end(), counted.changes.begin(), counted.changes.end());
            statistics.insert(statistics.end(), {counted.jumps, counted.accepted, counted.collected,
                                                  counted.scans_tested, counted.scans_accepted});
            one.derivations = {};
        }
        for (std::size_t row = 0; row < all.size(); ++row) {
            const auto derivation = all.derivation(row);
            derivations.insert(derivations.end(), derivation.begin(), derivation.end());
            offsets.push_back(static_cast<std::int64_t>(derivations.size()));
            scores.push_back(all.score(row));
        }
        rows.push_back(rows.back() + static_cast<std::int64_t>(all.size()));
        found.push_back(every);
    }
    nb::dict out;
    out["found"] = give(std::move(found));
    out["rows"] = give(std::move(rows));
    out["derivations"] = give(std::move(derivations));
    out["offsets"] = give(std::move(offsets));
    out["scores"] = give(std::move(scores));
    out["counts"] = give(std::move(counts), chains);
    out["trace"] = give(std::move(trace));
    out["best"] = give(std::move(best));
    out["best_offsets"] = give(std::move(best_offsets));
    out["best_scores"] = give(std::move(best_scores));
    out["seconds"] = give(std::move(seconds));
    out["statistics"] = give(std::move(statistics), 2 * kinds + 5);
    return out;
}

}  // namespace dragoman::sampling
