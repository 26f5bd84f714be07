// SampleRank: chains on shards of the tuning set, each with its own weights (rank_chain.hpp).
#include "base/parallel.hpp"
#include "tuning/rank_chain.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace dragoman::tuning {
namespace {

nb::typed<nb::dict, nb::str, nb::any> samplerank(
    search::phrase::PhraseArrays arrays, AnyTuple features, std::vector<sampling::phrase::GlobalArrays> globals,
    In1<std::int32_t> global_features, std::optional<AnyTuple> bleu, GainFunction callback, In1<std::int32_t> words,
    In1<std::int64_t> source_offsets, In1<std::int64_t> units, In1<std::uint8_t> learnt, In2<double> weights,
    In1<std::int64_t> batch_units, In1<std::int64_t> batch_offsets, In1<std::int64_t> chain_offsets, int reordering_limit,
    std::uint64_t seed, std::uint64_t first_batch, sampling::phrase::Rates rates, std::int64_t burn_in, std::int64_t samples,
    double temperature, double gain_scale, double margin, double bound, std::size_t constraints, bool by_margin, bool by_gain,
    int worse, bool best_found, bool applied_only, double sign, bool trace, int threads, Progress progress) {
    const PhraseBatch batch(arrays, reordering_limit);
    const FeatureTable table(features);
    std::optional<BleuReferences> references;
    if (bleu) references.emplace(*bleu);
    // Values come without weights, which change.
    std::vector<GlobalFeatureView> views = sampling::phrase::views_of(globals);
    for (GlobalFeatureView& view : views) view.weight = 1;
    const RankMaterial material{batch,         table,           references ? &*references : nullptr, callback, view(words), std::move(views),
                            view(global_features), view(learnt), view(source_offsets), view(units)};
    const RankSettings settings{sampling::phrase::by_kind(rates), burn_in, samples, temperature, gain_scale, margin, bound, constraints, by_margin,
                                by_gain, static_cast<Worse>(worse), best_found, applied_only, sign, trace};
    const std::size_t chains = chain_offsets.shape(0) - 1, width = weights.shape(1);
    std::vector<std::unique_ptr<RankChain>> done(chains);
    std::vector<std::int64_t> missing(chains, -1);
    run_blocks(chains, threads, progress, [&](std::size_t chain, const std::atomic<bool>& stop) {
        done[chain] = std::make_unique<RankChain>(material, settings, std::span(weights.data() + chain * width, width), seed, chain);
        const std::int64_t first = chain_offsets.data()[chain];
        for (std::int64_t b = first; b < chain_offsets.data()[chain + 1] && missing[chain] < 0; ++b) {
            const std::int64_t from = batch_offsets.data()[b], to = batch_offsets.data()[b + 1];
            missing[chain] = done[chain]->run(view(batch_units).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
                                              first_batch + static_cast<std::uint64_t>(b - first), stop);
        }
    });
    std::vector<double> after, totals, measures;
    std::vector<std::int64_t> counts;
    nb::list traces;
    for (const auto& chain : done) {
        const std::vector<double> total = chain->total();
        after.insert(after.end(), chain->weights().begin(), chain->weights().end());
        totals.insert(totals.end(), total.begin(), total.end());
        const RankReport& report = chain->report;
        counts.insert(counts.end(), {chain->collected(), report.steps, report.changes, report.updates, report.clipped, report.batches});
        measures.insert(measures.end(), {report.gain, report.moved});
        if (!trace) continue;
        RankTrace& kept = chain->trace;
        traces.append(together(give(std::move(kept.steps), 6), give(std::move(kept.phrases)), give(std::move(kept.phrase_offsets)),
                               give(std::move(kept.numbers), 5), give(std::move(kept.weights), width)));
    }
    nb::dict out;
    out["missing"] = give(std::move(missing));
    out["weights"] = give(std::move(after), width);
    out["totals"] = give(std::move(totals), width);
    out["counts"] = give(std::move(counts), 6);
    out["measures"] = give(std::move(measures), 2);
    out["traces"] = traces;
    return out;
}

}  // namespace

void bind_samplerank(nb::module_& m) {
    m.def("samplerank", &samplerank, nb::arg("arrays"), nb::arg("features"), nb::arg("globals"),
          nb::arg("global_features"), nb::arg("bleu").none(), nb::arg("callback").none(), nb::arg("words"),
          nb::arg("source_offsets"), nb::arg("units"), nb::arg("learnt"), nb::arg("weights"), nb::arg("batch_units"),
          nb::arg("batch_offsets"), nb::arg("chain_offsets"), nb::kw_only(), nb::arg("reordering_limit"),
          nb::arg("seed"), nb::arg("first_batch"), nb::arg("rates"), nb::arg("burn_in"), nb::arg("samples"),
          nb::arg("temperature"), nb::arg("gain_scale"), nb::arg("margin"), nb::arg("bound"), nb::arg("constraints"),
          nb::arg("by_margin"), nb::arg("by_gain"), nb::arg("worse"), nb::arg("best_found"), nb::arg("applied_only"),
          nb::arg("sign"), nb::arg("trace"), nb::arg("threads") = 1,
          nb::arg("progress") = nb::none(),
          "Run chains of SampleRank, each with its row of `weights` on its batches, which are rows of units\n"
          "(sentences or documents, given by their bounds).\n\n"
          "`globals` are as in `gibbs_sample` (their weights are not used, but those of `global_features`). Without\n"
          "`bleu`, `callback` gives statistics and gains of translations. A `margin` below 0 is the gain of the\n"
          "oracle. `worse` is 0 if e' is what is drawn, 1 for the model's best, 2 for the one to fear. Batch b of a\n"
          "chain has the random numbers of `first_batch` + b.\n\n"
          "Returns `missing` (for each chain a sentence without derivation, or -1), `weights` of each chain at its\n"
          "end, `totals` of the weights over all collected steps; `counts`: steps collected, all steps, steps that\n"
          "changed the derivation, those that changed weights, duals at their bound, batches; `measures`: gains at\n"
          "the end of batches, and lengths of changes of weights, summed; and `traces` with all steps: sentence,\n"
          "operator, its points, size of the block, constraints; phrases and offsets of where the chain goes on, of\n"
          "the oracle, of e' and of the best that was found, by turns; score and gain of e' and of the oracle, and\n"
          "the first dual; the weights after the step.");
}

}  // namespace dragoman::tuning
