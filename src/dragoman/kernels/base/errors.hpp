// What kernels refuse and callers turn into sentences. Python sees each as a class of its own, so that no other error is
// taken for it: an argument that is wrong is our own mistake and stays a plain ValueError.
#pragma once

#include <stdexcept>

namespace dragoman {

// A result would be larger than the caller allows.
struct LimitError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Nodes cannot be brought into an order in which each comes after those it is made of.
struct CycleError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A function that the caller gave breaks its promises: a value that is not a finite number, or no memory.
struct FunctionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace dragoman
