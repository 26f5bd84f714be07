// The one place where kernels meet Python. Each kernel file registers its functions through its bind_* function.
#include <nanobind/nanobind.h>

namespace dragoman {
void bind_forest_derivations(nanobind::module_&);
void bind_forest_envelope(nanobind::module_&);
void bind_forest_inside(nanobind::module_&);
void bind_forest_kbest(nanobind::module_&);
void bind_forest_ngrams(nanobind::module_&);
void bind_forest_sample(nanobind::module_&);
void bind_forest_string(nanobind::module_&);
void bind_forest_translations(nanobind::module_&);
void bind_segmentations(nanobind::module_&);
void bind_sequences(nanobind::module_&);
void bind_lm_index(nanobind::module_&);
void bind_lm_query(nanobind::module_&);
void bind_mert(nanobind::module_&);
void bind_ngram_counts(nanobind::module_&);
void bind_ngram_consensus(nanobind::module_&);
void bind_extract(nanobind::module_&);
void bind_score(nanobind::module_&);
void bind_significance(nanobind::module_&);
void bind_alignment(nanobind::module_&);
void bind_cooccurrence(nanobind::module_&);
void bind_hmm(nanobind::module_&);
void bind_symmetrise(nanobind::module_&);
void bind_mira(nanobind::module_&);
void bind_mira_smo(nanobind::module_&);
void bind_pair_sample(nanobind::module_&);
void bind_phrase_search(nanobind::module_&);
void bind_gibbs(nanobind::module_&);
void bind_global_features(nanobind::module_&);
void bind_greedy(nanobind::module_&);
void bind_metric_edits(nanobind::module_&);
void bind_metric_meteor(nanobind::module_&);
void bind_metric_ngrams(nanobind::module_&);
void bind_text(nanobind::module_&);
void bind_arpa_text(nanobind::module_&);
void bind_link_text(nanobind::module_&);
void bind_nbest_text(nanobind::module_&);
void bind_table_text(nanobind::module_&);
void bind_evaluate(nanobind::module_&);
void bind_expected_gain(nanobind::module_&);
void bind_risk(nanobind::module_&);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Inner loops of Dragoman: arrays in, arrays out.";
    dragoman::bind_forest_derivations(m);
    dragoman::bind_forest_envelope(m);
    dragoman::bind_forest_inside(m);
    dragoman::bind_forest_kbest(m);
    dragoman::bind_forest_ngrams(m);
    dragoman::bind_forest_sample(m);
    dragoman::bind_forest_string(m);
    dragoman::bind_forest_translations(m);
    dragoman::bind_segmentations(m);
    dragoman::bind_sequences(m);
    dragoman::bind_lm_index(m);
    dragoman::bind_lm_query(m);
    dragoman::bind_mert(m);
    dragoman::bind_ngram_counts(m);
    dragoman::bind_ngram_consensus(m);
    dragoman::bind_extract(m);
    dragoman::bind_score(m);
    dragoman::bind_significance(m);
    dragoman::bind_alignment(m);
    dragoman::bind_cooccurrence(m);
    dragoman::bind_hmm(m);
    dragoman::bind_symmetrise(m);
    dragoman::bind_mira(m);
    dragoman::bind_mira_smo(m);
    dragoman::bind_pair_sample(m);
    dragoman::bind_phrase_search(m);
    dragoman::bind_gibbs(m);
    dragoman::bind_global_features(m);
    dragoman::bind_greedy(m);
    dragoman::bind_metric_edits(m);
    dragoman::bind_metric_meteor(m);
    dragoman::bind_metric_ngrams(m);
    dragoman::bind_text(m);
    dragoman::bind_arpa_text(m);
    dragoman::bind_link_text(m);
    dragoman::bind_nbest_text(m);
    dragoman::bind_table_text(m);
    dragoman::bind_evaluate(m);
    dragoman::bind_expected_gain(m);
    dragoman::bind_risk(m);
}
