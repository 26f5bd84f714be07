// The vocabulary of every kernel: typed, contiguous arrays in; arrays that own their memory out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dragoman {

namespace nb = nanobind;

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<const T> view(const In1<T>& array) {
    return {array.data(), array.shape(0)};
}

// An array among the fields of a Python tuple, never converted.
template <class T>
In1<T> array_at(const nb::tuple& arrays, std::size_t at) {
    return nb::cast<In1<T>>(arrays[at], false);
}

// Hands a vector's memory to NumPy without a copy.
template <class T>
Out1<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out1<T>(owned->data(), {owned->size()}, owner);
}

template <class T>
Out2<T> give(std::vector<T>&& values, std::size_t columns) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Out2<T>(owned->data(), {columns ? owned->size() / columns : 0, columns}, owner);
}

}  // namespace dragoman
