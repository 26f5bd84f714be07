#include "base/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dragoman {

// Called with nothing, now and then; None if nobody wants to be asked.
class Watcher : public nb::object {
public:
    static constexpr auto Name = nb::detail::const_name("collections.abc.Callable[[], None] | None");
    static bool check_(nb::handle) { return true; }
    using nb::object::object;
};

// What the thread that calls kernels wants to be asked while they run; a reference of our own, or null.
static thread_local PyObject* watcher = nullptr;

void run_blocks(std::size_t blocks, int threads, nb::handle progress, BlockWork work) {
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
                work(block, stop);
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
        pool.reserve(wanted);
        try {
            while (pool.size() < wanted) pool.emplace_back(worker);
        } catch (const std::system_error&) {
            // The system gives no more threads: those that there are do all the work, or this one by itself.
            {
                std::lock_guard lock(mutex);
                running -= wanted - std::max<std::size_t>(pool.size(), 1);
            }
            if (pool.empty()) worker();
        }
        std::unique_lock lock(mutex);
        while (running > 0) {
            if (changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) break;
            lock.unlock();
            {
                nb::gil_scoped_acquire acquire;
                if (!raised && PyErr_CheckSignals() != 0) raised = true;
                if (!raised && watcher != nullptr) {
                    PyObject* answer = PyObject_CallNoArgs(watcher);
                    if (answer == nullptr) raised = true;
                    Py_XDECREF(answer);
                }
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

void bind_watching(nb::module_& m) {
    m.def(
        "set_watcher",
        [](Watcher wanted) -> Watcher {
            PyObject* before = watcher;
            watcher = wanted.is_none() ? nullptr : wanted.inc_ref().ptr();
            return before == nullptr ? nb::borrow<Watcher>(nb::none()) : nb::steal<Watcher>(before);
        },
        nb::arg("watcher").none(),
        "Have the kernels that this thread calls ask a function, ten times a second, whether to go on: what it raises "
        "ends them. Returns the one that they asked before.");
}

}  // namespace dragoman
