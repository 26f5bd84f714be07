// Expected gains for minimum Bayes risk: each hypothesis of a sentence against each string of its evidence, for gains
// that count shared n-grams. Strings are read once; after that, a pair costs a few additions.
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "decision/string_lists.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace dragoman::decision {
namespace {

using Count = std::uint16_t;

// Evidence strings that are compared at a time: their counters stay in the first-level cache.
constexpr std::size_t kTile = 1024;
// A token in at least one of so many strings of a tile is a row of zeros and ones, else a list of the strings.
constexpr std::size_t kDense = 8;
constexpr std::size_t kHypothesesPerPoll = 64;

// The k-th occurrence of an n-gram in a string is a token, so that two strings that have an n-gram a and b times share
// min(a, b) of its tokens: clipped counts are sizes of intersections. N-grams are a trie; the next occurrence of a
// token is one more child of it.
class TokenIndex {
public:
    explicit TokenIndex(std::size_t order) : order_(order) { rows_.assign(1, 0); }

    std::size_t size() const { return rows_.size(); }
    std::size_t row(std::int32_t token) const { return rows_[static_cast<std::size_t>(token)]; }  // order - 1

    // Appends the tokens of a string; those that are new are added to the index, or left out.
    void read(Words words, bool add, std::vector<std::int32_t>& tokens) {
        ++strings_;
        for (std::size_t begin = 0; begin < words.size(); ++begin) {
            std::int32_t ngram = 0;
            for (std::size_t n = 0; n < std::min(order_, words.size() - begin); ++n) {
                ngram = child(ngram, words[begin + n], n, add);
                if (ngram < 0) break;
                Last& last = last_[static_cast<std::size_t>(ngram)];
                std::int32_t token = ngram;
                if (last.string == strings_) {
                    if (last.token < 0) continue;
                    token = child(last.token, kAgain, n, add);
                }
                last_[static_cast<std::size_t>(ngram)] = {strings_, token};
                if (token >= 0) tokens.push_back(token);
            }
        }
    }

private:
    static constexpr std::int32_t kAgain = -2;  // no word

    struct Last {
        std::int64_t string = 0;
        std::int32_t token = -1;
    };

    std::int32_t child(std::int32_t parent, std::int32_t symbol, std::size_t row, bool add) {
        const std::uint64_t key = std::uint64_t(std::uint32_t(parent)) << 32 | std::uint32_t(symbol);
        KeyTable::Slot& slot = children_.slot(key);
        if (slot.number >= 0 || !add) return slot.number;
        const auto found = static_cast<std::int32_t>(rows_.size());
        children_.put(slot, key, found);
        rows_.push_back(static_cast<std::uint8_t>(row));
        last_.emplace_back();
        return found;
    }

    std::size_t order_;
    KeyTable children_{2048};
    std::vector<std::uint8_t> rows_;
    std::vector<Last> last_ = std::vector<Last>(1);
    std::int64_t strings_ = 0;
};

// How many n-grams of each order a hypothesis shares with each string of a tile of the evidence. The next hypothesis is
// told by the tokens in which it differs from the one before.
class Overlap {
public:
    Overlap(std::size_t order, const TokenIndex& index) : index_(index), counts_(order * kTile), stamps_(index.size()) {}

    void start(std::span<const std::int32_t> tokens, Bounds bounds, std::size_t first, std::size_t size) {
        size_ = size;
        std::ranges::fill(counts_, Count{0});
        previous_ = {};
        const auto begin = static_cast<std::size_t>(bounds[first]), end = static_cast<std::size_t>(bounds[first + size]);
        first_posting_.assign(index_.size() + 1, 0);
        for (std::size_t at = begin; at < end; ++at) ++first_posting_[static_cast<std::size_t>(tokens[at]) + 1];
        dense_.assign(index_.size(), -1);
        std::size_t rows = 0;
        for (std::size_t token = 0; token < index_.size(); ++token)
            if (static_cast<std::size_t>(first_posting_[token + 1]) * kDense >= size) dense_[token] = static_cast<std::int32_t>(rows++);
        std::partial_sum(first_posting_.begin(), first_posting_.end(), first_posting_.begin());
        rows_.assign(rows * size, 0);
        postings_.resize(end - begin);
        std::vector<std::int32_t> next(first_posting_.begin(), first_posting_.end() - 1);
        for (std::size_t e = 0; e < size; ++e)
            for (auto at = bounds[first + e]; at < bounds[first + e + 1]; ++at) {
                const auto token = static_cast<std::size_t>(tokens[static_cast<std::size_t>(at)]);
                postings_[static_cast<std::size_t>(next[token]++)] = static_cast<std::uint16_t>(e);
                if (dense_[token] >= 0) rows_[static_cast<std::size_t>(dense_[token]) * size + e] = 1;
            }
    }

    void move_to(std::span<const std::int32_t> tokens) {
        ++stamp_;
        for (const std::int32_t token : previous_) stamps_[static_cast<std::size_t>(token)] = stamp_;
        for (const std::int32_t token : tokens) {
            std::int64_t& stamp = stamps_[static_cast<std::size_t>(token)];
            if (stamp != stamp_) change<1>(token);
            stamp = -stamp_;
        }
        for (const std::int32_t token : previous_)
            if (stamps_[static_cast<std::size_t>(token)] == stamp_) change<-1>(token);
        previous_ = tokens;
    }

    const Count* counts(std::size_t row) const { return counts_.data() + row * kTile; }
    std::size_t size() const { return size_; }

private:
    template <int sign>
    void change(std::int32_t token) {
        Count* counts = counts_.data() + index_.row(token) * kTile;
        const auto at = static_cast<std::size_t>(token);
        if (dense_[at] >= 0) {
            const Count* row = rows_.data() + static_cast<std::size_t>(dense_[at]) * size_;
            for (std::size_t e = 0; e < size_; ++e) counts[e] = static_cast<Count>(counts[e] + sign * row[e]);
        } else {
            for (auto p = first_posting_[at]; p < first_posting_[at + 1]; ++p) {
                Count& count = counts[postings_[static_cast<std::size_t>(p)]];
                count = static_cast<Count>(count + sign);
            }
        }
    }

    const TokenIndex& index_;
    std::size_t size_ = 0;
    std::vector<Count> counts_, rows_;
    std::vector<std::int32_t> first_posting_, dense_;
    std::vector<std::uint16_t> postings_;
    std::vector<std::int64_t> stamps_;
    std::int64_t stamp_ = 0;
    std::span<const std::int32_t> previous_;
};

// Sentence BLEU with `addend` added to matches and n-grams of orders above 1 (Lin & Och 2004). If that is 0, the first
// order without a match counts as `unmatched` matches, and each further one as `decay` times the one before.
class Bleu {
public:
    Bleu(std::size_t order, double addend, double unmatched, double decay)
        : order_(order), addend_(addend), unmatched_(unmatched), decay_(decay) {}

    void start(const StringLists& evidence, std::size_t first, std::size_t size) {
        lengths_.clear();
        for (std::size_t e = 0; e < size; ++e) lengths_.push_back(static_cast<double>(evidence[first + e].size()));
        brevity_.clear();
    }

    // The gain against each string of the tile.
    void gains(std::size_t length, const Overlap& overlap, double* out) {
        if (addend_ > 0) add(length, overlap, out);
        else replace(length, overlap, out);
    }

private:
    void add(std::size_t length, const Overlap& overlap, double* out) {
        const std::size_t size = overlap.size();
        double possible = 1;
        for (std::size_t n = 0; n < order_; ++n) possible *= (length > n ? static_cast<double>(length - n) : 0.0) + (n ? addend_ : 0.0);
        for (std::size_t e = 0; e < size; ++e) out[e] = overlap.counts(0)[e];
        for (std::size_t n = 1; n < order_; ++n) {
            const Count* counts = overlap.counts(n);
            for (std::size_t e = 0; e < size; ++e) out[e] *= counts[e] + addend_;
        }
        if (length == 0) possible = 1;  // no match, no gain
        finish(length, order_, possible, size, out);
    }

    void replace(std::size_t length, const Overlap& overlap, double* out) {
        const std::size_t size = overlap.size(), used = std::min(order_, length);
        std::fill(out, out + size, used ? 1.0 : 0.0);
        std::fill(unmatched_now_.begin(), unmatched_now_.begin() + static_cast<std::ptrdiff_t>(size), unmatched_);
        double possible = 1;
        for (std::size_t n = 0; n < used; ++n) {
            possible *= static_cast<double>(length - n);
            const Count* counts = overlap.counts(n);
            for (std::size_t e = 0; e < size; ++e) {
                out[e] *= counts[e] ? counts[e] : unmatched_now_[e];
                unmatched_now_[e] *= counts[e] ? 1.0 : decay_;
            }
        }
        for (std::size_t e = 0; used && e < size; ++e) out[e] = overlap.counts(0)[e] ? out[e] : 0.0;
        finish(length, std::max<std::size_t>(used, 1), possible, size, out);
    }

    // Products of matches to gains: the geometric mean of precisions, times the brevity penalty.
    void finish(std::size_t length, std::size_t orders, double possible, std::size_t size, double* out) {
        const auto& penalty = brevity(length);
        if (orders == 4) {
            for (std::size_t e = 0; e < size; ++e) out[e] = std::sqrt(std::sqrt(out[e] / possible)) * penalty[e];
        } else {
            for (std::size_t e = 0; e < size; ++e) out[e] = std::pow(out[e] / possible, 1 / static_cast<double>(orders)) * penalty[e];
        }
    }

    // 100 times the brevity penalty against each string of the tile, for hypotheses of this length.
    const std::vector<double>& brevity(std::size_t length) {
        auto& row = brevity_[length];
        if (row.empty())
            for (const double wanted : lengths_)
                row.push_back(100 * (static_cast<double>(length) < wanted ? std::exp(1 - wanted / static_cast<double>(length)) : 1.0));
        return row;
    }

    std::size_t order_;
    double addend_, unmatched_, decay_;
    std::array<double, kTile> unmatched_now_{};
    std::vector<double> lengths_;
    std::map<std::size_t, std::vector<double>> brevity_;
};

// chrF: F of the average precision and the average recall over the orders that both strings have.
class Chrf {
public:
    Chrf(std::size_t order, double beta) : order_(order), beta_(beta * beta) {}

    void start(const StringLists& evidence, std::size_t first, std::size_t size) {
        lengths_.clear();
        for (std::size_t e = 0; e < size; ++e) lengths_.push_back(evidence[first + e].size());
        shares_.assign(order_ * kTile, 0.0);
        for (std::size_t n = 0; n < order_; ++n)
            for (std::size_t e = 0; e < size; ++e)
                if (lengths_[e] > n) shares_[n * kTile + e] = 1 / static_cast<double>(lengths_[e] - n);
    }

    void gains(std::size_t length, const Overlap& overlap, double* out) {
        const std::size_t size = overlap.size();
        precision_.fill(0);
        recall_.fill(0);
        for (std::size_t n = 0; n < std::min(order_, length); ++n) {
            const Count* counts = overlap.counts(n);
            const double share = 1 / static_cast<double>(length - n);
            const double* shares = shares_.data() + n * kTile;
            for (std::size_t e = 0; e < size; ++e) {
                precision_[e] += counts[e] * share;
                recall_[e] += counts[e] * shares[e];
            }
        }
        for (std::size_t e = 0; e < size; ++e) {
            // F of averages over k orders is F of the sums, divided by k.
            const double orders = static_cast<double>(std::min({order_, length, lengths_[e]}));
            const double sum = orders * (beta_ * precision_[e] + recall_[e]);
            out[e] = sum > 0 ? 100 * (1 + beta_) * precision_[e] * recall_[e] / sum : 0.0;
        }
    }

private:
    std::size_t order_;
    double beta_;
    std::vector<std::size_t> lengths_;
    std::vector<double> shares_;
    std::array<double, kTile> precision_{}, recall_{};
};

// The same order of summation whatever the compiler makes of it, and four chains of additions instead of one.
double dot(const double* a, const double* b, std::size_t size) {
    std::array<double, 4> sums{};
    for (std::size_t i = 0; i < size; ++i) sums[i % 4] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// One sentence: hypotheses [first, last), evidence [evidence_first, evidence_last).
template <class Gain>
void expect(Gain gain, std::size_t order, const StringLists& hypotheses, std::size_t first, std::size_t last,
            const StringLists& evidence, std::size_t evidence_first, std::size_t evidence_last, const double* weights,
            double* expected, float* matrix, const std::atomic<bool>& stop) {
    TokenIndex index(order);
    std::vector<std::int32_t> tokens, evidence_tokens;
    std::vector<std::int64_t> bounds{0}, evidence_bounds{0};
    for (std::size_t e = evidence_first; e < evidence_last; ++e) {
        index.read(evidence[e], true, evidence_tokens);
        evidence_bounds.push_back(static_cast<std::int64_t>(evidence_tokens.size()));
    }
    for (std::size_t h = first; h < last; ++h) {
        index.read(hypotheses[h], false, tokens);
        bounds.push_back(static_cast<std::int64_t>(tokens.size()));
    }
    // Neighbours in alphabetical order have much in common.
    std::vector<std::size_t> order_of(last - first);
    std::iota(order_of.begin(), order_of.end(), std::size_t{0});
    std::ranges::stable_sort(order_of, [&](std::size_t a, std::size_t b) {
        return std::ranges::lexicographical_compare(hypotheses[first + a], hypotheses[first + b]);
    });
    Overlap overlap(order, index);
    std::vector<double> row(kTile);
    const std::size_t width = evidence_last - evidence_first;
    for (std::size_t tile = 0; tile < width; tile += kTile) {
        const std::size_t size = std::min(kTile, width - tile);
        overlap.start(evidence_tokens, evidence_bounds, tile, size);
        gain.start(evidence, evidence_first + tile, size);
        for (std::size_t i = 0; i < order_of.size(); ++i) {
            if (i % kHypothesesPerPoll == 0 && stop) return;
            const std::size_t h = order_of[i];
            const auto begin = static_cast<std::size_t>(bounds[h]), end = static_cast<std::size_t>(bounds[h + 1]);
            overlap.move_to(std::span<const std::int32_t>(tokens).subspan(begin, end - begin));
            gain.gains(hypotheses[first + h].size(), overlap, row.data());
            expected[h] += dot(row.data(), weights + tile, size);
            if (matrix)
                for (std::size_t e = 0; e < size; ++e) matrix[h * width + tile + e] = static_cast<float>(row[e]);
        }
    }
}

template <class Gain>
auto expected_gains(Gain gain, std::size_t order, const StringLists& hypotheses, const StringLists& evidence,
                    In1<double> weights, bool matrix, int threads, Progress progress) {
    require(evidence.count() == hypotheses.count() && weights.size() == evidence.strings->size(),
            "sentences need evidence, and its strings a weight each");
    const std::size_t count = hypotheses.count();
    const auto size = [](const StringLists& lists, std::size_t s) { return lists.end(s) - lists.begin(s); };
    std::vector<double> expected(hypotheses.strings->size(), 0.0);
    std::vector<std::size_t> cells(count + 1, 0);
    for (std::size_t s = 0; matrix && s < count; ++s) cells[s + 1] = cells[s] + size(hypotheses, s) * size(evidence, s);
    std::vector<float> gains(cells[count], 0.0F);
    run_blocks(count, threads, progress, [&](std::size_t s, const std::atomic<bool>& stop) {
        expect(gain, order, hypotheses, hypotheses.begin(s), hypotheses.end(s), evidence, evidence.begin(s),
               evidence.end(s), weights.data() + evidence.begin(s), expected.data() + hypotheses.begin(s),
               matrix ? gains.data() + cells[s] : nullptr, stop);
    });
    return together(give(std::move(expected)), give(std::move(gains)));
}

auto expected_bleu(const StringLists& hypotheses, const StringLists& evidence, In1<double> weights, std::size_t order,
                   double addend, double unmatched, double decay, bool matrix, int threads, Progress progress) {
    return expected_gains(Bleu(order, addend, unmatched, decay), order, hypotheses, evidence, weights, matrix, threads, progress);
}

auto expected_chrf(const StringLists& hypotheses, const StringLists& evidence, In1<double> weights, std::size_t order,
                   double beta, bool matrix, int threads, Progress progress) {
    return expected_gains(Chrf(order, beta), order, hypotheses, evidence, weights, matrix, threads, progress);
}

}  // namespace

void bind_expected_gain(nb::module_& m) {
    m.def("expected_bleu", &expected_bleu, nb::arg("hypotheses"), nb::arg("evidence"), nb::arg("weights"),
          nb::arg("order"), nb::arg("addend"), nb::arg("unmatched") = 0.0, nb::arg("decay") = 1.0,
          nb::arg("matrix") = false, nb::arg("threads") = 1, nb::arg("progress") = nb::none(),
          "Sentence BLEU of each hypothesis against the strings of its sentence's evidence, summed with their\n"
          "weights.\n\n"
          "`addend` is added to matches and n-grams of orders above 1. If it is 0, orders that a short hypothesis\n"
          "lacks are left out, the first order without a match counts as `unmatched` matches, and each further one\n"
          "as `decay` times the one before. With `matrix` also all gains: those of a\n"
          "sentence are a matrix of hypotheses and evidence, row by row. Words must not be negative, and strings\n"
          "below 65,536 words.");
    m.def("expected_chrf", &expected_chrf, nb::arg("hypotheses"), nb::arg("evidence"), nb::arg("weights"),
          nb::arg("order"), nb::arg("beta"), nb::arg("matrix") = false, nb::arg("threads") = 1,
          nb::arg("progress") = nb::none(), "The same for chrF; words are characters here.");
}

}  // namespace dragoman::decision
