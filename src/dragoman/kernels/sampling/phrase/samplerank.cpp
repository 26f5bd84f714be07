// SampleRank: chains on shards of the tuning set, each with its own weights (rank_chain.hpp).
#include "base/parallel.hpp"
#include "sampling/phrase/rank_chain.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

namespace dragoman::sampling::phrase {
namespace {

// What chains work on: batches of units, which are sentences or documents, given by their bounds.
struct RankPlan {
    Held1<std::int64_t> units;
    Held1<std::int64_t> batch_units, batch_offsets;  // the units of each batch
    Held1<std::int64_t> chain_offsets;               // the batches of each chain
    Held1<double> feature_units;
    std::uint64_t seed, first_batch;

    void check() const {
        require(std::ranges::all_of(view(feature_units), [](double unit) { return unit > 0; }), "units need to be above 0");
        require(units.size() > 0 && bounds_rows(view(batch_offsets), batch_units.size()), "batches need units");
        require(bounds_rows(view(chain_offsets), batch_offsets.size() - 1), "chains need batches");
    }
};

nb::typed<nb::dict, nb::str, nb::any> samplerank(const PhraseBatch& batch, const FeatureTable& table,
                                                 const GlobalFeatures& globals, const BleuReferences* references,
                                                 GainFunction callback, const RankPlan& plan, In2<double> weights,
                                                 const RankSettings& settings, int threads, Progress progress) {
    const PhraseModelView model = batch.model(settings.reordering_limit);
    const std::vector<std::int64_t> source_offsets = batch.source_offsets();
    const RankMaterial material{batch, table,          globals,    references, callback, view(plan.units),
                                model, source_offsets, view(plan.feature_units)};
    const std::size_t chains = plan.chain_offsets.size() - 1, width = weights.shape(1);
    require(
        weights.shape(0) == chains && table.learnt.size() == width && table.global_features.size() == globals.size(),
        "each chain needs a row of weights, each feature a column");
    require(plan.feature_units.size() == width, "each feature needs a unit");
    require(table.dense.shape(0) == batch.begin.size() &&
                (references == nullptr || references->options->size() == batch.begin.size()),
            "options need features, and words in those of the references");
    std::vector<std::unique_ptr<RankChain>> done(chains);
    std::vector<std::int64_t> missing(chains, -1);
    run_blocks(chains, threads, progress, [&](std::size_t chain, const std::atomic<bool>& stop) {
        done[chain] = std::make_unique<RankChain>(material, settings, std::span(weights.data() + chain * width, width),
                                                  plan.seed, chain);
        const std::int64_t first = plan.chain_offsets[chain];
        for (std::int64_t b = first; b < plan.chain_offsets[chain + 1] && missing[chain] < 0; ++b) {
            const std::int64_t from = plan.batch_offsets[b], to = plan.batch_offsets[b + 1];
            missing[chain] = done[chain]->run(
                view(plan.batch_units).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
                plan.first_batch + static_cast<std::uint64_t>(b - first), stop);
        }
    });
    std::vector<double> after, totals, squares, measures;
    std::vector<std::int64_t> counts;
    nb::list traces;
    for (const auto& chain : done) {
        const std::vector<double> total = chain->total();
        after.insert(after.end(), chain->weights().begin(), chain->weights().end());
        totals.insert(totals.end(), total.begin(), total.end());
        squares.insert(squares.end(), chain->squares().begin(), chain->squares().end());
        const RankReport& report = chain->report;
        counts.insert(counts.end(), {chain->collected(), report.steps, report.changes, report.updates, report.clipped,
                                     report.batches});
        measures.insert(measures.end(), {report.gain, report.moved});
        if (!settings.trace) continue;
        RankTrace& kept = chain->trace;
        traces.append(together(give(std::move(kept.steps), 6), give(std::move(kept.phrases)),
                               give(std::move(kept.phrase_offsets)), give(std::move(kept.numbers), 5),
                               give(std::move(kept.weights), width)));
    }
    nb::dict out;
    out["missing"] = give(std::move(missing));
    out["weights"] = give(std::move(after), width);
    out["totals"] = give(std::move(totals), width);
    out["squares"] = give(std::move(squares), width);
    out["counts"] = give(std::move(counts), 6);
    out["measures"] = give(std::move(measures), 2);
    out["traces"] = traces;
    return out;
}

}  // namespace

void bind_samplerank(nb::module_& m) {
    using Table = FeatureTable;
    bind_record(
        m, "FeatureTable",
        "The features of options, and the numbers of features that depend on context.\n\n"
        "Dense features are the first ones. `reorderings` have six columns, and the options of each reordering model\n"
        "one after the other; its first feature is in `reordering_models`, that of boundaries is `boundary`. `oriented`\n"
        "are properties of options, by the first of the six features of each.",
        Field{"dense", &Table::dense}, Field{"sparse", &Table::sparse}, Field{"reorderings", &Table::reorderings},
        Field{"oriented", &Table::oriented},
        Field{"reordering_models", &Table::reordering_models}, Field{"language_models", &Table::language_models},
        Field{"global_features", &Table::global_features}, Field{"distortion", &Table::distortion},
        Field{"boundary", &Table::boundary}, Field{"learnt", &Table::learnt});
    bind_record(m, "BleuReferences",
                "References as BLEU counts them, those of a sentence together, and options in their words.\n\n"
                "`lengths` has a row for each sentence, ascending, of which the closest counts.",
                Field{"options", &BleuReferences::options}, Field{"references", &BleuReferences::references},
                Field{"count", &BleuReferences::count}, Field{"lengths", &BleuReferences::lengths},
                Field{"order", &BleuReferences::order}, Field{"smoothing", &BleuReferences::smoothing});
    bind_record(m, "RankPlan",
                "The batches of each chain, whose rows are units (sentences or documents, given by their bounds).\n\n"
                "Batch b of a chain has the random numbers of `first_batch` + b. Updates are the smallest in features\n"
                "divided by `feature_units`.",
                Field{"units", &RankPlan::units}, Field{"batch_units", &RankPlan::batch_units},
                Field{"batch_offsets", &RankPlan::batch_offsets}, Field{"chain_offsets", &RankPlan::chain_offsets},
                Field{"feature_units", &RankPlan::feature_units}, Field{"seed", &RankPlan::seed}, Field{"first_batch", &RankPlan::first_batch});
    using Settings = RankSettings;
    bind_record(
        m, "RankSettings",
        "What SampleRank does at each step.\n\n"
        "Chains `start` from the best monotone derivations (0), from glosses of the words (1), or from random ones (2).\n"
        "A `margin` below 0 is the gain of the oracle. `worse` is 0 if e' is what is drawn, 1 for the model's best, 2\n"
        "for the one to fear. `in_words`: a point of the metric is worth a hundredth of the batch's source words.",
        Field{"start", &Settings::start}, Field{"rates", &Settings::rates}, Field{"burn_in", &Settings::burn_in}, Field{"samples", &Settings::samples},
        Field{"temperature", &Settings::temperature}, Field{"gain_scale", &Settings::gain_scale},
        Field{"in_words", &Settings::in_words}, Field{"margin", &Settings::margin}, Field{"bound", &Settings::bound},
        Field{"constraints", &Settings::constraints}, Field{"by_margin", &Settings::by_margin},
        Field{"by_gain", &Settings::by_gain}, Field{"worse", &Settings::worse},
        Field{"best_found", &Settings::best_found}, Field{"applied_only", &Settings::applied_only},
        Field{"sign", &Settings::sign}, Field{"reordering_limit", &Settings::reordering_limit},
        Field{"trace", &Settings::trace});
    m.def(
        "samplerank", &samplerank, nb::arg("batch"), nb::arg("table"), nb::arg("globals"), nb::arg("references").none(),
        nb::arg("callback").none(), nb::arg("plan"), nb::arg("weights"), nb::arg("settings"), nb::arg("threads") = 1,
        nb::arg("progress") = nb::none(),
        "Run chains of SampleRank, each with its row of `weights` on its batches.\n\n"
        "The weights of `globals` are not used, but those of their numbers in the table. Without `references`,\n"
        "`callback` gives statistics and gains of translations.\n\n"
        "Returns `missing` (for each chain a sentence without derivation, or -1), `weights` of each chain at its\n"
        "end, `totals` of the weights over all collected steps; `squares`, sums of the squared differences of the\n"
        "pairs in constraints; `counts`: steps collected, all steps, steps that\n"
        "changed the derivation, those that changed weights, duals at their bound, batches; `measures`: gains at\n"
        "the end of batches, and lengths of changes of weights, summed; and `traces` with all steps: sentence,\n"
        "operator, its points, size of the block, constraints; phrases and offsets of where the chain goes on, of\n"
        "the oracle, of e' and of the best that was found, by turns; score and gain of e' and of the oracle, and\n"
        "the first dual; the weights after the step.");
}

}  // namespace dragoman::sampling::phrase
