#include "search/phrase/batch.hpp"

#include <algorithm>
#include <numeric>

namespace dragoman::search::phrase {

void PhraseBatch::check() const {
    const std::size_t options = begin.size(), models = language_models.size();
    require(option_offsets.size() == sentences() + 1 && bounds_rows(view(option_offsets), options),
            "option_offsets do not fit the sentences");
    for (const auto* column : {&end, &exit_class, &left, &right})
        require(column->size() == options, "columns of options differ in length");
    for (const auto* orientations : {&reorder_from, &reorder_to})
        require(orientations->shape(0) == options && orientations->shape(1) == 3,
                "options need a score for each of three orientations");
    require(local.size() == options && words->size() == options, "options need a score and words each");
    require(lm_words.shape(0) == models && lm_weights.size() == models &&
                (models == 0 || lm_words.shape(1) == words->values.size()),
            "language models need a weight each, and all words");
}

PhraseModelView PhraseBatch::model(int reordering_limit) const {
    PhraseModelView model;
    for (const auto& automaton : language_models) {
        model.language_models.push_back(automaton->view());
        model.lm_orders.push_back(automaton->order());
        model.lm_starts.push_back(automaton->view().start());
    }
    model.lm_weights.assign(lm_weights.data(), lm_weights.data() + lm_weights.size());
    model.distortion_weight = distortion_weight;
    model.boundary = boundary.size() ? boundary.data() : nullptr;
    model.boundary_columns = static_cast<std::int64_t>(boundary.shape(1));
    // No jump is longer than its sentence, and a limit that is not either can be added to a position.
    const auto longest = view(lengths);
    model.reordering_limit = std::min(reordering_limit, longest.empty() ? 0 : *std::ranges::max_element(longest));
    return model;
}

OptionsView PhraseBatch::options(std::size_t sentence) const {
    const std::int64_t first = option_offsets[sentence];
    OptionsView options;
    options.count = static_cast<std::int32_t>(option_offsets[sentence + 1] - first);
    options.sentence_length = lengths[sentence];
    options.begin = begin.data() + first;
    options.end = end.data() + first;
    options.local = local.data() + first;
    options.reorder_from = reorder_from.data() + 3 * first;
    options.reorder_to = reorder_to.data() + 3 * first;
    options.exit = exit_class.data() + first;
    options.left = left.data() + first;
    options.right = right.data() + first;
    options.word_offsets = words->offsets.data() + first;
    for (std::size_t k = 0; k < language_models.size(); ++k)
        options.words.push_back(lm_words.data() + k * lm_words.shape(1));
    return options;
}

std::vector<std::int64_t> PhraseBatch::source_offsets() const {
    std::vector<std::int64_t> offsets(sentences() + 1, 0);
    std::partial_sum(lengths.data(), lengths.data() + lengths.size(), offsets.begin() + 1);
    return offsets;
}

void bind_batch(nb::module_& m) {
    using Batch = PhraseBatch;
    bind_record(
        m, "PhraseBatch",
        "Sentences with options that are scored with weights.\n\n"
        "The columns of options run parallel. `reorder_from` and `reorder_to` are the scores of three orientations\n"
        "towards the option before and after, `lm_words` has a row for each language model, and `boundary` the\n"
        "score of each right symbol (row) before each left symbol (column), or no rows.",
        Field{"lengths", &Batch::lengths}, Field{"option_offsets", &Batch::option_offsets},
        Field{"begin", &Batch::begin}, Field{"end", &Batch::end}, Field{"local", &Batch::local},
        Field{"reorder_from", &Batch::reorder_from}, Field{"reorder_to", &Batch::reorder_to},
        Field{"exit_class", &Batch::exit_class}, Field{"left", &Batch::left}, Field{"right", &Batch::right},
        Field{"words", &Batch::words}, Field{"lm_words", &Batch::lm_words},
        Field{"language_models", &Batch::language_models}, Field{"lm_weights", &Batch::lm_weights},
        Field{"distortion_weight", &Batch::distortion_weight}, Field{"boundary", &Batch::boundary});
}

}  // namespace dragoman::search::phrase
