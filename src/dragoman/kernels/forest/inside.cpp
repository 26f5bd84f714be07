// Inside and outside scores of a hypergraph's nodes, for sums and for maxima over derivations.
#include "forest/forest.hpp"

namespace dragoman::forest {
namespace {

auto forest_inside(FirstEdge first_edge, Tails tails, Scores scores, bool maximum) {
    const Forest forest(first_edge, tails, scores);
    std::vector<double> inside;
    {
        nb::gil_scoped_release release;
        inside = maximum ? inside_scores<MaxSum>(forest) : inside_scores<LogSum>(forest);
    }
    return give(std::move(inside));
}

auto forest_outside(FirstEdge first_edge, Tails tails, Scores scores, Scores inside, std::size_t root, bool maximum) {
    const Forest forest(first_edge, tails, scores);
    std::vector<double> outside;
    {
        nb::gil_scoped_release release;
        outside = maximum ? outside_scores<MaxSum>(forest, view(inside), root) : outside_scores<LogSum>(forest, view(inside), root);
    }
    return give(std::move(outside));
}

}  // namespace

void bind_inside(nb::module_& m) {
    m.def("forest_inside", &forest_inside, nb::arg("first_edge"), nb::arg("tails"), nb::arg("scores"),
          nb::arg("maximum"),
          "Log-sum, or maximum, over the derivations of each node.");
    m.def("forest_outside", &forest_outside, nb::arg("first_edge"), nb::arg("tails"), nb::arg("scores"),
          nb::arg("inside"), nb::arg("root"), nb::arg("maximum"),
          "Log-sum, or maximum, over what is around each node in the derivations of the root.");
}

}  // namespace dragoman::forest
