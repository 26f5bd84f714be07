// The derivations that are best by a weighted sum of the model's score and BLEU within a document (Chiang et al. 2008,
// section 2.4): hope where BLEU counts for them, fear where it counts against them.
#include "base/parallel.hpp"
#include "forest/matched_strings.hpp"
#include "forest/surroundings.hpp"

#include <cmath>
#include <tuple>

namespace dragoman::forest {
namespace {

// What B of a sentence's derivations depends on.
struct InDocument {
    Ref<Rows> references;          // words by numbers of their own
    Held1<std::int32_t> word_ids;  // the number of each word of the hypergraph among these, negative if it has none
    Held1<double> document;        // matches and n-grams of each order, words, words of references, and size
    double source_words, reference_words;

    std::size_t order() const { return (document.size() - 3) / 2; }
    void check() const {
        require(document.size() % 2 == 1 && document.size() > 3 && order() <= highest_order,
                "the document's counts are not those of orders");
    }
};

// What is added up of the strings of a document, and how large it is.
struct DocumentCounts {
    std::span<const double> matches, ngrams;
    double words, reference_words, size;

    // The values are those of each order, words, words of references, and the size.
    DocumentCounts(std::span<const double> values, std::size_t order)
        : matches(values.first(order)), ngrams(values.subspan(order, order)), words(values[2 * order]),
          reference_words(values[2 * order + 1]), size(values[2 * order + 2]) {}
};

// How many source words are below each node. The span of an edge of a chart is all that is below it; that of an edge of a
// lattice is one phrase, to which comes what is below its tail.
std::vector<double> words_below(const Forest& forest, const Surroundings& around, const std::int32_t* spans, std::size_t root,
                                double source_words) {
    struct Hull {
        double begin = 0, end = 0;
    };
    std::vector<double> found(forest.nodes());
    std::vector<Hull> hulls(forest.nodes());
    for (std::size_t node = 0; node <= root; ++node) {
        std::size_t edge = forest.begin(node);
        while (edge < forest.end(node) && !around.usable(forest, edge)) ++edge;
        if (edge == forest.end(node)) continue;
        Hull own{double(spans[2 * edge]), double(spans[2 * edge + 1])}, all = own;
        double covered = std::max(0.0, own.end - own.begin);
        for (int k = 0; k < forest.arity(edge); ++k) {
            const auto tail = static_cast<std::size_t>(forest.tail(edge, k));
            const Hull below = hulls[tail];
            if (below.begin == below.end) continue;
            if (below.begin < own.begin || below.end > own.end) covered += found[tail];
            all = all.begin == all.end ? below : Hull{std::min(all.begin, below.begin), std::max(all.end, below.end)};
        }
        hulls[node] = all;
        found[node] = std::min(covered, source_words);
    }
    found[root] = source_words;
    return found;
}

// B of equation 8, of strings that translate some of the source words. What of it depends on the number of words only is
// worked out once.
class Gains {
public:
    Gains(const DocumentCounts& document, std::size_t order, std::vector<double> words_below, double source_words, double reference_words)
        : document_(document), order_(order), reference_share_(source_words > 0 ? reference_words / source_words : 0),
          sizes_(words_below) {
        std::ranges::sort(sizes_);
        sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
        for (const double size : words_below)
            size_of_.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(sizes_, size) - sizes_.begin()));
        factors_.resize(sizes_.size());
    }

    template <class String>
    double of(const String& string, std::size_t node) {
        double product = 1;
        for (std::size_t n = 0; n < order_; ++n) product *= document_.matches[n] + double(string.matches[n]);
        return checked(root_of(product) * factor(size_of_[node], string.words));
    }

    // What B of translations of the whole sentence lies between, if they have so many words, of which at most `matched` are
    // in a reference.
    std::pair<double, double> bounds(double least_words, double most_words, double matched, std::size_t root) {
        constexpr double infinite = std::numeric_limits<double>::infinity();
        if (!(most_words < remembered)) return {-infinite, infinite};
        double low = infinite, high = 0;
        for (double words = least_words; words <= most_words; ++words) {
            double none = 1, all = 1;
            for (std::size_t n = 0; n < order_; ++n) {
                none *= document_.matches[n];
                all *= document_.matches[n] + std::max(0.0, std::min(words, matched) - double(n));
            }
            const double rest = factor(size_of_[root], words);
            low = std::min(low, checked(root_of(none) * rest));
            high = std::max(high, checked(root_of(all) * rest));
        }
        return {low, high};
    }

private:
    // Strings without end, which are no translations, have no gain that is a number.
    static double checked(double gain) { return std::isnan(gain) ? 0 : gain; }

    double factor(std::uint32_t size, double words) {
        if (!(words < remembered)) return new_factor(sizes_[size], words);
        std::vector<double>& row = factors_[size];
        const auto at = static_cast<std::size_t>(words);
        if (at >= row.size()) row.resize(at + 1, -1.0);
        if (row[at] < 0) row[at] = new_factor(sizes_[size], words);
        return row[at];
    }

    double new_factor(double size, double string_words) const {
        double product = 1;
        for (std::size_t n = 0; n < order_; ++n) product *= document_.ngrams[n] + std::max(0.0, string_words - double(n));
        if (!(product > 0)) return 0;
        const double words = document_.words + string_words, wanted = document_.reference_words + reference_share_ * size;
        const double brevity = words < wanted ? std::exp(1 - wanted / words) : 1;
        return (document_.size + size) * brevity / root_of(product);
    }

    // Two square roots are faster than logarithms, and most count four orders.
    double root_of(double product) const {
        return order_ == 4 ? std::sqrt(std::sqrt(product)) : std::pow(product, 1 / double(order_));
    }

    static constexpr double remembered = 1024;  // words
    DocumentCounts document_;
    std::size_t order_;
    double reference_share_;
    std::vector<double> sizes_;
    std::vector<std::uint32_t> size_of_;
    std::vector<std::vector<double>> factors_;
};

// How many words a node's derivations write, and how many of these a reference has.
struct Extent {
    double least_words = 0, most_words = 0, most_matched = 0;

    void append(const Extent& other) {
        least_words += other.least_words;
        most_words += other.most_words;
        most_matched += other.most_matched;
    }
    void widen(const Extent& other) {
        least_words = std::min(least_words, other.least_words);
        most_words = std::max(most_words, other.most_words);
        most_matched = std::max(most_matched, other.most_matched);
    }
};

template <std::size_t orders>
class Rescoring {
public:
    using String = MatchedString<orders>;

    Rescoring(const Forest& forest, const Templates& templates, const ReferenceNGrams& ngrams, Words word_ids,
              const Surroundings& around, Gains& gains)
        : forest_(forest), matching_(ngrams), around_(around), gains_(gains) {
        spell(templates, word_ids);
    }

    // Looks for the `k` strings that are best by the model, whose scores are at least `floor`. What is worse than they are by
    // every measure is left out by the runs that follow.
    void know_best(std::size_t root, std::size_t k, std::size_t beam, double floor, const std::atomic<bool>& stop) {
        const auto inside = inside_scores<MaxSum>(forest_);
        const auto outside = outside_scores<MaxSum>(forest_, inside, root);
        through_.resize(forest_.edges());
        for (std::size_t node = 0; node < forest_.nodes(); ++node)
            for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge)
                through_[edge] = outside[node] + forest_.through(edge, inside);
        needed_ = rounded_down(floor);
        const std::size_t found = search(root, 1, 0, k, beam, stop);
        for (std::size_t rank = 0; rank < found && found >= k; ++rank) {
            const Item& item = at(root, static_cast<std::int32_t>(rank));
            known_best_.push_back({item.score, gains_.of(item.string, root)});
        }
    }

    // The `k` best strings of the root by score_weight * score + gain_weight * B, each with its best derivation.
    std::size_t run(std::size_t root, double score_weight, double gain_weight, std::size_t k, std::size_t beam,
                    const std::atomic<bool>& stop) {
        needed_ = no_score;
        // Twice: what is left after the first time writes strings of fewer different lengths.
        for (int time = 0; time < 2 && score_weight > 0 && !known_best_.empty(); ++time) {
            double least = std::numeric_limits<double>::infinity();
            for (const auto& [score, gain] : known_best_) least = std::min(least, score_weight * score + gain_weight * gain);
            const Extent extremes = written_by(root);
            const auto [low, high] = gains_.bounds(extremes.least_words, extremes.most_words, extremes.most_matched, root);
            const double most = gain_weight > 0 ? gain_weight * high : gain_weight < 0 ? gain_weight * low : 0;
            needed_ = rounded_down((least - most) / score_weight);
        }
        return search(root, score_weight, gain_weight, k, beam, stop);
    }

    void append(std::size_t root, std::size_t rank, std::vector<std::int32_t>& edges) const {
        unfold(Place{static_cast<std::int32_t>(root), static_cast<std::int32_t>(rank)}, [&](Place place, std::vector<Place>& stack) {
            const Item& item = at(static_cast<std::size_t>(place.node), place.rank);
            const auto edge = static_cast<std::size_t>(item.edge);
            for (int t = forest_.arity(edge); t-- > 0;) stack.push_back({forest_.tail(edge, t), item.ranks[t]});
            return item.edge;
        }, edges);
    }

    double score(std::size_t root, std::size_t rank) const { return at(root, static_cast<std::int32_t>(rank)).score; }
    double value(std::size_t root, std::size_t rank) const { return at(root, static_cast<std::int32_t>(rank)).value; }
    const String& string(std::size_t root, std::size_t rank) const { return at(root, static_cast<std::int32_t>(rank)).string; }

private:
    struct Item {
        String string;
        double score, value;
        std::int32_t edge, ranks[2];
    };

    // Better values first, then lower edges and ranks, so that ties are settled the same way always.
    static bool worse(const Item& a, const Item& b) {
        if (a.value != b.value) return a.value < b.value;
        return std::tie(a.edge, a.ranks[0], a.ranks[1]) > std::tie(b.edge, b.ranks[0], b.ranks[1]);
    }

    // Templates as words between tails: `runs_` of words by number, tails as -1 and -2.
    void spell(const Templates& templates, Words word_ids) {
        template_ids_ = view(templates.ids);
        for (std::size_t t = 0; t < templates.rows->size(); ++t) {
            bool in_run = false;
            Extent& extent = of_templates_.emplace_back();
            for (const std::int32_t symbol : (*templates.rows)[t]) {
                if (symbol < 0) {
                    parts_.push_back(symbol);
                } else {
                    const String word = matching_.word(symbol, word_ids[static_cast<std::size_t>(symbol)]);
                    extent.append({1, 1, double(word.matches[0])});
                    if (in_run) {
                        matching_.append(runs_.back(), word);
                    } else {
                        parts_.push_back(static_cast<std::int32_t>(runs_.size()));
                        runs_.push_back(word);
                    }
                }
                in_run = symbol >= 0;
            }
            part_offsets_.push_back(parts_.size());
        }
    }

    const Item& at(std::size_t node, std::int32_t rank) const { return items_[first_item_[node] + static_cast<std::size_t>(rank)]; }
    std::size_t count(std::int32_t node) const {
        return first_item_[static_cast<std::size_t>(node) + 1] - first_item_[static_cast<std::size_t>(node)];
    }

    static double rounded_down(double score) { return std::isnan(score) ? no_score : score - 1e-9 * (1 + std::abs(score)); }

    std::size_t search(std::size_t root, double score_weight, double gain_weight, std::size_t k, std::size_t beam,
                       const std::atomic<bool>& stop) {
        score_weight_ = score_weight;
        gain_weight_ = gain_weight;
        items_.clear();
        first_item_.assign(forest_.nodes() + 1, 0);
        for (std::size_t node = 0; node <= root; ++node) {
            heed(stop);
            first_item_[node] = items_.size();
            if (!around_.used[node]) continue;
            if (node == root)
                expand(node, std::max(k, beam), patience_at_root);
            else
                expand(node, beam, patience);
        }
        return std::min(k, items_.size() - first_item_[root]);
    }

    // Whether the best derivation with an edge scores as much as is needed to be among the best; without it, nothing does.
    bool good_enough(std::size_t edge) const { return through_.empty() || through_[edge] >= needed_; }

    // Whether it also has tails that are.
    bool promising(std::size_t edge) const {
        if (!good_enough(edge)) return false;
        for (int k = 0; k < forest_.arity(edge); ++k)
            if (count(forest_.tail(edge, k)) == 0) return false;
        return true;
    }

    // What the derivations of the root write that are good enough.
    Extent written_by(std::size_t root) const {
        std::vector<Extent> found(forest_.nodes());
        for (std::size_t node = 0; node <= root; ++node) {
            bool first = true;
            for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge) {
                if (!good_enough(edge) || !around_.usable(forest_, edge)) continue;
                Extent sum = of_templates_[static_cast<std::size_t>(template_ids_[edge])];
                for (int k = 0; k < forest_.arity(edge); ++k) sum.append(found[static_cast<std::size_t>(forest_.tail(edge, k))]);
                if (first)
                    found[node] = sum;
                else
                    found[node].widen(sum);
                first = false;
            }
        }
        return found[root];
    }

    Item combined(std::size_t node, std::size_t edge, std::int32_t first, std::int32_t second) {
        Item item{{}, forest_.scores[edge], 0, static_cast<std::int32_t>(edge), {first, second}};
        const auto id = static_cast<std::size_t>(template_ids_[edge]);
        bool begun = false;
        for (std::size_t p = part_offsets_[id]; p < part_offsets_[id + 1]; ++p) {
            const int k = -1 - parts_[p];
            const Item* tail = k < 0 ? nullptr : &at(static_cast<std::size_t>(forest_.tail(edge, k)), item.ranks[k]);
            const String& part = tail == nullptr ? runs_[static_cast<std::size_t>(parts_[p])] : tail->string;
            if (tail != nullptr) item.score += tail->score;
            if (begun)
                matching_.append(item.string, part);
            else
                item.string = part;
            begun = true;
        }
        item.value = score_weight_ * item.score + (gain_weight_ == 0 ? 0 : gain_weight_ * gains_.of(item.string, node));
        return item;
    }

    // Finds the best derivations of a node among those that its edges make of the best of their tails: cube pruning. One
    // string is kept once, with the best of its derivations that were met.
    void expand(std::size_t node, std::size_t beam, std::size_t most) {
        candidates_.clear();
        heap_.clear();
        const auto worse_of = [&](std::uint32_t a, std::uint32_t b) { return worse(candidates_[a], candidates_[b]); };
        const auto add = [&](std::size_t edge, std::int32_t first, std::int32_t second) {
            heap_.push_back(static_cast<std::uint32_t>(candidates_.size()));
            candidates_.push_back(combined(node, edge, first, second));
        };
        for (std::size_t edge = forest_.begin(node); edge < forest_.end(node); ++edge)
            if (promising(edge)) add(edge, 0, 0);
        std::ranges::make_heap(heap_, worse_of);
        const std::size_t begin = items_.size();
        known_.restart(std::min<std::size_t>(beam, 64));
        for (std::size_t popped = 0; !heap_.empty() && items_.size() - begin < beam && popped < most * beam; ++popped) {
            std::ranges::pop_heap(heap_, worse_of);
            const std::uint32_t number = heap_.back();
            heap_.pop_back();
            const Item& taken = candidates_[number];
            const auto edge = static_cast<std::size_t>(taken.edge);
            const std::int32_t ranks[2]{taken.ranks[0], taken.ranks[1]};
            KeyTable::Slot& slot = known_.slot(taken.string.hash);
            if (slot.number < 0) {
                known_.put(slot, taken.string.hash, static_cast<std::int32_t>(items_.size() - begin));
                items_.push_back(taken);
            } else if (Item& same = items_[begin + static_cast<std::size_t>(slot.number)]; taken.value > same.value) {
                same = taken;
            }
            // Successors of ranks (i, j) are (i, j + 1) and, only if j = 0, (i + 1, j): every pair is then met once.
            for (int k = forest_.arity(edge); k-- > 0;) {
                if (k == 0 && ranks[1] != 0) continue;
                if (static_cast<std::size_t>(ranks[k]) + 1 >= count(forest_.tail(edge, k))) continue;
                add(edge, ranks[0] + (k == 0), ranks[1] + (k == 1));
                std::ranges::push_heap(heap_, worse_of);
            }
        }
        std::sort(items_.begin() + static_cast<std::ptrdiff_t>(begin), items_.end(), [](const Item& a, const Item& b) { return worse(b, a); });
    }

    // So many times as many candidates are looked at as are kept: the others are the same strings again.
    static constexpr std::size_t patience = 3, patience_at_root = 100;

    const Forest& forest_;
    Matching<orders> matching_;
    const Surroundings& around_;
    Gains& gains_;
    double needed_ = no_score;                            // by a derivation that is looked at
    std::vector<double> through_;                         // the score of the best derivation with each edge
    std::vector<std::pair<double, double>> known_best_;  // scores and gains
    std::vector<Extent> of_templates_;
    Words template_ids_;
    std::vector<String> runs_;
    std::vector<std::int32_t> parts_;
    std::vector<std::size_t> part_offsets_{0};
    double score_weight_ = 1, gain_weight_ = 0;
    std::vector<Item> items_, candidates_;
    std::vector<std::uint32_t> heap_;
    std::vector<std::size_t> first_item_;
    KeyTable known_;
};

auto forest_rescore(const Forest& forest, const Templates& templates, std::size_t root, In2<std::int32_t> spans,
                    const InDocument& sentence, In2<double> objectives, std::size_t k, std::size_t beam, double floor) {
    const std::size_t order = sentence.order();
    std::vector<std::int32_t> edges;
    std::vector<std::int64_t> bounds{0}, lists{0};
    std::vector<double> found_scores, values, counts;
    const auto rescore = [&](auto&& rescoring, const std::atomic<bool>& stop) {
        if (std::isfinite(floor)) rescoring.know_best(root, k, beam, floor, stop);
        for (std::size_t objective = 0; objective < objectives.shape(0); ++objective) {
            const double* weights = objectives.data() + 2 * objective;
            const std::size_t found = rescoring.run(root, weights[0], weights[1], k, beam, stop);
            for (std::size_t rank = 0; rank < found; ++rank) {
                heed(stop);
                rescoring.append(root, rank, edges);
                bounds.push_back(static_cast<std::int64_t>(edges.size()));
                found_scores.push_back(rescoring.score(root, rank));
                values.push_back(rescoring.value(root, rank));
                counts.push_back(rescoring.string(root, rank).words);
                for (std::size_t n = 0; n < order; ++n) counts.push_back(double(rescoring.string(root, rank).matches[n]));
            }
            lists.push_back(static_cast<std::int64_t>(found_scores.size()));
        }
    };
    run_interruptibly([&](const std::atomic<bool>& stop) {
        const Surroundings around(forest, templates, root);
        const ReferenceNGrams ngrams(view(sentence.references->values), view(sentence.references->offsets), order);
        const Words word_ids = view(sentence.word_ids);
        Gains gains(DocumentCounts(view(sentence.document), order), order,
                    words_below(forest, around, spans.data(), root, sentence.source_words), sentence.source_words,
                    sentence.reference_words);
        // Few count more than the usual four orders, and what they count takes room.
        if (order <= 4)
            rescore(Rescoring<4>(forest, templates, ngrams, word_ids, around, gains), stop);
        else
            rescore(Rescoring<highest_order>(forest, templates, ngrams, word_ids, around, gains), stop);
    });
    return together(give(std::move(edges)), give(std::move(bounds)), give(std::move(lists)), give(std::move(found_scores)),
                    give(std::move(values)), give(std::move(counts), order + 1));
}

}  // namespace

void bind_hope(nb::module_& m) {
    bind_record(
        m, "InDocument",
        "A sentence of a document that BLEU is counted in: references, the number of each word among theirs (or below\n"
        "0), and of the document matches and n-grams of each order, words, words of references, and size.",
        Field{"references", &InDocument::references}, Field{"word_ids", &InDocument::word_ids},
        Field{"document", &InDocument::document}, Field{"source_words", &InDocument::source_words},
        Field{"reference_words", &InDocument::reference_words});
    m.def("forest_rescore", &forest_rescore, nb::arg("forest"), nb::arg("templates"), nb::arg("root"), nb::arg("spans"),
          nb::arg("sentence"), nb::arg("objectives"), nb::arg("k"), nb::arg("beam"), nb::arg("floor"),
          "The best derivations by weighted sums of score and BLEU within a document: edges, their offsets, where the list\n"
          "of each objective begins, scores, values, and counts (words, matches of each order).");
}

}  // namespace dragoman::forest
