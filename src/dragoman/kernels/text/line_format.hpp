// What the readers and writers of line-based formats share: numbers without regard to the locale, and faults, by
// which a kernel says where and why it stopped; Python makes the sentence.
#pragma once

#include "text/word_index.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace dragoman::text {

// Where parsing stopped: what is wrong (0 if nothing), the line from 0, and the bytes in question.
struct Fault {
    int kind = 0;
    std::int64_t line = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;

    void set(int what, Bytes text, Bytes where) {
        kind = what;
        begin = where.data() - text.data();
        end = begin + static_cast<std::int64_t>(where.size());
    }

    auto take() const { return together(kind, line, begin, end); }
};

// Reads a whole token as a number. What is beyond a float's range becomes infinite; what is not zero stays so.
inline bool parse_float(Bytes token, float& value) {
    const char* const begin = reinterpret_cast<const char*>(token.data());
    const char* const end = begin + token.size();
    auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range) {
        double wide = 0;
        const auto again = std::from_chars(begin, end, wide);
        if (again.ec != std::errc()) return false;
        const double magnitude = std::abs(wide);
        const float narrow = magnitude > double(std::numeric_limits<float>::max()) ? std::numeric_limits<float>::infinity()
                             : magnitude < double(std::numeric_limits<float>::denorm_min())
                                 ? std::numeric_limits<float>::denorm_min()
                                 : static_cast<float>(magnitude);
        value = std::signbit(wide) ? -narrow : narrow;
        stop = again.ptr;
        error = std::errc();
    }
    return error == std::errc() && stop == end;
}

// Reads the digits at the start of a token and moves the token behind them.
inline bool parse_position(Bytes& token, std::uint32_t& value) {
    const char* const begin = reinterpret_cast<const char*>(token.data());
    const auto [stop, error] = std::from_chars(begin, begin + token.size(), value);
    if (error != std::errc() || stop == begin) return false;
    token = token.subspan(static_cast<std::size_t>(stop - begin));
    return true;
}

// Phrase pairs, or rules, whose sides are texts.
struct PairTexts {
    Held1<std::int32_t> source_ids;
    Ref<Texts> sources;
    Held1<std::int32_t> target_ids;
    Ref<Texts> targets;

    Bytes source(std::int64_t row) const { return (*sources)[static_cast<std::size_t>(source_ids[row])]; }
    Bytes target(std::int64_t row) const { return (*targets)[static_cast<std::size_t>(target_ids[row])]; }
    void check() const { require(source_ids.size() == target_ids.size(), "pairs need a source and a target each"); }
};

// Text that is being written.
class LineWriter {
public:
    void text(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    void text(const char* literal) { out_.insert(out_.end(), literal, literal + std::strlen(literal)); }
    void character(char c) { out_.push_back(static_cast<std::uint8_t>(c)); }

    template <class... Format>
    void number(Format... format) {
        char digits[64];
        const auto end = std::to_chars(digits, digits + sizeof digits, format...).ptr;
        out_.insert(out_.end(), digits, end);
    }

    // The links of one row, each after a space.
    void points(std::span<const std::uint16_t> points) {
        for (const std::uint16_t point : points) {
            character(' ');
            number(point >> 8);
            character('-');
            number(point & 255);
        }
    }

    std::vector<std::uint8_t> take() { return std::move(out_); }

private:
    std::vector<std::uint8_t> out_;
};

}  // namespace dragoman::text
