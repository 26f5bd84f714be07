// Numbers as text and back, alone and as tables.
#include "text/nbest_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dragoman::text {

int parse_number(Bytes token, double& value) {
    const char* const begin = reinterpret_cast<const char*>(token.data());
    const auto [stop, error] = std::from_chars(begin, begin + token.size(), value);
    if (stop != begin + token.size() || error == std::errc::invalid_argument) return NBestFault::not_a_number;
    return error == std::errc() && std::isfinite(value) ? 0 : NBestFault::not_finite;
}

void write_number(LineWriter& out, double value, int decimals) {
    char digits[400];  // a fixed number can have 309 digits before the point
    char* const limit = digits + sizeof digits;
    const auto put = [&](char* end) { out.text(Bytes(reinterpret_cast<std::uint8_t*>(digits), std::size_t(end - digits))); };
    if (decimals >= 0) {
        const auto [end, error] = std::to_chars(digits, limit, value, std::chars_format::fixed, decimals);
        double again = 0;
        if (error == std::errc()) std::from_chars(digits, end, again);
        if (error == std::errc() && again == value) return put(end);
    }
    char* end = std::to_chars(digits, limit, value).ptr;
    const double magnitude = std::abs(value);
    if (magnitude == 0 || (magnitude < 1e6 && magnitude >= 1e-4 && std::find(digits, end, 'e') == end)) return put(end);
    end = std::to_chars(digits, limit, value, std::chars_format::scientific).ptr;
    char* const mantissa_end = std::find(digits, end, 'e');
    const auto needed = std::count_if(digits, mantissa_end, [](char c) { return c >= '0' && c <= '9'; });
    int exponent = 0;
    std::from_chars(mantissa_end + (mantissa_end[1] == '+' ? 2 : 1), end, exponent);
    if (needed <= 6) end = std::to_chars(digits, limit, value, std::chars_format::general, 6).ptr;
    else if (exponent >= -4 && exponent < needed) end = std::to_chars(digits, limit, value, std::chars_format::fixed).ptr;
    put(end);
}

namespace {

// A table of numbers separated by tabs, the same number on every line. Faults: not_a_number, not_finite, value_count.
auto parse_number_columns(In1<std::uint8_t> text, std::size_t columns) {
    std::vector<double> values;
    Fault fault;
    {
        nb::gil_scoped_release release;
        split_lines(view(text), [&](Bytes line) {
            std::size_t found = 0;
            for (Bytes rest = line; !fault.kind; ++found) {
                const auto tab = static_cast<std::size_t>(std::ranges::find(rest, std::uint8_t('\t')) - rest.begin());
                const Bytes token = trimmed(rest.first(tab));
                double value = 0;
                if (const int kind = parse_number(token, value)) fault.set(kind, view(text), token.empty() ? line : token);
                values.push_back(value);
                if (tab == rest.size()) break;
                rest = rest.subspan(tab + 1);
            }
            if (!fault.kind && found + 1 != columns) fault.set(NBestFault::value_count, view(text), line);
            fault.line += !fault.kind;
            return !fault.kind;
        });
        if (fault.kind) values.clear();
    }
    return together(give(std::move(values), columns), fault.take());
}

// The numbers as lines of columns, as they are written in n-best lists.
auto format_number_columns(In2<double> values) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = 0; row < values.shape(0); ++row)
            for (std::size_t column = 0; column < values.shape(1); ++column) {
                write_number(out, values.data()[row * values.shape(1) + column], -1);
                out.character(column + 1 < values.shape(1) ? '\t' : '\n');
            }
    }
    return give(out.take());
}

}  // namespace

void bind_nbest_numbers(nb::module_& m) {
    m.def("parse_number_columns", &parse_number_columns, nb::arg("text"), nb::arg("columns"),
          "A table of finite numbers separated by tabs, and the fault.");
    m.def("format_number_columns", &format_number_columns, nb::arg("values"),
          "The inverse of parse_number_columns, with as few digits as give the same numbers.");
}

}  // namespace dragoman::text
