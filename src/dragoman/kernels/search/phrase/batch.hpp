// A batch of sentences as Python hands it to the kernels that work in the space of space.hpp.
#pragma once

#include "lm/automaton.hpp"
#include "search/phrase/space.hpp"

namespace dragoman::search::phrase {

// The columns of options run parallel; those of a sentence are numbered from 0.
struct PhraseBatch {
    Held1<std::int32_t> lengths;         // of the sentences
    Held1<std::int64_t> option_offsets;  // where the options of each sentence begin
    Held1<std::int32_t> begin, end;
    Held1<double> local;
    Held2<double> reorder_from, reorder_to;  // weighted score of each orientation towards the option before, and after
    Held1<std::int32_t> exit_class, left, right;
    Ref<Rows> words;
    Held2<std::int32_t> lm_words;  // the same as ids of each language model, one row a model
    std::vector<Ref<lm::Automaton>> language_models;
    Held1<double> lm_weights;
    double distortion_weight;
    Held2<double> boundary;  // weighted score of each right symbol (row) before each left symbol (column)

    void check() const;

    std::size_t sentences() const { return lengths.size(); }
    PhraseModelView model(int reordering_limit) const;
    OptionsView options(std::size_t sentence) const;
    // Where the words of each sentence begin among those of all.
    std::vector<std::int64_t> source_offsets() const;
};

}  // namespace dragoman::search::phrase
