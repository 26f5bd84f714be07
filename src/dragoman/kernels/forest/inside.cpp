// Inside and outside scores of a hypergraph's nodes, for sums and for maxima over derivations.
#include "forest/forest.hpp"

namespace dragoman::forest {
namespace {

auto forest_inside(const Forest& forest, bool maximum) {
    std::vector<double> inside;
    {
        nb::gil_scoped_release release;
        inside = maximum ? inside_scores<MaxSum>(forest) : inside_scores<LogSum>(forest);
    }
    return give(std::move(inside));
}

auto forest_outside(const Forest& forest, In1<double> inside, std::size_t root, bool maximum) {
    std::vector<double> outside;
    {
        nb::gil_scoped_release release;
        outside = maximum ? outside_scores<MaxSum>(forest, view(inside), root) : outside_scores<LogSum>(forest, view(inside), root);
    }
    return give(std::move(outside));
}

}  // namespace

void bind_inside(nb::module_& m) {
    bind_record(m, "Forest", "A hypergraph: the edges of each node, their two tails (-1: none) and their scores.",
                Field{"first_edge", &Forest::first_edge}, Field{"tails", &Forest::tails},
                Field{"scores", &Forest::scores});
    bind_record(m, "Templates", "What edges write: the row of each, of words, and -1 - k for what tail k writes.",
                Field{"ids", &Templates::ids}, Field{"rows", &Templates::rows});
    m.def("forest_inside", &forest_inside, nb::arg("forest"), nb::arg("maximum"),
          "Log-sum, or maximum, over the derivations of each node.");
    m.def("forest_outside", &forest_outside, nb::arg("forest"), nb::arg("inside"), nb::arg("root"), nb::arg("maximum"),
          "Log-sum, or maximum, over what is around each node in the derivations of the root.");
}

}  // namespace dragoman::forest
