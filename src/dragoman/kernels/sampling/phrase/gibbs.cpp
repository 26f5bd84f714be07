// Markov chains over the derivations of a batch of sentences, and the distinct derivations that they were in.
#include "base/parallel.hpp"
#include "sampling/phrase/global_feature.hpp"
#include "sampling/phrase/schedule.hpp"
#include "sampling/visited.hpp"
#include "search/phrase/batch.hpp"

#include <memory>
#include <mutex>

namespace dragoman::sampling::phrase {
namespace {

using search::phrase::PhraseBatch;
using search::phrase::PhraseModelView;
using Visited = sampling::Visited<KINDS>;

// A lattice for each sentence, as the search has made them; empty where it has not.
struct Lattices {
    Held1<std::int64_t> node_offsets, first_edges, edge_offsets;
    Held1<std::int32_t> tails, options;
    Held1<double> scores;

    void check() const {
        require(node_offsets.size() > 0 && node_offsets.size() == edge_offsets.size(),
                "lattices need offsets of nodes and of edges");
        require(bounds_rows(view(edge_offsets), tails.size()) && options.size() == tails.size() &&
                    scores.size() == tails.size(),
                "columns of edges differ in length");
    }
};

// Proposals from lattices.
class LatticeProposals {
public:
    LatticeProposals(const Lattices* lattices, std::size_t sentences, double sharpness)
        : sharpness_(sharpness), views_(sentences), once_(sentences), proposals_(sentences) {
        if (lattices == nullptr) return;
        require(lattices->node_offsets.size() == sentences + 1, "there is not a lattice for each sentence");
        const std::int64_t* first = lattices->first_edges.data();
        for (std::size_t s = 0; s < sentences; ++s) {
            const auto nodes = static_cast<std::size_t>(lattices->node_offsets[s + 1] - lattices->node_offsets[s]);
            if (nodes == 0) continue;
            const auto edge = static_cast<std::size_t>(lattices->edge_offsets[s]);
            views_[s] = {{first, nodes + 1}, &lattices->tails[edge], &lattices->options[edge], &lattices->scores[edge]};
            first += nodes + 1;
        }
    }

    // Made when it is first asked for, for all chains of the sentence.
    const LatticeProposal* proposal(std::size_t sentence) {
        if (views_[sentence].nodes() == 0) return nullptr;
        std::call_once(once_[sentence], [&] { proposals_[sentence] = std::make_unique<LatticeProposal>(views_[sentence], sharpness_); });
        return proposals_[sentence].get();
    }

private:
    double sharpness_;
    std::vector<LatticeView> views_;
    std::vector<std::once_flag> once_;
    std::vector<std::unique_ptr<LatticeProposal>> proposals_;
};

// What one chain leaves of the sentences of a group together.
struct VisitedGroup {
    std::vector<Visited> sentences;
    double best_score = 0;
    std::vector<double> values;  // of the features of documents, at each sample
};

// A sentence in a chain, with all that must stay where it is while the chain runs.
struct Place {
    OptionsView options, proposal_options;
    std::unique_ptr<LocalSpace> target, proposal;
    std::unique_ptr<GlobalCorrection> correction;
    std::unique_ptr<JumpProposal> jumps;
    std::unique_ptr<ScheduledChain> chain;
};

class Sampler {
public:
    Sampler(const PhraseBatch& target, const PhraseBatch* proposal, int reordering_limit, LatticeProposals& lattices,
            const Schedule& schedule, const GlobalFeatures& features, const Rows& starts, Bounds groups)
        : target_(target), proposal_(proposal), model_(target.model(reordering_limit)), lattices_(lattices),
          schedule_(schedule), features_(features), starts_(starts), groups_(groups),
          source_offsets_(target.source_offsets()) {
        if (proposal != nullptr) proposal_model_ = proposal->model(reordering_limit);
    }

    // How many features see documents.
    std::size_t of_documents() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(features_, [](const auto& feature) { return feature->document; }));
    }

    // Runs one chain for the sentences of a group.
    void run(std::size_t group, std::size_t chain, VisitedGroup& visited, const std::atomic<bool>& stop) const {
        const auto first = static_cast<std::size_t>(groups_[group]), count = static_cast<std::size_t>(groups_[group + 1]) - first;
        visited.sentences.resize(count);
        Watch watch(stop, schedule_.max_seconds);
        std::vector<Place> places(count);
        std::vector<GlobalState> states;
        for (const auto& feature : features_)
            states.emplace_back(*feature, feature->weight, std::span(source_offsets_).subspan(first, count + 1));
        std::vector<std::vector<std::int32_t>> starts(count);
        std::vector<Stream> streams;
        for (std::size_t i = 0; i < count; ++i) {
            streams.emplace_back(schedule_.seed, schedule_.first_number + first + i, chain);
            if (!begin(places[i], first + i, streams[i], starts[i])) return;
            for (GlobalState& state : states) state.start(i, places[i].options, starts[i]);
        }
        for (GlobalState& state : states) state.evaluate();
        std::optional<JointBest> joint;
        if (of_documents() > 0) joint.emplace();
        std::vector<ScheduledChain*> scheduled;
        for (std::size_t i = 0; i < count; ++i) {
            Place& place = places[i];
            if (!states.empty()) place.correction = std::make_unique<GlobalCorrection>(states, i, place.options);
            if (schedule_.jump_every > 0)
                place.jumps = std::make_unique<JumpProposal>(lattices_.proposal(first + i), *place.target, 1 / schedule_.temperature, schedule_.forward_share);
            bool settled = false;
            if (schedule_.adaptive_jumps && lattice_sees_all() && lattices_.proposal(first + i) != nullptr) {
                const Stream trial(schedule_.seed, schedule_.first_number + first + i, chain + kTrialStreams);
                settled = jumps_arrive(place, starts[i], trial, watch);
            }
            place.chain = std::make_unique<ScheduledChain>(
                schedule_, make_chain(place, place.correction.get(), std::move(starts[i]), streams[i]), place.correction.get(), place.jumps.get(),
                joint ? &*joint : nullptr, i, settled);
            scheduled.push_back(place.chain.get());
        }
        if (joint) joint->begin(scheduled);
        scan(places, states, watch, visited.values);
        for (std::size_t i = 0; i < count; ++i) {
            ScheduledChain& done = *places[i].chain;
            visited.best_score += done.best_score;
            visited.sentences[i] = {true, watch.elapsed() / static_cast<double>(count), std::move(done.found), std::move(done.trace),
                          done.statistics, done.best_score, std::move(done.best)};
        }
        if (joint) visited.best_score = joint->score();
    }

private:
    // Whether the lattice has the scores of the chain: no global feature has a weight.
    bool lattice_sees_all() const {
        return std::ranges::all_of(features_, [](const auto& feature) { return feature->weight == 0; });
    }

    static constexpr int kAttempts = 1000;
    static constexpr std::int64_t kTrialScans = 16;
    // The random numbers of trials are other than those of chains.
    static constexpr std::uint64_t kTrialStreams = std::uint64_t{1} << 32;

    GibbsChain make_chain(const Place& place, Correction* correction, std::vector<std::int32_t> start, Stream stream) const {
        LocalSpace& drawn_from = place.proposal ? *place.proposal : *place.target;
        return {drawn_from, place.proposal ? place.target.get() : nullptr, correction, std::move(start), stream, schedule_.whole_scans};
    }

    // Whether most jumps are accepted between scans at the temperature of the samples. The lattice then has most of the
    // probability, so that draws from it are nearly draws from the distribution: the start becomes where the trial has come
    // to. Heat would only lead out of the lattice, from where no jump leads back: its derivations are proposed far too
    // often for their probability, as seen from a derivation that is hardly ever proposed.
    bool jumps_arrive(const Place& place, std::vector<std::int32_t>& start, Stream stream, Watch& watch) const {
        ScheduledChain chain(schedule_, make_chain(place, nullptr, start, stream), nullptr, place.jumps.get(), nullptr, 0, true);
        const auto& counted = chain.statistics;
        while (counted.jumps < kTrialScans && 2 * (counted.jumps - counted.accepted) <= kTrialScans) {
            chain.begin_scan();
            for (std::uint8_t kind = 0; kind < KINDS; ++kind)
                if (schedule_.rates[kind] > 0 && !chain.pass(static_cast<Kind>(kind), schedule_.temperature, watch)) return false;
            chain.end_scan(schedule_.temperature);
        }
        if (2 * counted.accepted < kTrialScans) return false;
        start = chain.derivation().phrases();
        return true;
    }

    bool begin(Place& place, std::size_t sentence, Stream& stream, std::vector<std::int32_t>& start) const {
        place.options = target_.options(sentence);
        place.target = std::make_unique<LocalSpace>(model_, place.options);
        if (proposal_ != nullptr) {
            place.proposal_options = proposal_->options(sentence);
            place.proposal = std::make_unique<LocalSpace>(proposal_model_, place.proposal_options);
        }
        start.assign(starts_[sentence].begin(), starts_[sentence].end());
        if (!start.empty() || place.options.sentence_length == 0) return true;
        ForwardProposal random(*place.target, 0.0);
        for (int attempt = 0; attempt < kAttempts; ++attempt)
            if (random.draw(stream, start)) return true;
        return false;
    }

    // All sentences have their samples at the same time, so that together they are samples of the document.
    void scan(std::vector<Place>& places, const std::vector<GlobalState>& states, Watch& watch, std::vector<double>& values) const {
        const auto collect = [&](bool due) {
            bool collected = false;
            for (Place& place : places)
                if (due) {
                    collected = place.chain->collect() || collected;
                } else if (place.chain->statistics.collected == 0) {
                    place.chain->collect_now();
                    collected = true;
                }
            if (!collected || !schedule_.trace) return;
            for (const GlobalState& state : states)
                if (state.of_document()) values.push_back(state.value_of(0));
        };
        const auto scan_once = [&](double temperature, bool sampling) {
            for (Place& place : places) place.chain->begin_scan();
            for (std::uint8_t kind = 0; kind < KINDS; ++kind) {
                if (schedule_.rates[kind] <= 0) continue;
                for (Place& place : places)
                    if (!place.chain->pass(static_cast<Kind>(kind), temperature, watch)) return false;
                if (sampling && schedule_.per_pass) collect(true);
            }
            for (Place& place : places) place.chain->end_scan(temperature);
            if (sampling && !schedule_.per_pass) collect(true);
            return !watch.over();
        };
        bool more = true;
        for (std::size_t b = 0; more && b < schedule_.burn_in.size(); ++b) more = scan_once(schedule_.burn_in[b], false);
        for (Place& place : places) place.chain->end_burn_in();
        while (more && !std::ranges::all_of(places, [](const Place& place) { return place.chain->done(); }))
            more = scan_once(schedule_.temperature, true);
        if (schedule_.samples > 0) collect(false);
    }

    const PhraseBatch& target_;
    const PhraseBatch* proposal_;
    PhraseModelView model_, proposal_model_;
    LatticeProposals& lattices_;
    const Schedule& schedule_;
    const GlobalFeatures& features_;
    const Rows& starts_;
    Bounds groups_;
    std::vector<std::int64_t> source_offsets_;
};

ArrayDict gibbs_sample(const PhraseBatch& target, const PhraseBatch* proposal, const Lattices* lattices,
                       const GlobalFeatures& features, const Rows& starts, In1<std::int64_t> groups,
                       const Schedule& schedule, int reordering_limit, int threads, Progress progress) {
    require(starts.size() == target.sentences(), "each sentence needs a start, or an empty row");
    require(groups.size() > 0 && groups[groups.size() - 1] == static_cast<std::int64_t>(target.sentences()),
            "documents do not have all sentences");
    const std::size_t chains = schedule.chains, samples = static_cast<std::size_t>(schedule.samples);
    LatticeProposals proposals(lattices, target.sentences(), 1 / schedule.temperature);
    const Sampler sampler(target, proposal, reordering_limit, proposals, schedule, features, starts, view(groups));
    std::vector<VisitedGroup> blocks((groups.size() - 1) * chains);
    run_blocks(blocks.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        sampler.run(block / chains, block % chains, blocks[block], stop);
    });
    const std::size_t of_documents = sampler.of_documents();
    std::vector<Visited> visited(target.sentences() * chains);
    std::vector<double> document_scores, document_values;
    if (schedule.trace)
        document_values.assign(blocks.size() * samples * of_documents, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        VisitedGroup& group = blocks[block];
        for (std::size_t i = 0; i < group.sentences.size(); ++i)
            visited[(static_cast<std::size_t>(groups[block / chains]) + i) * chains + block % chains] =
                std::move(group.sentences[i]);
        document_scores.push_back(group.best_score);
        std::ranges::copy(group.values,
                          document_values.begin() + static_cast<std::ptrdiff_t>(block * samples * of_documents));
    }
    nb::dict out = collect(visited, target.sentences(), schedule);
    out["document_scores"] = give(std::move(document_scores));
    out["document_values"] = give(std::move(document_values));
    return out;
}

}  // namespace

void bind_gibbs(nb::module_& m) {
    bind_record(m, "Lattices",
                "The lattices of sentences as `search_phrases` gives them; none for a sentence without nodes.",
                Field{"node_offsets", &Lattices::node_offsets}, Field{"first_edges", &Lattices::first_edges},
                Field{"edge_offsets", &Lattices::edge_offsets}, Field{"tails", &Lattices::tails},
                Field{"options", &Lattices::options}, Field{"scores", &Lattices::scores});
    m.def(
        "gibbs_sample", &gibbs_sample, nb::arg("target"), nb::arg("proposal").none(), nb::arg("lattices").none(),
        nb::arg("features"), nb::arg("starts"), nb::arg("groups"), nb::arg("schedule"), nb::arg("reordering_limit"),
        nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
        "Run Markov chains over derivations.\n\n"
        "`proposal` has the same options under other weights, from which steps are drawn. `groups` are the bounds of\n"
        "documents. An empty start is a random one. Rates and the columns of `steps` and `changes` are for merging\n"
        "and splitting, reordering, retranslating.\n\n"
        "Returns, for each sentence, whether a start was found, and the `rows` of its `derivations` (with\n"
        "`offsets`, `scores`, `counts` by chain); for each sentence and chain the best derivation and its score,\n"
        "seconds, and statistics: three counts of steps, three of changes, jumps tried and accepted, samples, whole\n"
        "scans tried and accepted; and\n"
        "for each sample of each chain its row in the sentence, -1 where the time was over. Best scores are\n"
        "without features of documents; with them it is documents that have a best, whose score is in\n"
        "`document_scores`, by group and chain. With `trace`, the values of these features at each sample are in\n"
        "`document_values`, by group, chain, sample and feature, NaN where the time was over.");
}

}  // namespace dragoman::sampling::phrase
