// Threads for kernels: a range is cut into blocks whose number never depends on the number of threads, so that
// whatever is reduced per block is the same for any number of workers. The calling thread watches for Ctrl-C and
// reports progress while the workers run.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace dragoman {

namespace nb = nanobind;

// Runs work(block) for block in [0, blocks) on `threads` threads. Called with the interpreter lock held; releases it
// while workers run. `progress`, if callable, is called with the share done, about ten times a second. An exception
// in a worker, in `progress`, or a signal handler stops all workers and is raised here. A block that may take long takes
// a second argument, the flag that says to stop: work(block, stop).
template <class Work>
void run_blocks(std::size_t blocks, int threads, nb::handle progress, Work&& work) {
    if (blocks == 0) return;
    std::atomic<std::size_t> next{0}, finished{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = std::min<std::size_t>(std::max(threads, 1), blocks);

    auto worker = [&] {
        try {
            for (std::size_t block; !stop && (block = next++) < blocks;) {
                if constexpr (std::is_invocable_v<Work&, std::size_t, const std::atomic<bool>&>)
                    work(block, std::as_const(stop));
                else
                    work(block);
                ++finished;
            }
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
        std::lock_guard lock(mutex);
        --running;
        changed.notify_one();
    };

    bool raised = false;
    {
        nb::gil_scoped_release release;
        std::vector<std::thread> pool;
        const std::size_t wanted = running;
        for (std::size_t i = 0; i < wanted; ++i) pool.emplace_back(worker);
        std::unique_lock lock(mutex);
        while (running > 0) {
            if (changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) break;
            lock.unlock();
            {
                nb::gil_scoped_acquire acquire;
                if (!raised && PyErr_CheckSignals() != 0) raised = true;
                if (!raised && !progress.is_none()) {
                    PyObject* answer = PyObject_CallFunction(progress.ptr(), "d", double(finished) / double(blocks));
                    if (answer == nullptr) raised = true;
                    Py_XDECREF(answer);
                }
                if (raised) stop = true;
            }
            lock.lock();
        }
        lock.unlock();
        for (auto& thread : pool) thread.join();
    }
    if (raised) throw nb::python_error();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace dragoman
