// The one place where kernels meet Python. Each kernel file registers its functions through its bind_* function.
#include <nanobind/nanobind.h>

namespace dragoman {
void bind_extract(nanobind::module_&);
void bind_score(nanobind::module_&);
void bind_significance(nanobind::module_&);
void bind_text(nanobind::module_&);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Inner loops of Dragoman: arrays in, arrays out.";
    dragoman::bind_extract(m);
    dragoman::bind_score(m);
    dragoman::bind_significance(m);
    dragoman::bind_text(m);
}
