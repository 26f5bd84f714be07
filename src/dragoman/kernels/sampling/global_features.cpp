// Global features that come with Dragoman, and the evaluation of any on rows of words.
#include "sampling/global_function.hpp"
#include "sampling/lexical_consistency.hpp"
#include "sampling/schedule.hpp"

#include <nanobind/stl/array.h>

#include <cstdlib>

namespace dragoman::sampling {
namespace {

// -|ln((target words + 1) / (source words + 1))|, of all sentences together.
double length_ratio(std::int64_t sentences, const std::int32_t*, const std::int64_t* source_offsets, const std::int32_t*,
                    const std::int64_t* target_offsets, std::int64_t) {
    const auto source = static_cast<double>(source_offsets[sentences] - source_offsets[0]);
    const auto target = static_cast<double>(target_offsets[sentences] - target_offsets[0]);
    return -std::abs(std::log((target + 1) / (source + 1)));
}

// Brackets without a partner. Symbol k > 0 opens a bracket of kind k, -k closes it, 0 is no bracket.
std::int64_t unpaired(const std::int32_t* words, std::int64_t count) {
    std::vector<std::int32_t> open;
    std::int64_t alone = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (words[i] > 0) {
            open.push_back(words[i]);
        } else if (words[i] < 0) {
            if (!open.empty() && open.back() == -words[i])
                open.pop_back();
            else
                ++alone;
        }
    }
    return alone + static_cast<std::int64_t>(open.size());
}

// Minus the number of unpaired brackets that the target has more, or fewer, than the source, summed over sentences.
double bracket_balance(std::int64_t sentences, const std::int32_t* source_words, const std::int64_t* source_offsets,
                       const std::int32_t* target_words, const std::int64_t* target_offsets, std::int64_t) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < sentences; ++i)
        sum += std::abs(unpaired(target_words + target_offsets[i], target_offsets[i + 1] - target_offsets[i]) -
                        unpaired(source_words + source_offsets[i], source_offsets[i + 1] - source_offsets[i]));
    return -static_cast<double>(sum);
}

const IncrementalFunctions lexical_consistency{
    [](std::int64_t sentences, const std::int32_t* source_words, const std::int64_t* source_offsets, const std::int32_t* target_words,
       const std::int64_t* target_offsets) -> void* {
        return new LexicalConsistency(static_cast<std::size_t>(sentences), source_words, source_offsets, target_words, target_offsets);
    },
    [](void* memory, std::int64_t sentence, const std::int32_t* words, std::int64_t count) {
        return static_cast<LexicalConsistency*>(memory)->propose(static_cast<std::size_t>(sentence), words, count);
    },
    [](void* memory) { static_cast<LexicalConsistency*>(memory)->accept(); },
    [](void* memory) { delete static_cast<LexicalConsistency*>(memory); },
};

nb::typed<nb::dict, nb::str, int> global_functions() {
    nb::typed<nb::dict, nb::str, int> addresses;
    addresses["length_ratio"] = reinterpret_cast<std::uintptr_t>(&length_ratio);
    addresses["bracket_balance"] = reinterpret_cast<std::uintptr_t>(&bracket_balance);
    addresses["lexical_consistency"] = reinterpret_cast<std::uintptr_t>(&lexical_consistency);
    return addresses;
}

auto global_values(std::uintptr_t function, const Rows& source, In1<std::int64_t> sentences, const Rows& targets) {
    std::vector<double> values(sentences.size());
    {
        nb::gil_scoped_release release;
        for (std::size_t row = 0; row < values.size(); ++row) {
            const Words from = source[static_cast<std::size_t>(sentences[row])], to = targets[row];
            const std::int64_t from_offsets[] = {0, static_cast<std::int64_t>(from.size())}, to_offsets[] = {0, static_cast<std::int64_t>(to.size())};
            values[row] = call(reinterpret_cast<GlobalFunction>(function), from, from_offsets, to, to_offsets, 0);
        }
    }
    return give(std::move(values));
}

}  // namespace

void bind_global_features(nb::module_& m) {
    m.def("global_functions", &global_functions,
          "The addresses of compiled global features: of functions, and of the `IncrementalFunctions` of documents.");
    m.def("global_values", &global_values, nb::arg("function"), nb::arg("source"), nb::arg("sentences"),
          nb::arg("targets"), "A function's value for each target, which translates a sentence of the source.");
    bind_record(
        m, "GlobalFeature",
        "A feature of sentences or documents.\n\n"
        "`address` is that of a function or, if it is `incremental`, of `IncrementalFunctions`; `source` and `words`\n"
        "are the symbols of a batch's source words, and of the words of its options or rules.",
        Field{"address", &GlobalFeature::address}, Field{"incremental", &GlobalFeature::incremental},
        Field{"weight", &GlobalFeature::weight}, Field{"document", &GlobalFeature::document},
        Field{"source", &GlobalFeature::source}, Field{"words", &GlobalFeature::words});
    bind_record(
        m, "Schedule",
        "What chains do in which order.\n\n"
        "`burn_in` are the temperatures of the scans before the first sample; random numbers of a sentence depend on\n"
        "the seed, on its number, which counts from `first_number`, and on the chain.",
        Field{"chains", &Schedule::chains}, Field{"seed", &Schedule::seed},
        Field{"first_number", &Schedule::first_number}, Field{"rates", &Schedule::rates},
        Field{"random", &Schedule::random}, Field{"per_pass", &Schedule::per_pass},
        Field{"samples", &Schedule::samples}, Field{"thin", &Schedule::thin}, Field{"burn_in", &Schedule::burn_in},
        Field{"temperature", &Schedule::temperature}, Field{"jump_every", &Schedule::jump_every},
        Field{"forward_share", &Schedule::forward_share}, Field{"max_seconds", &Schedule::max_seconds},
        Field{"trace", &Schedule::trace}, Field{"adaptive_jumps", &Schedule::adaptive_jumps},
        Field{"by_changes", &Schedule::by_changes}, Field{"whole_scans", &Schedule::whole_scans});
}

}  // namespace dragoman::sampling
