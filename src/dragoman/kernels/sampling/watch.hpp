// How long a chain may run.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace dragoman::sampling {

// Says when to stop: at once, by an exception, or in peace when the time is over.
class Watch {
public:
    Watch(const std::atomic<bool>& stop, double seconds) : stop_(stop), start_(Clock::now()), seconds_(seconds) {}

    bool over() {
        if (stop_.load(std::memory_order_relaxed)) throw std::runtime_error("stopped");
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
