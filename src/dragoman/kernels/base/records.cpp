#include "base/records.hpp"

namespace dragoman {
namespace {

template <class T>
void bind_rows(nb::module_& m, const char* name, const char* doc) {
    bind_record(m, name, doc, Field{"values", &RowsOf<T>::values}, Field{"offsets", &RowsOf<T>::offsets});
}

}  // namespace

void bind_records(nb::module_& m) {
    bind_rows<std::int32_t>(m, "Rows",
                            "Rows of different lengths, one after the other: of words, or of other numbers.");
    bind_rows<std::uint8_t>(m, "Texts", "Pieces of UTF-8, one after the other: a word list, or the columns of lines.");
    bind_rows<std::uint16_t>(m, "Points",
                             "Links within phrases, as 256 * source + target position; a row for each pair.");
    bind_rows<std::uint32_t>(m, "UnsignedRows",
                             "Rows of numbers that are not negative, such as the links of sentence pairs.");
    bind_record(m, "FeatureRows", "Sparse vectors; a feature that is in a row twice counts as the sum.",
                Field{"offsets", &FeatureRows::offsets}, Field{"ids", &FeatureRows::ids},
                Field{"values", &FeatureRows::values});
}

}  // namespace dragoman
