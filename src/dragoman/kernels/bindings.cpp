// The one place where kernels meet Python: each file of kernels registers its functions through its bind_* function.
#include "base/errors.hpp"

#include <nanobind/nanobind.h>

namespace dragoman {

using Bind = void(nanobind::module_&);

Bind bind_distinct, bind_feature_rows, bind_records, bind_sequences, bind_watching;

namespace text {
Bind bind_arpa, bind_grammar, bind_lines, bind_links, bind_nbest_numbers, bind_nbest_read, bind_nbest_write, bind_rules,
    bind_samples_write, bind_table;
}

namespace training {
Bind bind_alignment, bind_cooccurrence, bind_exchange, bind_extract, bind_hmm, bind_hole_reordering, bind_rule_look_up, bind_rules,
    bind_score, bind_significance, bind_suffix_array, bind_symmetrise;
}

namespace lm {
Bind bind_index, bind_ngram_counts, bind_query;
}

namespace search::chart {
Bind bind_batch, bind_holes, bind_matches, bind_search;
}

namespace search::phrase {
Bind bind_batch, bind_greedy, bind_option_scores, bind_options, bind_search;
}

namespace sampling {
Bind bind_global_features;
}

namespace sampling::chart {
Bind bind_chains, bind_derivations;
}

namespace sampling::phrase {
Bind bind_gibbs, bind_samplerank, bind_segmentations;
}

namespace forest {
Bind bind_derivations, bind_envelope, bind_gradient, bind_hope, bind_inside, bind_kbest, bind_merge, bind_ngrams,
    bind_sample, bind_string, bind_translations;
}

namespace tuning {
Bind bind_evaluate, bind_mert, bind_mira, bind_mira_smo, bind_pair_sample, bind_risk;
}

namespace metrics {
Bind bind_edits, bind_meteor, bind_ngrams;
}

namespace decision {
Bind bind_aggregated_matches, bind_expected_gain, bind_ngram_consensus;
}

}  // namespace dragoman

NB_MODULE(_kernels, m) {
    using namespace dragoman;
    m.doc() = "Inner loops of Dragoman: arrays and records of them in, arrays out.";
    // What somebody still holds when the interpreter ends, as a notebook does, is nothing to be warned of.
    nanobind::set_leak_warnings(false);
    nanobind::exception<LimitError>(m, "LimitError", PyExc_ValueError);
    nanobind::exception<CycleError>(m, "CycleError", PyExc_ValueError);
    nanobind::exception<FunctionError>(m, "FunctionError", PyExc_ValueError);
    for (Bind* bind :
         {bind_records, bind_distinct, bind_feature_rows, bind_sequences, bind_watching, text::bind_arpa,
          text::bind_grammar, text::bind_lines, text::bind_links, text::bind_nbest_numbers, text::bind_nbest_read,
          text::bind_nbest_write, text::bind_rules, text::bind_samples_write, text::bind_table,
          training::bind_alignment, training::bind_cooccurrence, training::bind_exchange,
          training::bind_extract, training::bind_hmm, training::bind_hole_reordering, training::bind_rule_look_up,
          training::bind_rules, training::bind_score, training::bind_significance, training::bind_suffix_array,
          training::bind_symmetrise, lm::bind_index, lm::bind_ngram_counts, lm::bind_query, search::chart::bind_batch,
          search::chart::bind_holes, search::chart::bind_matches, search::chart::bind_search,
          search::phrase::bind_batch, search::phrase::bind_greedy, search::phrase::bind_option_scores,
          search::phrase::bind_options, search::phrase::bind_search,
          sampling::bind_global_features, sampling::chart::bind_chains, sampling::chart::bind_derivations,
          sampling::phrase::bind_gibbs, sampling::phrase::bind_samplerank, sampling::phrase::bind_segmentations,
          forest::bind_derivations, forest::bind_envelope, forest::bind_gradient, forest::bind_hope,
          forest::bind_inside, forest::bind_kbest, forest::bind_merge, forest::bind_ngrams, forest::bind_sample,
          forest::bind_string, forest::bind_translations, tuning::bind_evaluate, tuning::bind_mert, tuning::bind_mira,
          tuning::bind_mira_smo, tuning::bind_pair_sample, tuning::bind_risk, metrics::bind_edits, metrics::bind_meteor,
          metrics::bind_ngrams, decision::bind_aggregated_matches,
          decision::bind_expected_gain, decision::bind_ngram_consensus})
        bind(m);
}
