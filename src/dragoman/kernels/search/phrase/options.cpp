// Translation options of sentences: pairs of phrase tables on every span, the best of each span if a ranking says so,
// and their features in columns. A slow twin is in tests/oracles/phrase_space.py.
#include "base/parallel.hpp"
#include "base/sequence_index.hpp"
#include "lm/automaton.hpp"
#include "search/phrase/option_scores.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>

namespace dragoman::search::phrase {
namespace {

// A phrase table. Targets of all tables are numbered together, so that the same pair in two tables is one option.
struct OptionTable {
    Ref<Rows> sources;
    Held1<std::int32_t> index;
    Held1<std::int64_t> first_pair;
    Held1<std::int32_t> target_ids, numbers;  // target of each pair, and the number of each target
    Held2<float> scores;                      // no rows if the table is a mixture: its scores depend on weights
    std::size_t column;                       // of its first score among all features
    std::vector<Held2<float>> reordering;     // for each reordering model; no rows where the table lacks it
    Held<float, 3> components;                // of a mixture: scores of each pair in each table
    std::size_t ranked;                       // score of a mixture that ranks its pairs
    std::int32_t longest;                     // source words

    SequenceIndex phrases() const { return {view(sources->values), view(sources->offsets), view(index)}; }
    std::int32_t number(std::int64_t row) const { return numbers[static_cast<std::size_t>(target_ids[static_cast<std::size_t>(row)])]; }
    void check() const {
        const std::size_t pairs = target_ids.size();
        require(first_pair.size() == sources->size() + 1 && bounds_rows(view(first_pair), pairs), "first_pair does not fit the pairs");
        require(scores.shape(0) == pairs || components.shape(0) == pairs, "pairs need scores");
        for (const auto& model : reordering)
            require(model.shape(0) == 0 || (model.shape(0) == pairs && model.shape(1) == 6), "pairs need six scores of reordering");
    }
};

// The options of a source phrase, with all that does not depend on where it stands; columns as in the result of
// `collect_options`. Scores are there if the options were ranked.
struct OptionBlock {
    std::vector<std::int64_t> rows;
    std::vector<std::int32_t> words;
    std::vector<std::int64_t> word_offsets;
    std::vector<double> local, reorder_from, reorder_to;
    std::vector<std::int32_t> exit_class;  // the first option that scores alike as predecessor

    std::size_t size() const { return word_offsets.size() - 1; }
    Words target(std::size_t i) const { return Words(words).subspan(word_offsets[i], word_offsets[i + 1] - word_offsets[i]); }
};

// Keeps the best options of each source phrase by their scores without context, and remembers them.
struct OptionRanking {
    std::int32_t limit;
    Held1<double> weights;  // of the features
    std::vector<Ref<lm::Automaton>> language_models;
    std::vector<Held1<std::int32_t>> lm_ids;  // of the target words in each
    Held1<double> lm_weights;
    Held2<double> reordering_weights;  // six for each reordering model

    void check() const {
        require(limit > 0 && reordering_weights.shape(1) == 6 && lm_weights.size() == language_models.size() && lm_ids.size() == language_models.size(),
                "language models need weights and ids of words");
    }

    double estimate(double total, Words words) const {
        for (std::size_t k = 0; k < language_models.size(); ++k) {
            const lm::LanguageModelView model = language_models[k]->view();
            std::int32_t state = 0;
            double sum = 0;
            for (const std::int32_t word : words) {
                const auto found = model.query(state, lm_ids[k][static_cast<std::size_t>(word)]);
                sum += double(found.log10) * std::numbers::ln10;
                state = found.state;
            }
            total += lm_weights[k] * sum;
        }
        return total;
    }

    // Some 150 bytes each; what is found once there are so many is not remembered.
    static constexpr std::size_t most_known = std::size_t{1} << 21;

    struct Known {
        std::shared_mutex mutex;
        std::unordered_map<std::uint64_t, OptionBlock> blocks;  // by source phrase; they stay where they are
        std::size_t options = 0;
    };
    std::unique_ptr<Known> known = std::make_unique<Known>();
};

// What is to be collected: tables, the shares of components in p(e|f) for those that are mixtures, and where features are.
struct OptionSource {
    std::vector<Ref<OptionTable>> tables;
    std::vector<Held1<double>> shares;
    Ref<Rows> targets;    // words by number
    std::int32_t limit;   // of the pairs of a source phrase in each table, 0: none
    bool pass_unknown;    // words that nothing translates, as the word -1; otherwise they become nothing
    std::size_t features, word_penalty, phrase_penalty, unknown_word;
    double unknown_score;  // the value of the feature `unknown_word`

    void check() const {
        require(shares.size() == tables.size() && std::max({word_penalty, phrase_penalty, unknown_word}) < features, "tables need shares each, and columns");
        for (const auto& table : tables)
            require(table->column + table->scores.shape(1) <= features && table->reordering.size() == tables[0]->reordering.size(),
                    "tables need columns, and the same reordering models");
    }
};

class Collector {
public:
    // Blocks on the spans of a sentence, those that nobody else remembers among `own`.
    struct Found {
        struct Span {
            std::int32_t begin, end;
            const OptionBlock* block;
        };
        std::vector<Span> spans;
        std::vector<std::unique_ptr<OptionBlock>> own;
        std::size_t options = 0, words = 0;
    };

    Collector(const OptionSource& source, const OptionRanking* ranking) : source_(source), tables_(source.tables), ranking_(ranking) {
        for (const auto& table : tables_) longest_ = std::max(longest_, table->longest);
    }

    std::size_t reorderings() const { return tables_[0]->reordering.size(); }

    Found sentence(Words tokens) const {
        Found found;
        std::vector<std::int32_t> phrases(tables_.size());
        std::shared_lock<std::shared_mutex> lock;
        if (ranking_ != nullptr) lock = std::shared_lock(ranking_->known->mutex);
        for (std::size_t begin = 0; begin < tokens.size(); ++begin) {
            for (std::size_t length = 1; length <= std::min<std::size_t>(longest_, tokens.size() - begin); ++length) {
                const OptionBlock* here = nullptr;
                if (const auto phrase = find(tokens.subspan(begin, length), phrases); phrase != 0) {
                    if (ranking_ == nullptr)
                        here = found.own.emplace_back(std::make_unique<OptionBlock>(block(pairs(phrases)))).get();
                    else
                        here = best(phrase, phrases, lock, found.own);
                } else if (length == 1) {
                    here = found.own.emplace_back(std::make_unique<OptionBlock>(scored(std::vector<std::int64_t>(tables_.size(), -1)))).get();
                }
                if (here == nullptr) continue;
                found.spans.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(begin + length), here});
                found.options += here->size();
                found.words += here->words.size();
            }
        }
        return found;
    }

    // The features of an option, which are 0 before, and six scores of each reordering model, likewise.
    void describe(const std::int64_t* rows, double* features) const {
        const Words target = words(rows);
        features[source_.word_penalty] = -static_cast<double>(target.size());
        features[source_.phrase_penalty] = 1;
        bool is_known = false;
        for (std::size_t t = 0; t < tables_.size(); ++t) {
            if (rows[t] < 0) continue;
            is_known = true;
            const auto& scores = tables_[t]->scores;
            if (scores.shape(0)) std::copy_n(scores.data() + rows[t] * scores.shape(1), scores.shape(1), features + tables_[t]->column);
        }
        if (!is_known) features[source_.unknown_word] = source_.unknown_score;
    }
    void orient(const std::int64_t* rows, std::size_t r, double* scores) const {
        for (std::size_t t = 0; t < tables_.size(); ++t)
            if (const auto& all = tables_[t]->reordering[r]; rows[t] >= 0 && all.shape(0)) std::copy_n(all.data() + rows[t] * 6, 6, scores);
    }

private:
    // The target words of an option, given its rows.
    Words words(const std::int64_t* rows) const {
        static constexpr std::int32_t unknown = -1;
        for (std::size_t t = 0; t < tables_.size(); ++t)
            if (rows[t] >= 0) return (*source_.targets)[static_cast<std::size_t>(tables_[t]->number(rows[t]))];
        return {&unknown, source_.pass_unknown ? std::size_t{1} : 0};
    }

    OptionBlock block(std::vector<std::int64_t> rows) const {
        OptionBlock made{std::move(rows), {}, {0}, {}, {}, {}, {}};
        for (std::size_t i = 0; i < made.rows.size(); i += tables_.size()) {
            const Words target = words(made.rows.data() + i);
            made.words.insert(made.words.end(), target.begin(), target.end());
            made.word_offsets.push_back(static_cast<std::int64_t>(made.words.size()));
        }
        return made;
    }

    std::vector<double> local(const OptionBlock& block) const {
        std::vector<double> scores, features;
        for (std::size_t i = 0; i < block.size(); ++i) {
            features.assign(source_.features, 0.0);
            describe(block.rows.data() + i * tables_.size(), features.data());
            scores.push_back(dot(features.data(), ranking_->weights.data(), features.size()));
        }
        return scores;
    }

    // A block with scores, if options are ranked.
    OptionBlock scored(std::vector<std::int64_t> rows) const {
        OptionBlock made = block(std::move(rows));
        if (ranking_ == nullptr) return made;
        made.local = local(made);
        made.reorder_from.resize(3 * made.size());
        made.reorder_to.resize(3 * made.size());
        made.exit_class.resize(made.size());
        double six[6];
        const auto scores = [&](std::size_t i, std::size_t r) {
            std::ranges::fill(six, 0.0);
            orient(made.rows.data() + i * tables_.size(), r, six);
            return six;
        };
        search::phrase::orient(0, made.size(), ranking_->reordering_weights.data(), reorderings(), [](std::size_t) { return std::array{0}; }, scores,
                               made.reorder_from.data(), made.reorder_to.data(), made.exit_class.data());
        return made;
    }

    // The best options of a source phrase; `lock` is of those that are known.
    const OptionBlock* best(std::uint64_t phrase, std::span<const std::int32_t> phrases, std::shared_lock<std::shared_mutex>& lock,
                            std::vector<std::unique_ptr<OptionBlock>>& own) const {
        auto& known = *ranking_->known;
        if (const auto at = known.blocks.find(phrase); at != known.blocks.end()) return &at->second;
        lock.unlock();
        OptionBlock block = best(pairs(phrases));
        const OptionBlock* kept = nullptr;
        {
            const std::unique_lock alone(known.mutex);
            if (known.options < OptionRanking::most_known) {
                const auto [at, is_new] = known.blocks.try_emplace(phrase, std::move(block));
                known.options += is_new ? at->second.size() : 0;
                kept = &at->second;
            }
        }
        lock.lock();
        return kept != nullptr ? kept : own.emplace_back(std::make_unique<OptionBlock>(std::move(block))).get();
    }

    OptionBlock best(std::vector<std::int64_t> rows) const {
        const std::size_t width = tables_.size();
        if (rows.size() / width <= static_cast<std::size_t>(ranking_->limit)) return scored(std::move(rows));
        const OptionBlock all = block(std::move(rows));
        std::vector<double> estimates = local(all);
        for (std::size_t i = 0; i < all.size(); ++i) estimates[i] = ranking_->estimate(estimates[i], all.target(i));
        std::vector<std::int64_t> kept;
        for (const std::int32_t i : best_of(estimates, static_cast<std::size_t>(ranking_->limit)))
            kept.insert(kept.end(), all.rows.begin() + i * width, all.rows.begin() + (i + 1) * width);
        return scored(std::move(kept));
    }

    // Finds a source phrase in each table; returns a number of its own, or 0 if none has it.
    std::uint64_t find(Words words, std::vector<std::int32_t>& phrases) const {
        std::uint64_t number = 0;
        for (std::size_t t = tables_.size(); t-- > 0;) {
            const OptionTable& table = *tables_[t];
            phrases[t] = words.size() <= static_cast<std::size_t>(table.longest) ? table.phrases().find(words) : -1;
            if (phrases[t] >= 0) number = std::uint64_t(t) << 32 | (std::uint64_t(phrases[t]) + 1);
        }
        return number;
    }

    // The rows of all pairs of a source phrase, at most `limit` of each table.
    std::vector<std::int64_t> pairs(std::span<const std::int32_t> phrases) const {
        const std::size_t width = tables_.size();
        std::vector<std::pair<std::int32_t, std::vector<std::int64_t>>> several;  // target and rows
        std::vector<std::int64_t> all;
        for (std::size_t t = 0; t < width; ++t) {
            if (phrases[t] < 0) continue;
            const OptionTable& table = *tables_[t];
            std::vector<std::int64_t> rows(static_cast<std::size_t>(table.first_pair[phrases[t] + 1] - table.first_pair[phrases[t]]));
            std::iota(rows.begin(), rows.end(), table.first_pair[phrases[t]]);
            if (source_.shares[t].size()) std::ranges::stable_sort(rows, std::greater<>(), [&](std::int64_t row) { return mixed(table, source_.shares[t], row); });
            if (source_.limit > 0) rows.resize(std::min(rows.size(), static_cast<std::size_t>(source_.limit)));
            if (width == 1) return rows;
            for (const std::int64_t row : rows) {
                several.emplace_back(table.number(row), std::vector<std::int64_t>(width, -1));
                several.back().second[t] = row;
            }
        }
        std::ranges::stable_sort(several, {}, [](const auto& one) { return one.first; });
        for (std::size_t i = 0; i < several.size(); ++i) {
            const auto& rows = several[i].second;
            if (i == 0 || several[i].first != several[i - 1].first)
                all.insert(all.end(), rows.begin(), rows.end());
            else
                for (std::size_t t = 0; t < width; ++t) all[all.size() - width + t] = std::max(all[all.size() - width + t], rows[t]);
        }
        return all;
    }

    // p(e|f) in a mixture.
    static float mixed(const OptionTable& table, const Held1<double>& shares, std::int64_t row) {
        const std::size_t scores = table.components.shape(2);
        double sum = 0;
        for (std::size_t i = 0; i < shares.size(); ++i) sum += double(table.components[(row * shares.size() + i) * scores + table.ranked]) * shares[i];
        return static_cast<float>(sum);
    }

    const OptionSource& source_;
    const std::vector<Ref<OptionTable>>& tables_;
    const OptionRanking* ranking_;
    std::int32_t longest_ = 1;
};

ArrayDict collect_options(const Rows& sentences, const OptionSource& source, const OptionRanking* ranking, int threads) {
    const Collector collector(source, ranking);
    const std::size_t width = source.tables.size(), count = sentences.size();
    std::vector<Collector::Found> found(count);
    run_blocks(count, threads, nb::none(), [&](std::size_t s) { found[s] = collector.sentence(sentences[s]); });
    std::vector<std::int64_t> offsets{0}, first_words{0};
    for (const auto& of : found) {
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(of.options));
        first_words.push_back(first_words.back() + static_cast<std::int64_t>(of.words));
    }
    const auto options = static_cast<std::size_t>(offsets.back());
    std::vector<std::int32_t> begin(options), end(options), words(static_cast<std::size_t>(first_words.back()));
    std::vector<std::int64_t> rows(options * width), word_offsets(options + 1);
    const std::size_t scored = ranking != nullptr ? options : 0;
    std::vector<double> local(scored), from(3 * scored), to(3 * scored);
    std::vector<std::int32_t> classes(scored);
    run_blocks(count, threads, nb::none(), [&](std::size_t s) {
        auto i = static_cast<std::size_t>(offsets[s]);
        auto word = first_words[s];
        std::vector<std::int32_t> ending(sentences[s].size() + 1, -1);  // the first option that ends at each word
        for (const auto& span : found[s].spans) {
            const OptionBlock& block = *span.block;
            std::fill_n(begin.begin() + i, block.size(), span.begin);
            std::fill_n(end.begin() + i, block.size(), span.end);
            std::ranges::copy(block.rows, rows.begin() + i * width);
            std::ranges::copy(block.words, words.begin() + word);
            for (std::size_t j = 1; j <= block.size(); ++j) word_offsets[i + j] = word + block.word_offsets[j];
            std::ranges::copy(block.local, local.begin() + i);
            std::ranges::copy(block.reorder_from, from.begin() + 3 * i);
            std::ranges::copy(block.reorder_to, to.begin() + 3 * i);
            if (ending[span.end] < 0) ending[span.end] = static_cast<std::int32_t>(i);
            // Without reordering models, all that end at a word score alike.
            for (std::size_t j = 0; j < block.exit_class.size(); ++j)
                classes[i + j] = collector.reorderings() ? static_cast<std::int32_t>(i) + block.exit_class[j] : ending[span.end];
            i += block.size();
            word += static_cast<std::int64_t>(block.words.size());
        }
        found[s] = {};
    });
    ArrayDict out;
    out["offsets"] = give(std::move(offsets));
    out["begin"] = give(std::move(begin));
    out["end"] = give(std::move(end));
    out["words"] = give(std::move(words));
    out["word_offsets"] = give(std::move(word_offsets));
    out["rows"] = give(std::move(rows), width);
    if (ranking == nullptr) return out;
    out["local"] = give(std::move(local));
    out["reorder_from"] = give(std::move(from), 3);
    out["reorder_to"] = give(std::move(to), 3);
    out["exit_class"] = give(std::move(classes));
    return out;
}

auto option_features(In2<std::int64_t> rows, const OptionSource& source) {
    const Collector collector(source, nullptr);
    const std::size_t options = rows.shape(0);
    std::vector<double> dense(options * source.features), reordering(collector.reorderings() * options * 6);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < options; ++i) {
            const std::int64_t* const own = rows.data() + i * source.tables.size();
            collector.describe(own, dense.data() + i * source.features);
            for (std::size_t r = 0; r < collector.reorderings(); ++r) collector.orient(own, r, reordering.data() + (r * options + i) * 6);
        }
    }
    return together(give(std::move(dense), source.features), give(std::move(reordering), 6));
}

}  // namespace

void bind_options(nb::module_& m) {
    using Table = OptionTable;
    bind_record(m, "OptionTable",
                "A phrase table whose target i has the number `numbers[i]` among those of all tables.\n\n"
                "`column` is that of its first score among all features, `ranked` the score of mixtures that ranks their pairs.",
                Field{"sources", &Table::sources}, Field{"index", &Table::index}, Field{"first_pair", &Table::first_pair},
                Field{"target_ids", &Table::target_ids}, Field{"numbers", &Table::numbers}, Field{"scores", &Table::scores},
                Field{"column", &Table::column}, Field{"reordering", &Table::reordering},
                Field{"components", &Table::components}, Field{"ranked", &Table::ranked}, Field{"longest", &Table::longest});
    using Source = OptionSource;
    bind_record(m, "OptionSource",
                "Phrase tables, with shares of components for those that are mixtures to be ranked, and the number of features.",
                Field{"tables", &Source::tables}, Field{"shares", &Source::shares}, Field{"targets", &Source::targets},
                Field{"limit", &Source::limit}, Field{"pass_unknown", &Source::pass_unknown}, Field{"features", &Source::features},
                Field{"word_penalty", &Source::word_penalty}, Field{"phrase_penalty", &Source::phrase_penalty},
                Field{"unknown_word", &Source::unknown_word}, Field{"unknown_score", &Source::unknown_score});
    using Ranking = OptionRanking;
    bind_record(m, "OptionRanking",
                "The best `limit` options of each source phrase by features and language models; each phrase is ranked once.",
                Field{"limit", &Ranking::limit}, Field{"weights", &Ranking::weights},
                Field{"language_models", &Ranking::language_models}, Field{"lm_ids", &Ranking::lm_ids},
                Field{"lm_weights", &Ranking::lm_weights}, Field{"reordering_weights", &Ranking::reordering_weights});
    m.def("collect_options", &collect_options, nb::arg("sentences"), nb::arg("source"), nb::arg("ranking").none(), nb::arg("threads"),
          "The options of sentences, by begin and length of their spans, as columns; all rows are -1 for unknown words.\n\n"
          "With a ranking, their scores too: as `option_scores` and `option_orientations` give them.");
    m.def("option_features", &option_features, nb::arg("rows"), nb::arg("source"),
          "The features of options, and six scores of each reordering model; those of mixtures are 0.");
}

}  // namespace dragoman::search::phrase
