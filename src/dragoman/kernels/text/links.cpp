// Word alignment links as text: `0-0 1-1 2-4`, one sentence pair a line.
#include "text/line_format.hpp"

#include <algorithm>

namespace dragoman::text {
namespace {

// In step with _FAULTS in formats/pharaoh.py.
struct LinkFault {
    enum { not_a_link = 1, link_outside, line_surplus };
};

constexpr std::uint32_t longest_sentence = 0xFFFF;

// `s-t`, or `spt` for a possible link; a probability may follow after a colon.
bool parse_link(Bytes token, std::uint32_t& s, std::uint32_t& t) {
    if (!parse_position(token, s) || token.empty() || (token[0] != '-' && token[0] != 'p')) return false;
    token = token.subspan(1);
    if (!parse_position(token, t)) return false;
    float probability = 0;
    return token.empty() || (token[0] == ':' && parse_float(token.subspan(1), probability) && probability >= 0);
}

// The lengths limit the positions; without them (no `bounded`) any position up to the longest sentence will do.
auto parse_links(In1<std::uint8_t> text, In1<std::int64_t> source_lengths, In1<std::int64_t> target_lengths, bool bounded) {
    std::vector<std::uint32_t> links;
    std::vector<std::int64_t> offsets{0};
    Fault fault;
    {
        nb::gil_scoped_release release;
        split_lines(view(text), [&](Bytes line) {
            const auto row = static_cast<std::size_t>(fault.line);
            if (bounded && row >= source_lengths.shape(0)) {
                fault.set(LinkFault::line_surplus, view(text), line);
                return false;
            }
            const auto most = static_cast<std::int64_t>(longest_sentence);
            const std::int64_t source_length = bounded ? std::min(source_lengths.data()[row], most) : most;
            const std::int64_t target_length = bounded ? std::min(target_lengths.data()[row], most) : most;
            split_words(line, [&](Bytes token) {
                std::uint32_t s = 0, t = 0;
                if (fault.kind) return;
                if (!parse_link(token, s, t)) fault.set(LinkFault::not_a_link, view(text), token);
                else if (s >= source_length || t >= target_length) fault.set(LinkFault::link_outside, view(text), token);
                else links.push_back(s << 16 | t);
            });
            if (fault.kind) return false;
            const auto begin = links.begin() + offsets.back();
            std::sort(begin, links.end());
            links.erase(std::unique(begin, links.end()), links.end());
            offsets.push_back(static_cast<std::int64_t>(links.size()));
            ++fault.line;
            return true;
        });
    }
    return together(give(std::move(links)), give(std::move(offsets)), fault.take());
}

auto format_links(In1<std::uint32_t> links, In1<std::int64_t> offsets) {
    LineWriter out;
    {
        nb::gil_scoped_release release;
        for (std::size_t row = 0; row + 1 < offsets.shape(0); ++row) {
            for (auto at = offsets.data()[row]; at < offsets.data()[row + 1]; ++at) {
                if (at > offsets.data()[row]) out.character(' ');
                out.number(links.data()[at] >> 16);
                out.character('-');
                out.number(links.data()[at] & 0xFFFF);
            }
            out.character('\n');
        }
    }
    return give(out.take());
}

}  // namespace

void bind_links(nb::module_& m) {
    m.def("parse_links", &parse_links, nb::arg("text"), nb::arg("source_lengths"), nb::arg("target_lengths"),
          nb::arg("bounded"),
          "Lines of links `s-t` as `s << 16 | t`, each line sorted and without repetition, and the offsets of the\n"
          "lines.");
    m.def("format_links", &format_links, nb::arg("links"), nb::arg("offsets"),
          "Links as lines of text.");
}

}  // namespace dragoman::text
