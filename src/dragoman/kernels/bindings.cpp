// The one place where kernels meet Python. Each kernel file registers its functions through its bind_* function.
#include <nanobind/nanobind.h>

namespace dragoman {
void bind_text(nanobind::module_&);
void bind_arpa_text(nanobind::module_&);
void bind_link_text(nanobind::module_&);
void bind_table_text(nanobind::module_&);
}

NB_MODULE(_kernels, m) {
    m.doc() = "Inner loops of Dragoman: arrays in, arrays out.";
    dragoman::bind_text(m);
    dragoman::bind_arpa_text(m);
    dragoman::bind_link_text(m);
    dragoman::bind_table_text(m);
}
