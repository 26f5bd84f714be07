// Markov chains over the derivations of charts, and the distinct derivations that they were in.
#include "base/parallel.hpp"
#include "sampling/chart/chain.hpp"
#include "sampling/visited.hpp"

#include <memory>
#include <mutex>

namespace dragoman::sampling::chart {
namespace {

using search::chart::Workspaces;
using VisitedChart = sampling::Visited<MOVES>;

// A chain with its schedule and all that it collects.
class ChartRun {
public:
    ChartRun(const Schedule& schedule, ChartChain chain, std::int32_t length, bool glue, VisitedChart& visited)
        : schedule_(schedule), chain_(std::move(chain)), length_(length), visited_(visited) {
        for (std::size_t kind = 0; kind < MOVES; ++kind) {
            rates_[kind] = kind == GLUE && !glue ? 0.0 : schedule.rates[kind];
            total_ += rates_[kind];
        }
        visited_.best_score = -std::numeric_limits<double>::infinity();
        note_best();
    }

    // One scan; returns false when the time is over.
    bool scan(double temperature, const ForestProposal& proposal, Watch& watch) {
        chain_.set_temperature(temperature, proposal);
        // A derivation has at most one node a word.
        for (std::size_t kind = 0; kind < MOVES; ++kind)
            for (std::int32_t i = 0; rates_[kind] > 0 && i < length_; ++i)
                if (!step(schedule_.random ? any_kind() : static_cast<Move>(kind), watch)) return false;
        if (schedule_.jump_every > 0 && ++scans_ % schedule_.jump_every == 0) {
            ++visited_.statistics.jumps;
            if (chain_.jump()) {
                ++visited_.statistics.accepted;
                note_best();
            }
        }
        return !watch.over();
    }

    bool done() const { return visited_.statistics.collected >= schedule_.samples; }

    void offer() {
        if (++offered_ % schedule_.thin == 0) collect_now();
    }

    // When the time was over before the first sample.
    void collect_something() {
        if (visited_.statistics.collected == 0) collect_now();
    }

private:
    void collect_now() {
        ++visited_.statistics.collected;
        chain_.derivation().write(row_);
        const std::int32_t row = visited_.derivations.add(row_, chain_.derivation().score());
        if (schedule_.trace) visited_.trace.push_back(row);
    }

    Move any_kind() {
        double rest = chain_.stream().uniform() * total_;
        std::uint8_t kind = 0, last = 0;
        for (; kind < MOVES; ++kind) {
            if (rates_[kind] <= 0) continue;
            last = kind;
            if ((rest -= rates_[kind]) < 0) break;
        }
        return static_cast<Move>(last);
    }

    bool step(Move kind, Watch& watch) {
        ++visited_.statistics.steps[kind];
        if (chain_.move(kind)) {
            ++visited_.statistics.changes[kind];
            note_best();
        }
        return !watch.over();
    }

    void note_best() {
        const double score = chain_.score();
        if (!(score > visited_.best_score)) return;
        visited_.best_score = score;
        chain_.derivation().write(visited_.best);
    }

    const Schedule& schedule_;
    ChartChain chain_;
    std::int32_t length_;
    VisitedChart& visited_;
    std::array<double, MOVES> rates_{};
    double total_ = 0;
    std::int64_t scans_ = 0, offered_ = 0;
    std::vector<std::int32_t> row_;
};

class ChartSampler {
public:
    ChartSampler(const ChartBatch& target, const ChartBatch& proposal, int threads, const Schedule& schedule,
                 const GlobalFeatures& features, const Rows& starts)
        : target_(target), proposal_(proposal), estimates_(proposal, threads), schedule_(schedule), features_(features),
          starts_(starts), workspaces_(target), places_(target.sentences()), first_words_(target.sentences() + 1, 0) {
        for (std::size_t s = 0; s < target.sentences(); ++s) first_words_[s + 1] = first_words_[s] + static_cast<std::size_t>(target.length(s));
    }

    void run(std::size_t sentence, std::size_t number, VisitedChart& visited, const std::atomic<bool>& stop) {
        Watch watch(stop, schedule_.max_seconds);
        Place& place = places_[sentence];
        // Made when they are first asked for, for all chains of the sentence.
        std::call_once(place.once, [&] {
            place.chart = std::make_unique<SentenceChart>(target_, sentence);
            place.proposal = std::make_unique<ForestProposal>(proposal_, estimates_, *place.chart, 1 / schedule_.temperature);
        });
        const SentenceChart& chart = *place.chart;
        Stream stream(schedule_.seed, schedule_.first_number + sentence, number);
        std::vector<Edge> start;
        for (const std::int32_t edge : starts_[sentence]) start.push_back(chart.edge(edge));
        if (start.empty() && chart.length() > 0) {
            DrawSpace space;
            if (!ForestProposal(proposal_, estimates_, chart, 0.0).draw_parts(stream, space, 0, chart.length(), start)) return;
        }
        auto workspace = workspaces_.take();
        {
            ChartDerivation derivation(target_, chart, *workspace, start);
            SentenceFeatures features(features_, target_, first_words_[sentence], static_cast<std::size_t>(chart.length()));
            ChartRun run(schedule_, ChartChain(chart, std::move(derivation), std::move(features), stream), chart.length(), target_.glue, visited);
            scan(run, chart, *place.proposal, watch);
        }
        workspaces_.give_back(std::move(workspace));
        visited.found = true;
        visited.seconds = watch.elapsed();
    }

private:
    struct Place {
        std::once_flag once;
        std::unique_ptr<SentenceChart> chart;
        std::unique_ptr<ForestProposal> proposal;  // at the temperature of samples
    };

    void scan(ChartRun& run, const SentenceChart& chart, const ForestProposal& proposal, Watch& watch) {
        bool more = true;
        for (std::size_t b = 0; more && b < schedule_.burn_in.size(); ++b) {
            const double temperature = schedule_.burn_in[b];
            more = run.scan(temperature, temperature == schedule_.temperature ? proposal : ForestProposal(proposal_, estimates_, chart, 1 / temperature), watch);
        }
        while (more && !run.done()) {
            more = run.scan(schedule_.temperature, proposal, watch);
            if (more) run.offer();
        }
        if (schedule_.samples > 0) run.collect_something();
    }

    const ChartBatch& target_;
    const ChartBatch& proposal_;
    const JoinedEstimates estimates_;
    const Schedule& schedule_;
    const GlobalFeatures& features_;
    const Rows& starts_;
    Workspaces workspaces_;
    std::vector<Place> places_;
    std::vector<std::size_t> first_words_;
};

ArrayDict chart_sample(const ChartBatch& target, const ChartBatch* proposal, const GlobalFeatures& features,
                       const Rows& starts, const Schedule& schedule, int threads, Progress progress) {
    require(starts.size() == target.sentences(), "each sentence needs a start, or an empty row");
    const std::size_t chains = schedule.chains;
    ChartSampler sampler(target, proposal ? *proposal : target, threads, schedule, features, starts);
    std::vector<VisitedChart> visited(target.sentences() * chains);
    run_blocks(visited.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        sampler.run(block / chains, block % chains, visited[block], stop);
    });
    return sampling::collect(visited, target.sentences(), schedule);
}

}  // namespace

void bind_chains(nb::module_& m) {
    m.def(
        "chart_sample", &chart_sample, nb::arg("target"), nb::arg("proposal").none(), nb::arg("features"),
        nb::arg("starts"), nb::arg("schedule"), nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
        "Run Markov chains over the derivations of charts.\n\n"
        "`proposal` has the same rules under other weights, from which moves are drawn. `features` are of sentences.\n"
        "Derivations are rows of edges in pre-order; an edge is a match with a rule, and they are numbered in this\n"
        "order. An empty start is a random one. Rates and the columns of statistics are for subtrees, rules, glue.\n\n"
        "Returns what `gibbs_sample` does, of sentences.");
}

}  // namespace dragoman::sampling::chart
