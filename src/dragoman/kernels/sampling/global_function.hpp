// Features of whole sentences and documents: C functions of the source and of its translation, as far as they can see
// them, that is as symbols that the feature's Python class gives to words.
#pragma once

#include "base/errors.hpp"
#include "base/records.hpp"

#include <cmath>
#include <cstdint>

namespace dragoman::sampling {

// The value for `sentences` sentences whose translation may have changed at `changed`; words of sentence i are
// words[offsets[i]] to words[offsets[i + 1]].
using GlobalFunction = double (*)(std::int64_t sentences, const std::int32_t* source_words, const std::int64_t* source_offsets,
                                  const std::int32_t* target_words, const std::int64_t* target_offsets, std::int64_t changed);

// The same for documents that change by one sentence at a time, with memory of its own for each document and chain.
struct IncrementalFunctions {
    // Makes the memory for these sentences and translations.
    void* (*begin)(std::int64_t sentences, const std::int32_t* source_words, const std::int64_t* source_offsets,
                   const std::int32_t* target_words, const std::int64_t* target_offsets);
    // The value if one sentence had another translation.
    double (*propose)(void* memory, std::int64_t sentence, const std::int32_t* words, std::int64_t count);
    // The translation of the last call becomes the present one; without this, it is forgotten.
    void (*accept)(void* memory);
    void (*end)(void* memory);
};

// A feature of a batch as Python hands it over, with the symbols that it sees.
struct GlobalFeature {
    std::uintptr_t address;  // of a function
    bool incremental;        // or of `IncrementalFunctions`, which see documents
    double weight;
    bool document;                 // sees all sentences of a document, not just one
    Held1<std::int32_t> source;  // a symbol for each source word of the batch
    Held1<std::int32_t> words;   // a symbol for each word of each option or rule of the batch

    GlobalFunction function() const { return reinterpret_cast<GlobalFunction>(address); }
    const IncrementalFunctions& functions() const { return *reinterpret_cast<const IncrementalFunctions*>(address); }
    void check() const {
        require(address != 0 && (document || !incremental),
                "a feature needs a function, and documents if it is incremental");
    }
};
using GlobalFeatures = std::vector<Ref<GlobalFeature>>;

inline double checked(double value) {
    if (!std::isfinite(value)) throw FunctionError("a global feature is not a finite number");
    return value;
}

// A feature's function, called on rows that lie one after the other.
inline double call(GlobalFunction function, Words source, Bounds source_offsets,
                   Words target, Bounds target_offsets, std::int64_t changed) {
    const auto sentences = static_cast<std::int64_t>(source_offsets.size()) - 1;
    return checked(function(sentences, source.data(), source_offsets.data(), target.data(), target_offsets.data(), changed));
}

}  // namespace dragoman::sampling
