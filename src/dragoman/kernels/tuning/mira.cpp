// Batch MIRA on n-best lists (Cherry & Foster 2012): one pass over the sentences, with hope, fear and pseudo-document.
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "tuning/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dragoman::tuning {
namespace {

// Corpus BLEU, from 0 to 1, of the sum of two vectors of statistics. `columns` says where in them the matches of each
// order, the totals of each order, the length and the reference length are.
double bleu_of_sum(const double* a, const double* b, std::span<const std::int64_t> columns) {
    const std::size_t orders = (columns.size() - 2) / 2;
    auto count = [&](std::size_t k) { return a[columns[k]] + b[columns[k]]; };
    double matches = 1, totals = 1;
    for (std::size_t n = 0; n < orders; ++n) matches *= count(n), totals *= count(orders + n);
    if (!(matches > 0) || !(totals > 0)) return 0;
    const double ratio = matches / totals;
    const double mean = orders == 4 ? std::sqrt(std::sqrt(ratio)) : std::pow(ratio, 1.0 / double(orders));
    const double length = count(2 * orders), reference = count(2 * orders + 1);
    return length < reference ? mean * std::exp(1 - reference / length) : mean;
}

// Candidates of a sentence often share their statistics, which then need scoring only once: `of_rows[row]` is the
// number of a candidate's statistics among all distinct ones; those of sentence s are from offsets[s] on.
struct Kinds {
    Held1<std::int64_t> of_rows, offsets;
    Held2<double> statistics;          // of each kind; the last column is the sentence's size
    Held1<std::int64_t> bleu_columns;  // as `bleu_of_sum` has them, or none

    void check() const {
        require(bounds_rows(view(offsets), statistics.shape(0)), "the bounds of kinds do not fit their statistics");
    }
};

auto distinct_statistics(In1<std::int64_t> sentences, In2<double> statistics) {
    const auto sentence = view(sentences);
    const std::size_t width = statistics.shape(1), rows = statistics.shape(0);
    const double* data = statistics.data();
    std::vector<std::int64_t> kinds(rows), firsts, offsets{0};
    {
        nb::gil_scoped_release release;
        std::vector<std::int64_t> slots;
        for (std::size_t s = 0; s + 1 < sentence.size(); ++s) {
            slots.assign(table_size(static_cast<std::size_t>(sentence[s + 1] - sentence[s])), -1);
            for (auto row = sentence[s]; row < sentence[s + 1]; ++row) {
                const double* values = data + static_cast<std::size_t>(row) * width;
                std::uint64_t hash = 0;
                for (std::size_t k = 0; k < width; ++k) hash = mix(hash * 0x9e3779b97f4a7c15ULL + std::bit_cast<std::uint64_t>(values[k]));
                const std::size_t at = probe(hash, slots.size(), [&](std::size_t slot) {
                    return slots[slot] < 0 || std::equal(values, values + width, data + static_cast<std::size_t>(firsts[slots[slot]]) * width);
                });
                if (slots[at] < 0) {
                    slots[at] = static_cast<std::int64_t>(firsts.size());
                    firsts.push_back(row);
                }
                kinds[row] = slots[at];
            }
            offsets.push_back(static_cast<std::int64_t>(firsts.size()));
        }
    }
    return together(give(std::move(kinds)), give(std::move(firsts)), give(std::move(offsets)));
}

// Row i + 1 is decay * row i + factor * statistics[i]; row 0 is the start.
auto decayed_sums(In2<double> statistics, In1<double> start, double decay, double factor) {
    const std::size_t rows = statistics.shape(0), width = statistics.shape(1);
    std::vector<double> sums((rows + 1) * width);
    std::copy_n(start.data(), width, sums.begin());
    for (std::size_t i = 0; i < rows * width; ++i) sums[i + width] = decay * sums[i] + factor * statistics.data()[i];
    return give(std::move(sums), width);
}

auto best_rows(const Candidates& candidates, In1<double> weights, int threads) {
    const auto weight = view(weights);
    std::vector<std::int64_t> best(candidates.size());
    constexpr std::size_t kPerBlock = 64;
    run_blocks((best.size() + kPerBlock - 1) / kPerBlock, threads, nb::none(), [&](std::size_t block) {
        for (std::size_t s = block * kPerBlock; s < std::min(best.size(), (block + 1) * kPerBlock); ++s)
            best[s] = static_cast<std::int64_t>(candidates.best(s, weight));
    });
    return give(std::move(best));
}

auto mira_epoch(const Candidates& candidates, const Kinds& kinds, In1<double> gains, In1<std::int64_t> order,
                In1<double> weights, In1<double> drift, In1<double> background, std::int64_t ticks, double C,
                double decay) {
    require(kinds.of_rows.size() == candidates.features->size() && kinds.offsets.size() == candidates.sentences.size(),
            "candidates need a kind each, sentences their bounds");
    const In2<double>& statistics = kinds.statistics;
    const std::size_t width = statistics.shape(1);
    const bool online = kinds.bleu_columns.size() > 0;
    std::vector<double> w(weights.data(), weights.data() + weights.shape(0));
    std::vector<double> drifted(drift.data(), drift.data() + drift.shape(0));
    std::vector<double> document(background.data(), background.data() + width);
    std::vector<double> gain(gains.data(), gains.data() + gains.shape(0));
    double total_loss = 0;
    std::int64_t updates = 0;
    {
        nb::gil_scoped_release release;
        Difference difference(w.size());
        const auto kind = view(kinds.of_rows);
        gain.resize(statistics.shape(0));
        for (const std::int64_t number : view(order)) {
            const auto s = static_cast<std::size_t>(number);
            if (online)  // Chiang et al. (2008), equation 8; the last column is the sentence's size
                for (auto k = kinds.offsets[s]; k < kinds.offsets[s + 1]; ++k) {
                    const double* added = statistics.data() + static_cast<std::size_t>(k) * width;
                    gain[k] = (document[width - 1] + added[width - 1]) *
                              bleu_of_sum(document.data(), added, view(kinds.bleu_columns));
                }
            std::size_t hope = candidates.begin(s), fear = hope;
            double most_hoped = 0, most_feared = 0, hope_score = 0, fear_score = 0;
            for (std::size_t row = hope; row < candidates.end(s); ++row) {
                const double score = candidates.dot(row, w), its_gain = gain[kind[row]];
                if (row == candidates.begin(s) || score + its_gain > most_hoped)
                    most_hoped = score + its_gain, hope = row, hope_score = score;
                if (row == candidates.begin(s) || score - its_gain > most_feared)
                    most_feared = score - its_gain, fear = row, fear_score = score;
            }
            const double cost = gain[kind[hope]] - gain[kind[fear]];
            if (cost > 0) {
                const double loss = cost - (hope_score - fear_score);
                if (loss > 0) {
                    difference.set(candidates, hope, fear);
                    if (difference.square() > 0) {
                        const double step = std::min(C, loss / difference.square());
                        difference.add_to(w, step);
                        difference.add_to(drifted, step * double(ticks));
                        ++updates;
                    }
                    total_loss += loss;
                }
                const double* added = statistics.data() + static_cast<std::size_t>(kind[hope]) * width;
                for (std::size_t k = 0; k < width; ++k) document[k] = decay * document[k] + added[k];
            }
            ++ticks;
        }
    }
    return together(give(std::move(w)), give(std::move(drifted)), give(std::move(document)), updates, total_loss);
}

}  // namespace

void bind_mira(nb::module_& m) {
    bind_record(m, "Candidates", "The candidates of sentences, given by their bounds, with their features.",
                Field{"sentences", &Candidates::sentences}, Field{"features", &Candidates::features});
    bind_record(
        m, "Kinds",
        "Distinct statistics of candidates: the kind of each candidate, where the kinds of each sentence begin, and a\n"
        "row of statistics for each, whose last column is the sentence's size. `bleu_columns` are those of the\n"
        "matches and the totals of each order, of the length and of the reference length.",
        Field{"of_rows", &Kinds::of_rows}, Field{"offsets", &Kinds::offsets}, Field{"statistics", &Kinds::statistics},
        Field{"bleu_columns", &Kinds::bleu_columns});
    m.def("distinct_statistics", &distinct_statistics, nb::arg("sentences"), nb::arg("statistics"),
          "Number the distinct statistics of each sentence: of each row; a row of each; where a sentence's begin.");
    m.def("decayed_sums", &decayed_sums, nb::arg("statistics"), nb::arg("start"), nb::arg("decay"), nb::arg("factor"),
          "Row i + 1 is decay times row i plus factor times statistics[i]; row 0 is the start.");
    m.def("best_rows", &best_rows, nb::arg("candidates"), nb::arg("weights"), nb::arg("threads"),
          "The first row of each sentence that has the highest model score.");
    m.def(
        "mira_epoch", &mira_epoch, nb::arg("candidates"), nb::arg("kinds"), nb::arg("gains"), nb::arg("order"),
        nb::arg("weights"), nb::arg("drift"), nb::arg("background"), nb::arg("ticks"), nb::arg("C"), nb::arg("decay"),
        "One pass of k-best MIRA: new weights, drift and background, number of updates, total loss.\n\n"
        "With columns of BLEU the gains come from BLEU in the pseudo-document, which changes with each sentence;\n"
        "without them `gains` has one for each kind. The average of the weights after each of T sentences is\n"
        "weights - drift / T.");
}

}  // namespace dragoman::tuning
