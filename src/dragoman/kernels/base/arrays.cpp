#include "base/arrays.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>

namespace dragoman {
namespace {

// Of a format of the buffer protocol: that of a single number in native order.
bool is_of(const char* format, Py_ssize_t size, Element element) {
    if (format == nullptr || format[0] == 0 || format[1] != 0 || size != element.size) return false;
    switch (element.kind) {
        case Element::SIGNED: return std::string_view("bhilq").find(format[0]) != std::string_view::npos;
        case Element::UNSIGNED: return std::string_view("BHILQ").find(format[0]) != std::string_view::npos;
        default: return std::string_view("fd").find(format[0]) != std::string_view::npos;
    }
}

template <class T>
Out<T> given(std::vector<T>&& values, std::size_t dimensions, std::array<std::size_t, 2> shape) {
    auto* const owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const nb::ndarray<nb::numpy, T> array(owned->data(), dimensions, shape.data(), owner);
    return nb::steal<Out<T>>(nb::cast(array).release());
}

}  // namespace

bool find_array(nb::handle source, Element element, const void*& data, std::span<std::size_t> shape) noexcept {
    Py_buffer buffer;
    if (PyObject_GetBuffer(source.ptr(), &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool found = buffer.ndim == static_cast<int>(shape.size()) && is_of(buffer.format, buffer.itemsize, element);
    if (found) {
        data = buffer.buf;
        std::copy_n(buffer.shape, shape.size(), shape.begin());
    }
    PyBuffer_Release(&buffer);
    return found;
}

template <class T>
Out<T> give(std::vector<T>&& values) {
    const std::size_t size = values.size();
    return given(std::move(values), 1, {size, 0});
}

template <class T>
Out<T> give(std::vector<T>&& values, std::size_t columns) {
    const std::size_t size = values.size();
    return given(std::move(values), 2, {columns ? size / columns : 0, columns});
}

#define DRAGOMAN_GIVE(T)                    \
    template Out<T> give(std::vector<T>&&); \
    template Out<T> give(std::vector<T>&&, std::size_t);
DRAGOMAN_GIVE(float)
DRAGOMAN_GIVE(double)
DRAGOMAN_GIVE(std::int32_t)
DRAGOMAN_GIVE(std::int64_t)
DRAGOMAN_GIVE(std::uint8_t)
DRAGOMAN_GIVE(std::uint16_t)
DRAGOMAN_GIVE(std::uint32_t)
DRAGOMAN_GIVE(std::uint64_t)
#undef DRAGOMAN_GIVE

}  // namespace dragoman
