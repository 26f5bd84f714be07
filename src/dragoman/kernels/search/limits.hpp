// How hard a search of any kind tries, and how it can end.
#pragma once

#include "base/records.hpp"

namespace dragoman::search {

// In step with ALGORITHMS in search/batch.py.
enum Algorithm : int { STACK = 0, CUBE = 1, EXHAUSTIVE = 2, INCREMENTAL = 3 };

struct SearchLimits {
    int algorithm;
    std::int32_t stack_size;  // stack decoding: 0 is no limit
    double threshold;         // something may score so much less than the best of its stack or span
    std::int32_t pop_limit;   // nodes of a stack, or candidates of a span; those of a span that only recombine count a quarter
    std::int64_t max_size;    // nodes and arcs together
    bool keep_all;            // of arcs, not only the best of each node
};

// In step with the outcomes in search/batch.py.
enum class Outcome : std::uint8_t { FOUND = 0, NONE = 1, TOO_LARGE = 2, NOT_FINITE = 3 };

}  // namespace dragoman::search
