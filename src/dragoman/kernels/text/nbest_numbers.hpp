// Numbers in n-best lists, and what can be wrong with a line.
#pragma once

#include "text/line_format.hpp"

namespace dragoman::text {

// In step with _FAULTS in formats/nbest_lines.py.
struct NBestFault {
    enum {
        line_empty = 1,
        columns_missing,
        not_an_id,
        name_missing,
        value_missing,
        not_a_number,
        not_finite,
        value_count,
        feature_twice,
        not_a_score,
        mark_missing,
        mark_backwards,
    };
};

// A whole token as a number; not_a_number or not_finite if it is none that we take.
int parse_number(Bytes token, double& value);

// A number whose text gives the same double again: with the given decimals if these are enough, else as C++ streams
// print it (printf's %g, six digits) if that is, else with the shortest digits, laid out as %g would.
void write_number(LineWriter& out, double value, int decimals);

}  // namespace dragoman::text
