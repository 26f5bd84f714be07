// Classes that Python makes by keyword and hands to kernels: their fields are arrays, numbers, and each other. They are
// made once, refuse what does not fit, and keep what they are made of.
#pragma once

#include "base/arrays.hpp"
#include "base/rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

namespace dragoman {

// An array in a field: a view as any other, with a reference to what it views. References may be copied under the
// interpreter's lock only, so it cannot be copied at all.
template <class T, std::size_t dimensions>
class Held : public In<T, dimensions> {
public:
    Held() = default;
    Held(const In<T, dimensions>& array, nb::handle owner) : In<T, dimensions>(array), owner_(nb::borrow(owner)) {}
    Held(Held&&) noexcept = default;
    Held& operator=(Held&&) noexcept = default;

    nb::handle owner() const { return owner_; }

private:
    nb::object owner_;
};

template <class T>
using Held1 = Held<T, 1>;
template <class T>
using Held2 = Held<T, 2>;

// Another record in a field, in the same way.
template <class Record>
class Ref {
public:
    Ref() = default;
    Ref(const Record* record, nb::handle owner) : record_(record), owner_(nb::borrow(owner)) {}
    Ref(Ref&&) noexcept = default;
    Ref& operator=(Ref&&) noexcept = default;

    const Record& operator*() const { return *record_; }
    const Record* operator->() const { return record_; }

private:
    const Record* record_ = nullptr;
    nb::object owner_;
};

// Refuses fields that do not fit together.
inline void require(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// Whether offsets are those of rows that lie within so many values.
inline bool bounds_rows(Bounds offsets, std::size_t values) {
    return !offsets.empty() && offsets.front() >= 0 && offsets.front() <= offsets.back() &&
           static_cast<std::size_t>(offsets.back()) <= values;
}

template <class Record, class Type>
struct Field {
    const char* name;
    Type Record::*member;
};

template <class Type>
constexpr bool is_optional = false;
template <class Type>
constexpr bool is_optional<std::optional<Type>> = true;

template <class Type>
constexpr bool is_array = false;
template <class T, std::size_t dimensions>
constexpr bool is_array<Held<T, dimensions>> = true;

// Binds a class whose fields are keywords, all of them required but those that are optional; arrays can be read. The
// class may have a function `check`, which throws std::invalid_argument if they do not fit together.
template <class Record, class... Types>
void bind_record(nb::module_& m, const char* name, const char* doc, Field<Record, Types>... fields) {
    const auto keyword = []<class Type>(const Field<Record, Type>& field) {
        if constexpr (is_optional<Type>)
            return nb::arg(field.name) = nb::none();
        else
            return nb::arg(field.name);
    };
    nb::class_<Record> record(m, name, doc);
    record.def(
        "__init__",
        [fields...](Record* self, Types... values) {
            Record made;
            ((made.*fields.member = std::move(values)), ...);
            if constexpr (requires { made.check(); }) made.check();
            new (self) Record(std::move(made));
        },
        nb::kw_only(), keyword(fields)...);
    const auto readable = [&]<class Type>(const Field<Record, Type>& field) {
        if constexpr (is_array<Type>) record.def_ro(field.name, field.member);
    };
    (readable(fields), ...);
}

// Rows of different lengths: row i is values[offsets[i]] to values[offsets[i + 1]].
template <class T>
struct RowsOf {
    Held1<T> values;
    Held1<std::int64_t> offsets;

    std::size_t size() const { return offsets.size() - 1; }
    std::span<const T> operator[](std::size_t row) const {
        return {values.data() + offsets[row], values.data() + offsets[row + 1]};
    }
    void check() const {
        require(bounds_rows(view(offsets), values.size()), "the offsets of rows do not fit their values");
    }
};
using Rows = RowsOf<std::int32_t>;
using Texts = RowsOf<std::uint8_t>;    // UTF-8
using Points = RowsOf<std::uint16_t>;  // links within phrases, as 256 * source + target position
using UnsignedRows = RowsOf<std::uint32_t>;

// Sparse vectors: row i has values[j] for feature ids[j], for j from offsets[i] to offsets[i + 1]. A feature may be
// repeated, and then counts as the sum.
struct FeatureRows {
    Held1<std::int64_t> offsets;
    Held1<std::int32_t> ids;
    Held1<double> values;

    std::size_t size() const { return offsets.size() - 1; }
    void check() const {
        require(ids.size() == values.size() && bounds_rows(view(offsets), ids.size()),
                "the columns of features do not fit together");
    }

    // Calls visit(feature, value) for what stands in a row.
    template <class Visit>
    void each(std::size_t row, Visit&& visit) const {
        for (auto at = offsets[row]; at < offsets[row + 1]; ++at) visit(static_cast<std::size_t>(ids[at]), values[at]);
    }

    double dot(std::size_t row, std::span<const double> weights) const {
        double sum = 0;
        each(row, [&](std::size_t feature, double value) { sum += value * weights[feature]; });
        return sum;
    }
};

}  // namespace dragoman

namespace nanobind::detail {

template <class T, std::size_t dimensions>
struct type_caster<dragoman::Held<T, dimensions>> {
    using Array = dragoman::Held<T, dimensions>;
    NB_TYPE_CASTER(Array, dragoman::array_name<T>)

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<dragoman::In<T, dimensions>> view;
        const bool found = view.from_python(source, flags, cleanup);
        if (found) value = {view.value, source};
        return found;
    }
    static handle from_cpp(const Array& array, rv_policy, cleanup_list*) noexcept { return array.owner().inc_ref(); }
};

template <class Record>
struct type_caster<dragoman::Ref<Record>> {
    NB_TYPE_CASTER(dragoman::Ref<Record>, make_caster<Record>::Name)

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        if (!isinstance<Record>(source) || !inst_ready(source)) return false;
        value = {inst_ptr<Record>(source), source};
        return true;
    }
};

}  // namespace nanobind::detail
