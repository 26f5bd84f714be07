// The vocabulary of every kernel: typed, contiguous arrays in; arrays that own their memory out.
//
// Arrays are a type of our own because a hundred functions take nearly a thousand of them: what depends on the type of
// elements is a few inline lines, all else is compiled once, in arrays.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace dragoman {

namespace nb = nanobind;

// The type of an array's elements.
struct Element {
    enum Kind : std::uint8_t { SIGNED, UNSIGNED, FLOATING } kind;
    std::uint8_t size;  // in bytes
};

template <class T>
constexpr Element element_of{std::is_floating_point_v<T> ? Element::FLOATING : std::is_signed_v<T> ? Element::SIGNED : Element::UNSIGNED,
                             sizeof(T)};

// What a signature calls an array of T.
template <class T>
constexpr auto array_name =
    nb::detail::const_name("numpy.typing.NDArray[numpy.") +
    nb::detail::const_name<std::is_floating_point_v<T>>(
        nb::detail::const_name("float"), nb::detail::const_name<std::is_signed_v<T>>(nb::detail::const_name("int"), nb::detail::const_name("uint"))) +
    nb::detail::const_name<8 * sizeof(T)>() + nb::detail::const_name("]");

// An array that Python holds while the kernel runs: C-contiguous, of exactly this type and number of dimensions, never
// converted. It is a view: the caller of the kernel keeps its arguments.
template <class T, std::size_t dimensions>
class In {
public:
    In() = default;
    In(const void* data, const std::array<std::size_t, dimensions>& shape) : data_(static_cast<const T*>(data)), shape_(shape) {}

    const T* data() const { return data_; }
    const T& operator[](std::size_t at) const { return data_[at]; }
    std::size_t shape(std::size_t dimension) const { return shape_[dimension]; }
    std::size_t size() const {
        std::size_t size = 1;
        for (std::size_t extent : shape_) size *= extent;
        return size;
    }

private:
    const T* data_ = nullptr;
    std::array<std::size_t, dimensions> shape_{};
};

template <class T>
using In1 = In<T, 1>;
template <class T>
using In2 = In<T, 2>;

// Finds memory and shape of an array; returns false if it is not one of this type and so many dimensions.
bool find_array(nb::handle source, Element element, const void*& data, std::span<std::size_t> shape) noexcept;

template <class T>
std::span<const T> view(const In1<T>& array) {
    return {array.data(), array.shape(0)};
}

// A NumPy array that a kernel has made.
template <class T>
class Out : public nb::object {
public:
    static constexpr auto Name = array_name<T>;
    using nb::object::object;
};

// An array of whatever type.
class AnyArray : public nb::object {
public:
    static constexpr auto Name = nb::detail::const_name("numpy.typing.NDArray[typing.Any]");
    using nb::object::object;
};

// Hands a vector's memory to NumPy without a copy, as one dimension or as rows of so many columns.
template <class T>
Out<T> give(std::vector<T>&& values);
template <class T>
Out<T> give(std::vector<T>&& values, std::size_t columns);

// A tuple whose signature says what is in it.
template <class... Parts>
using Tuple = nb::typed<nb::tuple, Parts...>;

using ArrayDict = nb::typed<nb::dict, nb::str, AnyArray>;

template <class... Parts>
Tuple<std::decay_t<Parts>...> together(Parts&&... parts) {
    return nb::make_tuple(std::forward<Parts>(parts)...);
}

}  // namespace dragoman

namespace nanobind::detail {

template <class T, std::size_t dimensions>
struct type_caster<dragoman::In<T, dimensions>> {
    using Array = dragoman::In<T, dimensions>;
    NB_TYPE_CASTER(Array, dragoman::array_name<T>)

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        const void* data = nullptr;
        std::array<std::size_t, dimensions> shape{};
        const bool found = dragoman::find_array(source, dragoman::element_of<T>, data, shape);
        value = {data, shape};
        return found;
    }
};

}  // namespace nanobind::detail
