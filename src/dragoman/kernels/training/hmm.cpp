// The hidden Markov alignment model (Vogel, Ney & Tillmann 1996) with NULL as in Och & Ney 2003: a state is the last
// given position that was used, or the start, which stands just left of the first. A generated word comes
//     from NULL with probability p0, and the state stays; or
//     from given position i with (1 - p0) q(i | state), and i becomes the state;
//     q(i | k) = u/n + (1 - u) s(i - k) / Σ_i' s(i' - k),
// with weights s of jump widths (long jumps share one weight for each side) and a uniform share u.
#include "base/parallel.hpp"
#include "training/alignment.hpp"

#include <atomic>
#include <cmath>

namespace dragoman::training {
namespace {


struct Jumps {
    Jumps(const In1<double>& weights, double uniform_share) : weight(view(weights)), uniform(uniform_share) {}

    // The jump to position i from state k, where state 0 is the start and state k is position k - 1.
    std::size_t bucket(std::size_t k, std::size_t i) const {
        const auto far = static_cast<std::int64_t>(weight.size() / 2);
        return static_cast<std::size_t>(std::clamp(std::int64_t(i) - std::int64_t(k) + 1, -far, far) + far);
    }

    std::span<const double> weight;
    double uniform;
};

// sum[0..columns) += Σ_r factors[r * stride] × row r of the matrix: where the time goes. Four rows at a time, so that
// the sum is read and written less often.
void add_rows(double* __restrict__ sum, std::size_t columns, const double* __restrict__ matrix, std::size_t rows,
              const double* __restrict__ factors, std::size_t stride) {
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4, matrix += 4 * columns) {
        const double a = factors[r * stride], b = factors[(r + 1) * stride];
        const double c = factors[(r + 2) * stride], d = factors[(r + 3) * stride];
        const double *second = matrix + columns, *third = second + columns, *fourth = third + columns;
        for (std::size_t i = 0; i < columns; ++i)
            sum[i] += (a * matrix[i] + b * second[i]) + (c * third[i] + d * fourth[i]);
    }
    for (; r < rows; ++r, matrix += columns)
        for (std::size_t i = 0; i < columns; ++i) sum[i] += factors[r * stride] * matrix[i];
}

// Everything about one sentence pair. Matrices are row-major; states number n + 1.
class Trellis {
public:
    Trellis(const Cooccurrence& table, std::span<const double> probabilities, const UnsignedRows& cells,
            const Jumps& jumps, double null_probability)
        : table_(table), probabilities_(probabilities), cells_(cells), jumps_(jumps),
          null_probability_(null_probability) {}

    // Looks up the probabilities of sentence pair s; false if it has no cells.
    bool load(std::size_t s) {
        if (cells_[s].empty()) return false;
        words_ = table_.generated(s);
        cell_ = cells_[s].data();
        m_ = words_.size();
        if (n_ != table_.given(s).size()) {
            n_ = table_.given(s).size();
            fill_transitions();
        }
        real_.resize(m_ * n_);
        null_.resize(m_);
        log_scale_ = 0.0;
        for (std::size_t j = 0; j < m_; ++j) load_word(j);
        return true;
    }

    // Forward and backward probabilities, scaled; returns the log likelihood.
    double forward_backward() {
        const std::size_t states = n_ + 1;
        forward_.assign((m_ + 1) * states, 0.0);
        reached_.assign(m_ * n_, 0.0);
        scale_.resize(m_);
        forward_[0] = 1.0;
        double log_likelihood = log_scale_;
        for (std::size_t j = 0; j < m_; ++j) {
            const double* before = &forward_[j * states];
            double* after = &forward_[(j + 1) * states];
            double* reached = &reached_[j * n_];
            add_rows(reached, n_, transition_.data(), states, before, 1);
            double sum = 0.0;
            for (std::size_t k = 0; k < states; ++k) {
                after[k] = null_[j] * before[k] + (k ? real_[j * n_ + k - 1] * reached[k - 1] : 0.0);
                sum += after[k];
            }
            for (std::size_t k = 0; k < states; ++k) after[k] /= sum;
            scale_[j] = sum;
            log_likelihood += std::log(sum);
        }
        backward_.assign((m_ + 1) * states, 0.0);
        std::fill_n(backward_.end() - std::ptrdiff_t(states), states, 1.0);
        for (std::size_t j = m_; j-- > 0;) {
            const double* after = &backward_[(j + 1) * states];
            double* before = &backward_[j * states];
            // From here on, real_ holds what a link of position i is worth to the states that jump there.
            double* worth = &real_[j * n_];
            const double inverse = 1.0 / scale_[j];
            for (std::size_t i = 0; i < n_; ++i) worth[i] *= after[i + 1] * inverse;
            for (std::size_t k = 0; k < states; ++k) before[k] = null_[j] * inverse * after[k];
            add_rows(before, states, transposed_.data(), n_, worth, 1);
        }
        return log_likelihood;
    }

    // After forward_backward: calls count(pair, posterior) for all links, NULL's too.
    template <class Count>
    void each_posterior(Count&& count) const {
        const std::size_t states = n_ + 1;
        for (std::size_t j = 0; j < m_; ++j) {
            const auto row = table_.pair_offsets[words_[j]];
            double null = 0.0;
            for (std::size_t k = 0; k < states; ++k) null += forward_[j * states + k] * backward_[(j + 1) * states + k];
            count(row, null * null_[j] / scale_[j]);
            for (std::size_t at = j * n_; at < (j + 1) * n_; ++at) count(row + cell_[at], reached_[at] * real_[at]);
        }
    }

    // After forward_backward: adds the expected uses of each jump, and the expected chances to use it, each divided by
    // the weight of all that was to be had: s = uses / chances is the step of Hunter (2004) for weights that are
    // normalised over what is available, and never lowers the likelihood.
    void add_jumps(double* uses, double* chances) {
        const std::size_t states = n_ + 1;
        flow_.assign(states * n_, 0.0);
        for (std::size_t k = 0; k < states; ++k) add_rows(&flow_[k * n_], n_, real_.data(), m_, &forward_[k], states);
        for (std::size_t k = 0; k < states; ++k) {
            double departures = 0.0;
            for (std::size_t i = 0; i < n_; ++i) {
                const std::size_t jump = jumps_.bucket(k, i);
                const double used = flow_[k * n_ + i] * (1.0 - jumps_.uniform) * jumps_.weight[jump] / available_[k];
                uses[jump] += used;
                departures += used;
            }
            for (std::size_t i = 0; i < n_; ++i) chances[jumps_.bucket(k, i)] += departures / available_[k];
        }
    }

    // The likeliest alignment: for each generated word a given position, or -1 for NULL, which wins ties.
    void viterbi(std::int32_t* best) {
        const std::size_t states = n_ + 1;
        std::vector<double> before(states), after(states);
        came_from_.assign(m_ * states, 0);  // the state before; a state that came from itself by NULL has ~state
        before[0] = 1.0;
        for (std::size_t j = 0; j < m_; ++j) {
            std::int32_t* from = &came_from_[j * states];
            std::fill(after.begin(), after.end(), 0.0);
            for (std::size_t k = 0; k < states; ++k)
                for (std::size_t i = 0; i < n_; ++i) {
                    const double value = before[k] * transition_[k * n_ + i];
                    if (value > after[i + 1]) {
                        after[i + 1] = value;
                        from[i + 1] = static_cast<std::int32_t>(k);
                    }
                }
            double highest = 0.0;
            for (std::size_t k = 0; k < states; ++k) {
                const double stayed = before[k] * null_[j], moved = k ? after[k] * real_[j * n_ + k - 1] : 0.0;
                after[k] = std::max(stayed, moved);
                if (stayed >= moved) from[k] = ~static_cast<std::int32_t>(k);
                highest = std::max(highest, after[k]);
            }
            for (std::size_t k = 0; k < states; ++k) before[k] = after[k] / highest;
        }
        auto state = static_cast<std::int32_t>(std::ranges::max_element(before) - before.begin());
        for (std::size_t j = m_; j-- > 0;) {
            const std::int32_t from = came_from_[j * states + state];
            best[j] = from < 0 ? -1 : state - 1;
            state = from < 0 ? ~from : from;
        }
    }

private:
    // The probabilities of one generated word, scaled to a largest of 1: as transitions are never zero, no sum over states
    // can vanish.
    void load_word(std::size_t j) {
        const double* row = probabilities_.data() + table_.pair_offsets[words_[j]];
        double* real = &real_[j * n_];
        double highest = null_[j] = null_probability_ * row[0];
        for (std::size_t i = 0; i < n_; ++i) {
            real[i] = (1.0 - null_probability_) * row[cell_[j * n_ + i]];
            highest = std::max(highest, real[i]);
        }
        if (highest > kVanished) {
            null_[j] /= highest;
            for (std::size_t i = 0; i < n_; ++i) real[i] /= highest;
            log_scale_ += std::log(highest);
        } else {
            null_[j] = null_probability_;
            std::fill_n(real, n_, 1.0 - null_probability_);
        }
    }

    void fill_transitions() {
        const std::size_t states = n_ + 1;
        transition_.resize(states * n_);
        transposed_.resize(states * n_);
        available_.assign(states, 0.0);
        for (std::size_t k = 0; k < states; ++k) {
            for (std::size_t i = 0; i < n_; ++i) available_[k] += jumps_.weight[jumps_.bucket(k, i)];
            for (std::size_t i = 0; i < n_; ++i) {
                const double share = jumps_.weight[jumps_.bucket(k, i)] / available_[k];
                const double value = jumps_.uniform / double(n_) + (1.0 - jumps_.uniform) * share;
                transition_[k * n_ + i] = transposed_[i * states + k] = value;
            }
        }
    }

    const Cooccurrence& table_;
    std::span<const double> probabilities_;
    const UnsignedRows& cells_;
    const Jumps& jumps_;
    double null_probability_;

    std::span<const std::int32_t> words_;
    const std::uint32_t* cell_ = nullptr;
    std::size_t m_ = 0, n_ = 0;
    double log_scale_ = 0.0;
    std::vector<double> transition_, transposed_, available_;  // n + 1 states by n positions, and the other way
    std::vector<double> real_, null_;                          // m by n, m
    std::vector<double> forward_, backward_, reached_, scale_, flow_;
    std::vector<std::int32_t> came_from_;
};

// Sums of probabilities that do not depend on the order of adding: 64-bit fixed point, so many units to one.
class FixedPoint {
public:
    FixedPoint(std::size_t values, double unit, bool shared) : sums_(values), unit_(unit), shared_(shared) {}

    void add(std::int64_t at, double probability) {
        const auto units = static_cast<std::int64_t>(probability * unit_ + 0.5);
        if (shared_)
            std::atomic_ref(sums_[at]).fetch_add(units, std::memory_order_relaxed);
        else
            sums_[at] += units;
    }

    std::vector<std::int64_t> take() { return std::move(sums_); }

private:
    std::vector<std::int64_t> sums_;
    double unit_;
    bool shared_;
};

auto hmm_expected_counts(const Cooccurrence& table, const UnsignedRows& cells,
                         In1<std::int64_t> block_bounds, In1<double> probabilities, In1<double> jump_weights,
                         double uniform_share, double null_probability, double unit, int threads, Progress progress) {
    const Jumps jumps(jump_weights, uniform_share);
    const auto bounds = view(block_bounds);
    const std::size_t buckets = jumps.weight.size(), blocks = bounds.size() - 1;
    FixedPoint counts(table.pair_given.size(), unit, threads > 1);
    std::vector<double> log_likelihoods(blocks), uses(blocks * buckets), chances(blocks * buckets);
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        Trellis sentence(table, view(probabilities), cells, jumps, null_probability);
        for (auto s = bounds[block]; s < bounds[block + 1]; ++s) {
            if (!sentence.load(s)) continue;
            log_likelihoods[block] += sentence.forward_backward();
            sentence.each_posterior([&](std::int64_t pair, double posterior) { counts.add(pair, posterior); });
            sentence.add_jumps(&uses[block * buckets], &chances[block * buckets]);
        }
    });
    return together(give(counts.take()), give(std::move(uses), buckets), give(std::move(chances), buckets),
                    give(std::move(log_likelihoods)));
}

auto hmm_viterbi(const Cooccurrence& table, const UnsignedRows& cells,
                 In1<std::int64_t> block_bounds, In1<double> probabilities, In1<double> jump_weights, double uniform_share,
                 double null_probability, int threads, Progress progress) {
    const Jumps jumps(jump_weights, uniform_share);
    const auto bounds = view(block_bounds);
    std::vector<std::int32_t> best(table.tokens(), -1);
    run_blocks(bounds.size() - 1, threads, progress, [&](std::size_t block) {
        Trellis sentence(table, view(probabilities), cells, jumps, null_probability);
        for (auto s = bounds[block]; s < bounds[block + 1]; ++s)
            if (sentence.load(s)) sentence.viterbi(&best[table.generated_text->offsets[s]]);
    });
    return give(std::move(best));
}

}  // namespace

void bind_hmm(nb::module_& m) {
    m.def("hmm_expected_counts", &hmm_expected_counts, nb::arg("cooccurrence"), nb::arg("cells"),
          nb::arg("block_bounds"), nb::arg("probabilities"), nb::arg("jump_weights"), nb::arg("uniform_share"),
          nb::arg("null_probability"), nb::arg("unit"), nb::arg("threads"), nb::arg("progress").none(),
          "E-step of the HMM: counts of pairs in fixed point, as multiples of 1 / `unit`; and of each block of\n"
          "sentence pairs the uses of each jump, chances to use it, and the log likelihood.");
    m.def("hmm_viterbi", &hmm_viterbi, nb::arg("cooccurrence"), nb::arg("cells"), nb::arg("block_bounds"),
          nb::arg("probabilities"), nb::arg("jump_weights"), nb::arg("uniform_share"), nb::arg("null_probability"),
          nb::arg("threads"), nb::arg("progress").none(),
          "For each generated token the given position in the likeliest alignment of its sentence pair, -1 for NULL.");
}

}  // namespace dragoman::training
