// Threads for kernels: a range is cut into blocks whose number never depends on the number of threads, so that
// whatever is reduced per block is the same for any number of workers. The calling thread watches for Ctrl-C and
// reports progress while the workers run.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace dragoman {

namespace nb = nanobind;

// Called with the share done, now and then; None if nobody wants to know.
class Progress : public nb::object {
public:
    static constexpr auto Name = nb::detail::const_name("collections.abc.Callable[[float], None]");
    static bool check_(nb::handle) { return true; }
    using nb::object::object;
};

// What is to be done for each block: a reference to a callable, which must outlive it. A block that may take long takes a
// second argument, the flag that says to stop: work(block, stop).
class BlockWork {
public:
    template <class Work>
    BlockWork(Work&& work)
        : work_(const_cast<void*>(static_cast<const void*>(std::addressof(work)))),
          run_([](void* object, std::size_t block, const std::atomic<bool>& stop) {
              auto& callable = *static_cast<std::remove_reference_t<Work>*>(object);
              if constexpr (std::is_invocable_v<Work&, std::size_t, const std::atomic<bool>&>)
                  callable(block, stop);
              else
                  callable(block);
          }) {}

    void operator()(std::size_t block, const std::atomic<bool>& stop) const { run_(work_, block, stop); }

private:
    void* work_;
    void (*run_)(void*, std::size_t, const std::atomic<bool>&);
};

// Runs work(block) for block in [0, blocks) on `threads` threads. Called with the interpreter lock held; releases it
// while workers run. `progress`, if callable, is called with the share done, about ten times a second. An exception
// in a worker, in `progress`, or a signal handler stops all workers and is raised here.
void run_blocks(std::size_t blocks, int threads, nb::handle progress, BlockWork work);

// The same for work that is not cut into blocks: work(stop) runs on one thread.
template <class Work>
void run_interruptibly(Work&& work) {
    run_blocks(1, 1, nb::none(), [&](std::size_t, const std::atomic<bool>& stop) { work(stop); });
}

// Ends work that somebody has interrupted.
inline void heed(const std::atomic<bool>& stop) {
    if (stop.load(std::memory_order_relaxed)) throw std::runtime_error("stopped");
}

}  // namespace dragoman
