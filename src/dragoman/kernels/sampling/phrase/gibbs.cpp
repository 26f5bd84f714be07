// Markov chains over the derivations of a batch of sentences, and the distinct derivations that they were in.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "sampling/phrase/global_feature.hpp"
#include "sampling/phrase/schedule.hpp"
#include "sampling/visited.hpp"
#include "search/phrase/batch.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>

namespace dragoman::sampling::phrase {
namespace {

using search::phrase::PhraseArrays;
using search::phrase::PhraseBatch;
using Visited = sampling::Visited<KINDS>;

// A lattice for each sentence, as the search has made them; empty where it has not.
class Lattices {
public:
    Lattices(const std::optional<ArrayTuple>& arrays, std::size_t sentences, double sharpness)
        : sharpness_(sharpness), views_(sentences), once_(sentences), proposals_(sentences) {
        if (!arrays) return;
        node_offsets_ = array_at<std::int64_t>(*arrays, 0);
        first_edges_ = array_at<std::int64_t>(*arrays, 1);
        edge_offsets_ = array_at<std::int64_t>(*arrays, 2);
        tails_ = array_at<std::int32_t>(*arrays, 3);
        options_ = array_at<std::int32_t>(*arrays, 4);
        scores_ = array_at<double>(*arrays, 5);
        const std::int64_t* first = first_edges_.data();
        for (std::size_t s = 0; s < sentences; ++s) {
            const auto nodes = static_cast<std::size_t>(node_offsets_.data()[s + 1] - node_offsets_.data()[s]);
            if (nodes == 0) continue;
            const std::int64_t edge = edge_offsets_.data()[s];
            views_[s] = {{first, nodes + 1}, tails_.data() + edge, options_.data() + edge, scores_.data() + edge};
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
    In1<std::int64_t> node_offsets_, first_edges_, edge_offsets_;
    In1<std::int32_t> tails_, options_;
    In1<double> scores_;
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
    std::unique_ptr<PhraseSpace> target, proposal;
    std::unique_ptr<GlobalCorrection> correction;
    std::unique_ptr<JumpProposal> jumps;
    std::unique_ptr<ScheduledChain> chain;
};

class Sampler {
public:
    Sampler(const PhraseBatch& target, const PhraseBatch* proposal, Lattices& lattices, const Schedule& schedule,
            std::vector<GlobalFeatureView> features, std::span<const std::int32_t> starts, std::span<const std::int64_t> start_offsets,
            std::span<const std::int64_t> groups, std::uint64_t seed, std::uint64_t first_number)
        : target_(target), proposal_(proposal), lattices_(lattices), schedule_(schedule), features_(std::move(features)), starts_(starts),
          start_offsets_(start_offsets), groups_(groups), seed_(seed), first_number_(first_number), source_offsets_(target.sentences() + 1, 0) {
        for (std::size_t s = 0; s < target.sentences(); ++s) source_offsets_[s + 1] = source_offsets_[s] + target.options(s).sentence_length;
    }

    // How many features see documents.
    std::size_t of_documents() const {
        return static_cast<std::size_t>(std::ranges::count_if(features_, [](const GlobalFeatureView& feature) { return feature.document; }));
    }

    // Runs one chain for the sentences of a group.
    void run(std::size_t group, std::size_t chain, VisitedGroup& visited, const std::atomic<bool>& stop) const {
        const auto first = static_cast<std::size_t>(groups_[group]), count = static_cast<std::size_t>(groups_[group + 1]) - first;
        visited.sentences.resize(count);
        Watch watch(stop, schedule_.max_seconds);
        std::vector<Place> places(count);
        std::vector<GlobalState> states;
        for (const GlobalFeatureView& feature : features_) states.emplace_back(feature, std::span(source_offsets_).subspan(first, count + 1));
        std::vector<std::vector<std::int32_t>> starts(count);
        std::vector<Stream> streams;
        for (std::size_t i = 0; i < count; ++i) {
            streams.emplace_back(seed_, first_number_ + first + i, chain);
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
            PhraseSpace& drawn_from = place.proposal ? *place.proposal : *place.target;
            place.chain = std::make_unique<ScheduledChain>(
                schedule_, GibbsChain(drawn_from, place.proposal ? place.target.get() : nullptr, place.correction.get(), std::move(starts[i]), streams[i]),
                place.correction.get(), place.jumps.get(), joint ? &*joint : nullptr, i);
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
    static constexpr int kAttempts = 1000;

    bool begin(Place& place, std::size_t sentence, Stream& stream, std::vector<std::int32_t>& start) const {
        place.options = target_.options(sentence);
        place.target = std::make_unique<PhraseSpace>(target_.model, place.options);
        if (proposal_ != nullptr) {
            place.proposal_options = proposal_->options(sentence);
            place.proposal = std::make_unique<PhraseSpace>(proposal_->model, place.proposal_options);
        }
        start.assign(starts_.begin() + start_offsets_[sentence], starts_.begin() + start_offsets_[sentence + 1]);
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
        while (more && !std::ranges::all_of(places, [](const Place& place) { return place.chain->done(); }))
            more = scan_once(schedule_.temperature, true);
        if (schedule_.samples > 0) collect(false);
    }

    const PhraseBatch& target_;
    const PhraseBatch* proposal_;
    Lattices& lattices_;
    const Schedule& schedule_;
    std::vector<GlobalFeatureView> features_;
    std::span<const std::int32_t> starts_;
    std::span<const std::int64_t> start_offsets_, groups_;
    std::uint64_t seed_, first_number_;
    std::vector<std::int64_t> source_offsets_;
};

ArrayDict gibbs_sample(PhraseArrays arrays, std::optional<PhraseArrays> proposal_arrays, std::optional<ArrayTuple> lattices,
                       std::vector<GlobalArrays> features, In1<std::int32_t> starts, In1<std::int64_t> start_offsets,
                       In1<std::int64_t> groups, int reordering_limit, std::size_t chains, std::uint64_t seed, std::uint64_t first_number,
                       Rates rates, bool random, bool per_pass, std::int64_t samples, std::int64_t thin,
                       In1<double> burn_in, double temperature, std::int64_t jump_every, double forward_share, double max_seconds,
                       bool trace, int threads, Progress progress) {
    const PhraseBatch target(arrays, reordering_limit);
    std::optional<PhraseBatch> proposal;
    if (proposal_arrays) proposal.emplace(*proposal_arrays, reordering_limit);
    Lattices kept(lattices, target.sentences(), 1 / temperature);
    const Schedule schedule{by_kind(rates), random,     per_pass,      samples,     thin, view(burn_in),
                            temperature,    jump_every, forward_share, max_seconds, trace};
    const Sampler sampler(target, proposal ? &*proposal : nullptr, kept, schedule, views_of(features), view(starts), view(start_offsets),
                          view(groups), seed, first_number);
    const std::size_t count = groups.shape(0) - 1;
    std::vector<VisitedGroup> blocks(count * chains);
    run_blocks(blocks.size(), threads, progress, [&](std::size_t block, const std::atomic<bool>& stop) {
        sampler.run(block / chains, block % chains, blocks[block], stop);
    });
    const std::size_t of_documents = sampler.of_documents();
    std::vector<Visited> visited(target.sentences() * chains);
    std::vector<double> document_scores, document_values;
    if (trace)
        document_values.assign(blocks.size() * static_cast<std::size_t>(samples) * of_documents, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        VisitedGroup& group = blocks[block];
        for (std::size_t i = 0; i < group.sentences.size(); ++i)
            visited[(static_cast<std::size_t>(groups.data()[block / chains]) + i) * chains + block % chains] = std::move(group.sentences[i]);
        document_scores.push_back(group.best_score);
        std::ranges::copy(group.values, document_values.begin() + static_cast<std::ptrdiff_t>(block * static_cast<std::size_t>(samples) * of_documents));
    }
    nb::dict out = collect(visited, target.sentences(), chains, samples, trace);
    out["document_scores"] = give(std::move(document_scores));
    out["document_values"] = give(std::move(document_values));
    return out;
}

}  // namespace

void bind_gibbs(nb::module_& m) {
    m.def("gibbs_sample", &gibbs_sample, nb::arg("arrays"), nb::arg("proposal_arrays").none(),
          nb::arg("lattices").none(), nb::arg("features"), nb::arg("starts"), nb::arg("start_offsets"),
          nb::arg("groups"), nb::kw_only(), nb::arg("reordering_limit"), nb::arg("chains"), nb::arg("seed"),
          nb::arg("first_number"), nb::arg("rates"), nb::arg("random"), nb::arg("per_pass"), nb::arg("samples"),
          nb::arg("thin"), nb::arg("burn_in"), nb::arg("temperature"), nb::arg("jump_every"),
          nb::arg("forward_share"), nb::arg("max_seconds"), nb::arg("trace"), nb::arg("threads") = 1,
          nb::arg("progress") = nb::none(),
          "Run Markov chains over derivations.\n\n"
          "`proposal_arrays` are the same options under other weights, from which steps are drawn. `lattices` are\n"
          "node offsets, first edges, edge offsets, tails, options and scores as `search_phrases` gives them.\n"
          "`features` have an address, whether it is that of `IncrementalFunctions` rather than of a function, a\n"
          "weight, whether they see documents, and symbols of the source words and of the options' words. `groups`\n"
          "are the bounds of documents. An empty start is a random one. `rates` and the columns of `steps` and\n"
          "`changes` are for merging and splitting, reordering, retranslating.\n\n"
          "Returns, for each sentence, whether a start was found, and the `rows` of its `derivations` (with\n"
          "`offsets`, `scores`, `counts` by chain); for each sentence and chain the best derivation and its score,\n"
          "seconds, and statistics: three counts of steps, three of changes, jumps tried and accepted, samples; and\n"
          "for each sample of each chain its row in the sentence, -1 where the time was over. Best scores are\n"
          "without features of documents; with them it is documents that have a best, whose score is in\n"
          "`document_scores`, by group and chain. With `trace`, the values of these features at each sample are in\n"
          "`document_values`, by group, chain, sample and feature, NaN where the time was over.");
}

}  // namespace dragoman::sampling::phrase
