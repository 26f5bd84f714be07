// MIRA's update for a batch of sentences (Chiang et al. 2008, equations 1 to 5): the quadratic program is solved in its
// dual by sequential minimal optimisation.
#include "tuning/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dragoman::tuning {
namespace {

// One sentence of a batch. The dual has a variable alpha >= 0 for each hypothesis; they sum to C, and
// w' = w + sum of alpha_j (h* - h_j). What counts about a hypothesis is how much it is to be feared, h_j w' - B_j: where
// alpha is positive that must be as high as it gets.
class Example {
public:
    Example(std::vector<std::size_t> rows, std::size_t oracle, std::vector<double> gains, const Candidates& candidates,
            std::vector<double>& scratch, double C)
        : rows_(std::move(rows)), gains_(std::move(gains)), alpha_(rows_.size()), before_(rows_.size()),
          fears_(rows_.size()), products_(rows_.size() * rows_.size()) {
        alpha_[oracle] = C;
        for (std::size_t j = 0; j < rows_.size(); ++j) {
            candidates.each(rows_[j], [&](std::size_t feature, double value) { scratch[feature] += value; });
            for (std::size_t k = j; k < rows_.size(); ++k)
                product(j, k) = product(k, j) = candidates.dot(rows_[k], scratch);
            candidates.each(rows_[j], [&](std::size_t feature, double) { scratch[feature] = 0; });
        }
    }

    // Looks at the hypotheses under new weights; returns by how much this sentence keeps the dual from its optimum.
    double look(const Candidates& candidates, std::span<const double> weights) {
        double highest = -std::numeric_limits<double>::infinity(), gap = 0;
        for (std::size_t j = 0; j < rows_.size(); ++j) {
            fears_[j] = candidates.dot(rows_[j], weights) - gains_[j];
            highest = std::max(highest, fears_[j]);
        }
        for (std::size_t j = 0; j < rows_.size(); ++j) gap += alpha_[j] * (highest - fears_[j]);
        return gap;
    }

    // Moves weight between the two hypotheses that violate optimality most, until this sentence is content.
    void improve(const Candidates& candidates, std::span<double> weights, double tolerance) {
        before_ = alpha_;
        for (std::size_t step = 0; step < 20 * rows_.size(); ++step) {
            std::size_t up = 0, down = rows_.size();
            for (std::size_t j = 0; j < rows_.size(); ++j) {
                if (fears_[j] > fears_[up]) up = j;
                if (alpha_[j] > 0 && (down == rows_.size() || fears_[j] < fears_[down])) down = j;
            }
            const double slope = fears_[up] - fears_[down];
            if (!(slope > tolerance)) break;
            // Equation 5: an unbounded step where the two have the same features.
            const double square = product(up, up) + product(down, down) - 2 * product(up, down);
            const double delta = square > 0 ? std::min(alpha_[down], slope / square) : alpha_[down];
            alpha_[up] += delta;
            alpha_[down] = delta == alpha_[down] ? 0 : alpha_[down] - delta;
            for (std::size_t j = 0; j < rows_.size(); ++j) fears_[j] += delta * (product(j, down) - product(j, up));
        }
        for (std::size_t j = 0; j < rows_.size(); ++j)
            if (const double change = before_[j] - alpha_[j]; change != 0)
                candidates.each(rows_[j], [&](std::size_t feature, double value) { weights[feature] += change * value; });
    }

private:
    double& product(std::size_t j, std::size_t k) { return products_[j * rows_.size() + k]; }

    std::vector<std::size_t> rows_;
    std::vector<double> gains_, alpha_, before_, fears_, products_;
};

// The `wanted` candidates that have the highest value, the first of equal ones.
template <class Value>
void add_highest(std::vector<std::size_t>& chosen, std::size_t size, std::size_t wanted, Value&& value) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    wanted = std::min(wanted, size);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(), [&](std::size_t a, std::size_t b) {
        const double x = value(a), y = value(b);
        return x != y ? x > y : a < b;
    });
    for (std::size_t i = 0; i < wanted; ++i)
        if (std::ranges::find(chosen, order[i]) == chosen.end()) chosen.push_back(order[i]);
}

struct Solution {
    double gap = 0;
    std::int64_t sweeps = 0;
};

// Changes the weights until no sentence of the batch has anything to say against them.
Solution solve(std::vector<Example>& examples, const Candidates& candidates, std::span<double> weights, double C, double tolerance,
               std::int64_t max_sweeps) {
    Solution solution;
    // The gaps of all sentences under the same weights add up to that between primal and dual objective.
    for (; solution.sweeps < max_sweeps; ++solution.sweeps) {
        solution.gap = 0;
        for (Example& example : examples) solution.gap += example.look(candidates, weights);
        if (solution.gap <= tolerance * C * double(examples.size())) break;
        for (Example& example : examples)
            if (example.look(candidates, weights) > 0) example.improve(candidates, weights, 0.1 * tolerance);
    }
    return solution;
}

auto mira_smo_batch(const Candidates& candidates, In1<std::int64_t> kinds, In1<double> gains, In1<std::int64_t> batch,
                    In1<double> weights, std::int64_t hypotheses, double C, double tolerance, std::int64_t max_sweeps) {
    std::vector<double> w(weights.data(), weights.data() + weights.shape(0));
    std::vector<std::int64_t> best;
    Solution solution;
    {
        nb::gil_scoped_release release;
        std::vector<double> scratch(w.size()), scores, gain;
        std::vector<Example> examples;
        for (const std::int64_t number : view(batch)) {
            const auto s = static_cast<std::size_t>(number);
            const std::size_t begin = candidates.begin(s), size = candidates.end(s) - begin;
            scores.resize(size);
            gain.resize(size);
            for (std::size_t i = 0; i < size; ++i) {
                scores[i] = candidates.dot(begin + i, w);
                gain[i] = gains.data()[kinds.data()[begin + i]];
            }
            // Section 2.4: the best by hope (the first is the oracle), by the model, and by fear.
            std::vector<std::size_t> chosen;
            const auto wanted = static_cast<std::size_t>(hypotheses);
            add_highest(chosen, size, wanted, [&](std::size_t i) { return scores[i] + gain[i]; });
            add_highest(chosen, size, wanted, [&](std::size_t i) { return scores[i]; });
            add_highest(chosen, size, wanted, [&](std::size_t i) { return scores[i] - gain[i]; });
            best.push_back(static_cast<std::int64_t>(begin) + (std::ranges::max_element(scores) - scores.begin()));
            std::vector<double> its_gains;
            for (std::size_t& row : chosen) {
                its_gains.push_back(gain[row]);
                row += begin;
            }
            examples.emplace_back(std::move(chosen), 0, std::move(its_gains), candidates, scratch, C);
        }
        solution = solve(examples, candidates, w, C, tolerance, max_sweeps);
    }
    return together(give(std::move(w)), give(std::move(best)), solution.gap, solution.sweeps);
}

// The same update where the hypotheses have been chosen: all rows of all sentences, of which the first is the oracle.
auto mira_smo_update(const Candidates& candidates, In1<double> gains, In1<double> weights, double C, double tolerance,
                     std::int64_t max_sweeps) {
    std::vector<double> w(weights.data(), weights.data() + weights.shape(0));
    Solution solution;
    {
        nb::gil_scoped_release release;
        std::vector<double> scratch(w.size());
        std::vector<Example> examples;
        for (std::size_t s = 0; s < candidates.size(); ++s) {
            std::vector<std::size_t> rows(candidates.end(s) - candidates.begin(s));
            std::iota(rows.begin(), rows.end(), candidates.begin(s));
            std::vector<double> its_gains(gains.data() + candidates.begin(s), gains.data() + candidates.end(s));
            examples.emplace_back(std::move(rows), 0, std::move(its_gains), candidates, scratch, C);
        }
        solution = solve(examples, candidates, w, C, tolerance, max_sweeps);
    }
    return together(give(std::move(w)), solution.gap, solution.sweeps);
}

}  // namespace

void bind_mira_smo(nb::module_& m) {
    m.def("mira_smo_batch", &mira_smo_batch, nb::arg("candidates"), nb::arg("kinds"), nb::arg("gains"),
          nb::arg("batch"), nb::arg("weights"), nb::arg("hypotheses"), nb::arg("C"), nb::arg("tolerance"),
          nb::arg("max_sweeps"),
          "MIRA's update for a batch of sentences: new weights, best rows under the old ones, duality gap, sweeps.");
    m.def("mira_smo_update", &mira_smo_update, nb::arg("candidates"), nb::arg("gains"), nb::arg("weights"),
          nb::arg("C"), nb::arg("tolerance"), nb::arg("max_sweeps"),
          "MIRA's update for given hypotheses, of which the first of each sentence is the oracle: new weights, duality\n"
          "gap, sweeps.");
}

}  // namespace dragoman::tuning
