// What chains do in which order, as Python says it, and how long they may run.
#pragma once

#include "base/parallel.hpp"
#include "base/records.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace dragoman::sampling {

struct Schedule {
    std::size_t chains;
    std::uint64_t seed;
    std::uint64_t first_number;   // of the sentences; random numbers depend on it
    std::array<double, 3> rates;  // of kinds of steps: 0 if it is not used; in a random scan, how often it is
    bool random;                  // visit points in random order, with replacement
    bool per_pass;                // a sample for each operator's pass, not for each scan
    std::int64_t samples, thin;
    Held1<double> burn_in;  // the temperature of each scan before sampling
    double temperature;
    std::int64_t jump_every;  // scans; 0: never
    double forward_share;     // of the jumps that do not come from the lattice
    double max_seconds;
    bool trace;
    bool adaptive_jumps;  // skip the heating, and jump after each scan, where trial scans say that jumps arrive
    bool by_changes;      // of random scans: after burn-in, visit points more often that changed more often in it
    bool whole_scans;     // with a proposal: accept or reject whole scans, not steps

    std::int64_t passes() const { return std::ranges::count_if(rates, [](double rate) { return rate > 0; }); }
    void check() const {
        require(chains > 0 && thin > 0 && samples >= 0, "a schedule needs chains, and samples that are apart");
    }
};

// Says when to stop: at once, by an exception, or in peace when the time is over.
class Watch {
public:
    Watch(const std::atomic<bool>& stop, double seconds) : stop_(stop), start_(Clock::now()), seconds_(seconds) {}

    bool over() {
        heed(stop_);
        // The clock is slower than a step.
        if (!over_ && std::isfinite(seconds_) && ++calls_ % 32 == 0) over_ = elapsed() > seconds_;
        return over_;
    }
    double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    const std::atomic<bool>& stop_;
    Clock::time_point start_;
    double seconds_;
    std::uint32_t calls_ = 0;
    bool over_ = false;
};

}  // namespace dragoman::sampling
