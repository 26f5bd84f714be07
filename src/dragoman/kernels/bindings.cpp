// The one place where kernels meet Python. Each kernel file registers its functions through its bind_* function.
#include <nanobind/nanobind.h>

namespace dragoman {
void bind_forest_derivations(nanobind::module_&);
void bind_forest_inside(nanobind::module_&);
void bind_forest_kbest(nanobind::module_&);
void bind_forest_ngrams(nanobind::module_&);
void bind_forest_sample(nanobind::module_&);
void bind_forest_string(nanobind::module_&);
void bind_sequences(nanobind::module_&);
void bind_text(nanobind::module_&);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Inner loops of Dragoman: arrays in, arrays out.";
    dragoman::bind_forest_derivations(m);
    dragoman::bind_forest_inside(m);
    dragoman::bind_forest_kbest(m);
    dragoman::bind_forest_ngrams(m);
    dragoman::bind_forest_sample(m);
    dragoman::bind_forest_string(m);
    dragoman::bind_sequences(m);
    dragoman::bind_text(m);
}
