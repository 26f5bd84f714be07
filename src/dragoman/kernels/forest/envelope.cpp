// Upper envelopes of all derivations of hypergraphs whose edges score a + t b (Macherey et al. 2008 for lattices; Kumar
// et al. 2009 for edges of two tails). A node's envelope is that of its edges' lines together; an edge's lines are
// its own line plus those of its tails, of which only pairs that are best at the same t can be on an envelope.
#include "base/parallel.hpp"
#include "forest/forest.hpp"
#include "forest/lines.hpp"

#include <tuple>

namespace dragoman::forest {
namespace {

// A derivation as a line: its edge, and which line of each tail's envelope goes on.
struct Segment {
    double intercept, slope;
    double from;  // where on its node's envelope it begins
    std::int32_t edge, ranks[2];

    bool operator<(const Segment& other) const {
        if (slope != other.slope) return slope < other.slope;
        if (intercept != other.intercept) return intercept > other.intercept;
        return std::tie(edge, ranks[0], ranks[1]) < std::tie(other.edge, other.ranks[0], other.ranks[1]);
    }
};

// One hypergraph, whose nodes are `first` to `root` of the forest.
class ForestEnvelope {
public:
    ForestEnvelope(const Forest& forest, std::span<const double> slopes, std::size_t first, std::size_t root,
                   const std::atomic<bool>& stop)
        : forest_(forest), slopes_(slopes), stop_(stop), first_(first), root_(root), segments_(root - first + 1) {
        std::vector<bool> needed(segments_.size(), false);
        needed.back() = true;
        for (std::size_t node = root + 1; node-- > first;)
            for (std::size_t edge = forest.begin(node); needed[node - first] && edge < forest.end(node); ++edge)
                for (int k = 0; k < forest.arity(edge); ++k)
                    needed[static_cast<std::size_t>(forest.tail(edge, k)) - first] = true;
        for (std::size_t node = first; node <= root; ++node)
            if (needed[node - first]) build(node);
    }

    const std::vector<Segment>& segments() const { return segments_.back(); }

    void append(std::size_t rank, std::vector<std::int32_t>& edges) const {
        const Place top{static_cast<std::int32_t>(root_), static_cast<std::int32_t>(rank)};
        unfold(top, [&](Place place, std::vector<Place>& stack) {
            const Segment& taken = of(place.node)[static_cast<std::size_t>(place.rank)];
            for (int k = forest_.arity(static_cast<std::size_t>(taken.edge)); k-- > 0;)
                stack.push_back({forest_.tail(static_cast<std::size_t>(taken.edge), k), taken.ranks[k]});
            return taken.edge;
        }, edges);
    }

private:
    const std::vector<Segment>& of(std::int32_t node) const { return segments_[static_cast<std::size_t>(node) - first_]; }

    void build(std::size_t node) {
        lines_.clear();
        bounds_.assign(1, 0);
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge) {
            add_edge(edge);
            bounds_.push_back(lines_.size());
        }
        while (bounds_.size() > 2) merge_pairs();
        segments_[node - first_].assign(lines_.begin(), lines_.end());
    }

    // Makes one envelope of every two, from lines that are in order already.
    void merge_pairs() {
        merged_.clear();
        std::size_t runs = 0;
        for (std::size_t run = 0; run + 1 < bounds_.size(); run += 2) {
            const std::size_t first = merged_.size(), middle = bounds_[run + 1], end = run + 2 < bounds_.size() ? bounds_[run + 2] : middle;
            std::size_t i = bounds_[run], j = middle;
            while (i < middle || j < end) add_line(lines_[j == end || (i < middle && lines_[i] < lines_[j]) ? i++ : j++], merged_, first);
            bounds_[++runs] = merged_.size();
        }
        bounds_.resize(runs + 1);
        lines_.swap(merged_);
    }

    // The sum of envelopes: both tails' segments in the order in which they are best together, which is by rising slope.
    void add_edge(std::size_t edge) {
        heed(stop_);
        static const std::vector<Segment> nothing{{0.0, 0.0, -infinity, -1, {0, 0}}};
        const std::vector<Segment>& one = forest_.tail(edge, 0) < 0 ? nothing : of(forest_.tail(edge, 0));
        const std::vector<Segment>& two = forest_.tail(edge, 1) < 0 ? nothing : of(forest_.tail(edge, 1));
        for (std::size_t i = 0, j = 0; i < one.size() && j < two.size();) {
            const Segment sum{forest_.scores[edge] + one[i].intercept + two[j].intercept,
                              slopes_[edge] + one[i].slope + two[j].slope,
                              0,
                              static_cast<std::int32_t>(edge),
                              {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)}};
            if (!std::isfinite(sum.intercept) || !std::isfinite(sum.slope)) throw std::overflow_error("a score is too large");
            add_line(sum, lines_, bounds_.back());
            if (i + 1 == one.size() && j + 1 == two.size()) break;
            const double next_one = i + 1 < one.size() ? one[i + 1].from : infinity;
            const double next_two = j + 1 < two.size() ? two[j + 1].from : infinity;
            i += next_one <= next_two;
            j += next_two <= next_one;
        }
    }

    const Forest& forest_;
    std::span<const double> slopes_;
    const std::atomic<bool>& stop_;
    std::size_t first_, root_;
    std::vector<std::vector<Segment>> segments_;
    std::vector<Segment> lines_, merged_;  // of a node under way: one envelope after the other, ...
    std::vector<std::size_t> bounds_;      // ... and where they begin
};

struct Found {
    std::vector<double> intercepts, slopes;
    std::vector<std::int32_t> edges;
    std::vector<std::int64_t> lengths;
};

auto forest_envelopes(const Forest& forest, In1<double> slopes, In1<std::int64_t> nodes, In1<std::int64_t> roots,
                      int threads, Progress progress) {
    std::vector<Found> found(roots.shape(0));
    run_blocks(found.size(), threads, progress, [&](std::size_t g, const std::atomic<bool>& stop) {
        const auto first = static_cast<std::size_t>(nodes.data()[g]), root = static_cast<std::size_t>(roots.data()[g]);
        const ForestEnvelope envelope(forest, view(slopes), first, root, stop);
        for (std::size_t rank = 0; rank < envelope.segments().size(); ++rank) {
            heed(stop);
            const std::size_t before = found[g].edges.size();
            envelope.append(rank, found[g].edges);
            found[g].lengths.push_back(static_cast<std::int64_t>(found[g].edges.size() - before));
            found[g].intercepts.push_back(envelope.segments()[rank].intercept);
            found[g].slopes.push_back(envelope.segments()[rank].slope);
        }
    });
    Found all;
    std::vector<std::int64_t> graphs{0}, offsets{0};
    for (const Found& part : found) {
        all.intercepts.insert(all.intercepts.end(), part.intercepts.begin(), part.intercepts.end());
        all.slopes.insert(all.slopes.end(), part.slopes.begin(), part.slopes.end());
        all.edges.insert(all.edges.end(), part.edges.begin(), part.edges.end());
        for (const std::int64_t length : part.lengths) offsets.push_back(offsets.back() + length);
        graphs.push_back(static_cast<std::int64_t>(all.slopes.size()));
    }
    return together(give(std::move(graphs)), give(std::move(all.intercepts)), give(std::move(all.slopes)),
                    give(std::move(all.edges)), give(std::move(offsets)));
}

}  // namespace

void bind_envelope(nb::module_& m) {
    m.def("forest_envelopes", &forest_envelopes, nb::arg("forest"), nb::arg("slopes"), nb::arg("nodes"),
          nb::arg("roots"), nb::arg("threads") = 1, nb::arg("progress").none() = nb::none(),
          "The upper envelope of each of several hypergraphs, whose edges score intercept + t * slope.\n\n"
          "The hypergraphs stand one after the other: `nodes` is where the nodes of each begin. Returns where the\n"
          "segments of each begin, their intercepts and slopes, by rising slope, and their derivations (edges and\n"
          "offsets). Raises an OverflowError if a derivation's score is not finite.");
}

}  // namespace dragoman::forest
