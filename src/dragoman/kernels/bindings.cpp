// The one place where kernels meet Python. Each kernel file registers its functions through its bind_* function.
#include <nanobind/nanobind.h>

namespace dragoman {
void bind_alignment(nanobind::module_&);
void bind_cooccurrence(nanobind::module_&);
void bind_hmm(nanobind::module_&);
void bind_symmetrise(nanobind::module_&);
void bind_text(nanobind::module_&);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Inner loops of Dragoman: arrays in, arrays out.";
    dragoman::bind_alignment(m);
    dragoman::bind_cooccurrence(m);
    dragoman::bind_hmm(m);
    dragoman::bind_symmetrise(m);
    dragoman::bind_text(m);
}
