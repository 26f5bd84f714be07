// The smallest change of weights that separates better from worse: min |w' - w|²/2 + C Σ slack, such that
// w' · a_i + slack_i >= w · a_i + b_i for vectors a_i and what they lack, b_i.
#pragma once

#include "sampling/phrase/learnt_model.hpp"

namespace dragoman::sampling::phrase {

struct Constraint {
    SparseVector vector;
    double lack;  // by how much the weights violate it
};

inline double dot(const SparseVector& one, const SparseVector& other) {
    double sum = 0;
    for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        if (one[i].first == other[j].first)
            sum += one[i++].second * other[j++].second;
        else if (one[i].first < other[j].first)
            ++i;
        else
            ++j;
    }
    return sum;
}

// Hildreth's algorithm: one dual variable after the other becomes what is best for it, in [0, C], until all stay as they
// are. With one constraint, that is min(b / |a|², C). Constraints without a vector get 0.
inline std::vector<double> hildreth(std::span<const Constraint> constraints, double c) {
    constexpr int kRounds = 1000;
    constexpr double kTolerance = 1e-12;
    const std::size_t n = constraints.size();
    std::vector<double> duals(n, 0.0), products(n * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) products[i * n + j] = dot(constraints[i].vector, constraints[j].vector);
    for (int round = 0; round < kRounds; ++round) {
        double moved = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double squared = products[i * n + i];
            if (!(squared > 0)) continue;
            double lack = constraints[i].lack;
            for (std::size_t j = 0; j < n; ++j)
                if (j != i) lack -= duals[j] * products[i * n + j];
            const double best = std::clamp(lack / squared, 0.0, c);
            moved = std::max(moved, std::abs(best - duals[i]));
            duals[i] = best;
        }
        if (moved <= kTolerance * c) break;
    }
    return duals;
}

}  // namespace dragoman::sampling::phrase
