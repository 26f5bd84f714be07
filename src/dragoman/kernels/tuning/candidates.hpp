// Candidate translations as the tuning kernels see them: those of sentence s are the rows [sentences[s],
// sentences[s + 1]), each a sparse feature vector.
#pragma once

#include "base/records.hpp"

namespace dragoman::tuning {

struct Candidates {
    Held1<std::int64_t> sentences;
    Ref<FeatureRows> features;

    void check() const {
        require(bounds_rows(view(sentences), features->size()), "the bounds of sentences do not fit their candidates");
    }

    std::size_t size() const { return sentences.size() - 1; }
    std::size_t begin(std::size_t sentence) const { return static_cast<std::size_t>(sentences[sentence]); }
    std::size_t end(std::size_t sentence) const { return static_cast<std::size_t>(sentences[sentence + 1]); }

    // Calls on_value(feature, value) for what stands in a row.
    template <class OnValue>
    void each(std::size_t row, OnValue&& on_value) const {
        features->each(row, on_value);
    }

    double dot(std::size_t row, std::span<const double> weights) const { return features->dot(row, weights); }

    // The first row with the highest model score.
    std::size_t best(std::size_t sentence, std::span<const double> weights) const {
        std::size_t best = begin(sentence);
        double highest = dot(best, weights);
        for (std::size_t row = best + 1; row < end(sentence); ++row)
            if (const double score = dot(row, weights); score > highest) highest = score, best = row;
        return best;
    }
};

// Differences of rows, merged over repeated features; keeps a dense vector so that this takes no sorting.
class Difference {
public:
    explicit Difference(std::size_t features) : dense_(features) {}

    void set(const Candidates& candidates, std::size_t plus, std::size_t minus) {
        parts_.clear();
        square_ = 0;
        candidates.each(plus, [&](std::size_t feature, double value) { dense_[feature] += value; });
        candidates.each(minus, [&](std::size_t feature, double value) { dense_[feature] -= value; });
        auto collect = [&](std::size_t feature, double) {
            const double value = dense_[feature];
            if (value == 0) return;
            dense_[feature] = 0;
            square_ += value * value;
            parts_.push_back({feature, value});
        };
        candidates.each(plus, collect);
        candidates.each(minus, collect);
    }

    double square() const { return square_; }

    void add_to(std::span<double> vector, double factor) const {
        for (const Part& part : parts_) vector[part.feature] += factor * part.value;
    }

private:
    struct Part {
        std::size_t feature;
        double value;
    };
    std::vector<double> dense_;
    std::vector<Part> parts_;
    double square_ = 0;
};

}  // namespace dragoman::tuning
