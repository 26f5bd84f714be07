// From the n-grams of a back-off model to the automaton of language_model.hpp.
//
// The n-grams form a trie. Its inner nodes, and leaves with a back-off weight, are the states. Pruned models may lack
// a prefix or a suffix of an n-gram that they hold: prefixes are added with the probability that backing off gives
// them ("implied" n-grams), and the suffix of a state is found by search, not taken for granted.
#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
#include "base/records.hpp"
#include "lm/language_model.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace dragoman::lm {
namespace {

using View = LanguageModelView;
constexpr std::int64_t implied = -1;

class Trie {
public:
    struct Node {
        std::int32_t parent;
        std::int32_t word;
        std::int64_t row = implied;
        bool inner = false;
        std::uint8_t length = 0;
    };

    // Node 0 is the root and node 1 + w the unigram of word w.
    Trie(std::size_t words, std::size_t ngrams) : children_(ngrams) {
        nodes.reserve(1 + words + ngrams);
        nodes.push_back({0, 0, implied, true, 0});
        for (std::size_t w = 0; w < words; ++w) nodes.push_back({0, static_cast<std::int32_t>(w), implied, false, 1});
    }

    std::int32_t find(std::int32_t parent, std::int32_t word) const {
        return parent == 0 ? 1 + word : children_.find(View::key(parent, word));
    }

    std::int32_t add(std::int32_t parent, std::int32_t word) {
        if (parent == 0) return 1 + word;
        const std::uint64_t key = View::key(parent, word);
        KeyTable::Slot& slot = children_.slot(key);
        if (slot.number >= 0) return slot.number;
        if (nodes.size() >= std::size_t(std::numeric_limits<std::int32_t>::max())) throw std::length_error("too many n-grams");
        const auto node = static_cast<std::int32_t>(nodes.size());
        nodes[parent].inner = true;
        nodes.push_back({parent, word, implied, false, static_cast<std::uint8_t>(nodes[parent].length + 1)});
        children_.put(slot, key, node);
        return node;
    }

    std::vector<Node> nodes;

private:
    KeyTable children_;
};

// The rows of all orders, one after the other: order n has rows [bounds[n - 1], bounds[n]).
struct NGramRows {
    std::span<const std::int32_t> words;
    std::span<const float> logprobs, backoffs;
    std::span<const std::int64_t> bounds;

    int order() const { return static_cast<int>(bounds.size()) - 1; }
};

// Adds all n-grams to the trie; returns the row of one that was there already, or -1.
std::int64_t fill(Trie& trie, const NGramRows& rows, const std::atomic<bool>& stop) {
    const std::int32_t* words = rows.words.data();
    for (int n = 1; n <= rows.order(); ++n) {
        // Rows are mostly sorted: nodes of the prefix shared with the row above need no second look-up.
        std::vector<std::int32_t> path(n, 0);
        const std::int32_t* above = nullptr;
        for (std::int64_t row = rows.bounds[n - 1]; row < rows.bounds[n]; ++row, words += n) {
            heed(stop);
            int shared = 0;
            while (above && shared < n - 1 && above[shared] == words[shared]) ++shared;
            for (; shared < n - 1; ++shared) path[shared + 1] = trie.add(path[shared], words[shared]);
            const std::int32_t node = trie.add(path[n - 1], words[n - 1]);
            if (trie.nodes[node].row != implied) return row;
            trie.nodes[node].row = row;
            above = words;
        }
    }
    return -1;
}

// Slots come by so many, so that a table can be filled in parts.
constexpr std::size_t slots_at_once = 1024;

// So many that at most half are taken.
std::size_t count_slots(std::size_t entries) { return (2 * entries + slots_at_once) / slots_at_once * slots_at_once; }

struct Arranged {
    std::vector<std::uint64_t> slots, states;
    std::vector<std::int64_t> places;  // of each n-gram: its slot or, behind all slots, its context
};

// Lays n-grams out, given by contexts and words (keys), and what is known of the contexts.
Arranged arrange(std::span<const std::uint64_t> contexts, std::span<const std::uint64_t> keys,
                 std::span<const std::uint64_t> entries, const std::atomic<bool>& stop) {
    Arranged made;
    made.states.resize(View::COLUMNS * contexts.size());
    for (std::size_t s = 0; s < contexts.size(); ++s) {
        made.states[View::COLUMNS * s] = contexts[s];
        made.states[View::COLUMNS * s + View::WORD] = View::no_word;
    }
    const auto record = [&](std::uint64_t key) { return made.states.data() + View::COLUMNS * (key >> 32); };
    const auto word = [](std::uint64_t key) { return key & View::no_word; };
    std::size_t in_records = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        heed(stop);
        std::uint64_t* const own = record(keys[i]);
        const bool first = own[View::WORD] == View::no_word;
        const float log10 = View::unpack(entries[i]).log10, best = View::unpack(own[View::LIKELIEST]).log10;
        in_records += first;
        if (first || log10 > best || (log10 == best && word(keys[i]) < own[View::WORD])) {
            own[View::WORD] = word(keys[i]);
            own[View::LIKELIEST] = entries[i];
        }
    }
    const std::size_t slots = count_slots(keys.size() - in_records);
    made.slots.assign(2 * slots, 0);
    made.places.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        heed(stop);
        std::uint64_t* const own = record(keys[i]);
        if (own[View::WORD] == word(keys[i])) {
            made.places[i] = static_cast<std::int64_t>(slots + (keys[i] >> 32));
            continue;
        }
        std::size_t at = View::home(keys[i], slots);
        while (made.slots[2 * at] != 0) at = at + 1 == slots ? 0 : at + 1;
        made.slots[2 * at] = keys[i];
        made.slots[2 * at + 1] = entries[i];
        made.places[i] = static_cast<std::int64_t>(at);
        own[View::FILTER] |= View::filter_bit(static_cast<std::int32_t>(word(keys[i])));
    }
    return made;
}

struct BuiltAutomaton {
    std::vector<std::uint64_t> slots, states, unigrams;
    std::vector<std::int64_t> bounds;         // states of length n are [bounds[n], bounds[n + 1])
    std::vector<std::int64_t> implied_slots;  // places whose n-gram the model does not list
    std::vector<std::int32_t> implied_words;  // words whose unigram it does not list
};

BuiltAutomaton link(const Trie& trie, const NGramRows& rows, std::size_t words, float unknown,
                    const std::atomic<bool>& stop) {
    const auto& nodes = trie.nodes;
    const auto backoff = [&](const Trie::Node& node) { return node.row == implied ? 0.0F : rows.backoffs[node.row]; };
    const auto is_state = [&](const Trie::Node& node) {
        return node.inner || (node.length < rows.order() && backoff(node) != 0.0F);
    };

    // Implied prefixes were added late; a stable pass brings all nodes into the order of their lengths.
    std::vector<std::size_t> starts(rows.order() + 2, 0);
    for (const auto& node : nodes) ++starts[node.length + 1];
    for (std::size_t n = 1; n < starts.size(); ++n) starts[n] += starts[n - 1];
    std::vector<std::int32_t> by_length(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) by_length[starts[nodes[i].length]++] = static_cast<std::int32_t>(i);

    BuiltAutomaton made;
    made.unigrams.resize(words);
    const std::size_t entries = nodes.size() - 1 - words;
    std::vector<std::uint64_t> contexts, keys, packed;  // of states; of n-grams
    keys.reserve(entries);
    packed.reserve(entries);
    std::vector<std::size_t> added;  // n-grams that the model does not list

    std::vector<View::Entry> found(nodes.size(), {0, 0});  // of each node: probability, state that it leads to
    std::vector<std::size_t> own(nodes.size(), 0);  // its state, if it is one
    std::vector<std::int32_t> node_of_state;
    int length = -1;
    for (const std::int32_t id : by_length) {
        heed(stop);
        const auto& node = nodes[id];
        for (; length < node.length; ++length) made.bounds.push_back(static_cast<std::int64_t>(node_of_state.size()));
        View::Entry suffix{0, 0};
        if (node.length == 1) {
            suffix.log10 = unknown;
        } else if (node.length > 1) {
            // What backing off from the parent's context gives: the first suffix of it that the word extends.
            auto context = View::unpack(contexts[own[node.parent]]);
            float weight = context.log10;
            std::int32_t lower = -1;
            while ((lower = trie.find(node_of_state[context.state], node.word)) < 0) {
                context = View::unpack(contexts[static_cast<std::size_t>(context.state)]);
                weight += context.log10;
            }
            suffix = {weight + found[lower].log10, found[lower].state};
        }
        found[id] = {node.row == implied ? suffix.log10 : rows.logprobs[node.row], suffix.state};
        if (is_state(node)) {
            own[id] = node_of_state.size();
            found[id].state = static_cast<std::int32_t>(own[id]);
            contexts.push_back(View::pack(backoff(node), suffix.state));
            node_of_state.push_back(id);
        }
        const std::uint64_t entry = View::pack(found[id].log10, found[id].state);
        if (node.length == 1) {
            made.unigrams[node.word] = entry;
            if (node.row == implied) made.implied_words.push_back(node.word);
        } else if (node.length > 1) {
            if (node.row == implied) added.push_back(keys.size());
            keys.push_back(View::key(static_cast<std::int32_t>(own[node.parent]), node.word));
            packed.push_back(entry);
        }
    }
    auto arranged = arrange(contexts, keys, packed, stop);
    made.slots = std::move(arranged.slots);
    made.states = std::move(arranged.states);
    for (const std::size_t ngram : added) made.implied_slots.push_back(arranged.places[ngram]);
    while (made.bounds.size() < rows.bounds.size()) made.bounds.push_back(static_cast<std::int64_t>(node_of_state.size()));
    return made;
}

auto lm_index(In1<std::int32_t> words, In1<float> logprobs, In1<float> backoffs, In1<std::int64_t> bounds,
              std::size_t vocab_size, float missing_unknown) {
    const NGramRows rows{view(words), view(logprobs), view(backoffs), view(bounds)};
    BuiltAutomaton made;
    std::int64_t duplicate = -1;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        Trie trie(vocab_size, rows.logprobs.size());
        duplicate = fill(trie, rows, stop);
        if (duplicate >= 0) return;
        // Words without a unigram are unknown words.
        const std::int64_t row = trie.nodes[1].row;
        made = link(trie, rows, vocab_size, row == implied ? missing_unknown : rows.logprobs[row], stop);
    });
    return together(give(std::move(made.slots), 2), give(std::move(made.states), View::COLUMNS), give(std::move(made.unigrams)),
                    give(std::move(made.bounds)), give(std::move(made.implied_slots)),
                    give(std::move(made.implied_words)), duplicate);
}

auto lm_arrange(In1<std::uint64_t> contexts, In1<std::uint64_t> keys, In1<std::uint64_t> entries) {
    require(keys.size() == entries.size(), "n-grams need a key and an entry each");
    Arranged made;
    run_interruptibly([&](const std::atomic<bool>& stop) { made = arrange(view(contexts), view(keys), view(entries), stop); });
    return together(give(std::move(made.slots), 2), give(std::move(made.states), View::COLUMNS),
                    give(std::move(made.places)));
}

// The slot at which the search for each key begins.
auto lm_homes(In1<std::uint64_t> keys, std::uint64_t slots) {
    std::vector<std::int64_t> homes(keys.size());
    for (std::size_t i = 0; i < homes.size(); ++i) homes[i] = static_cast<std::int64_t>(View::home(keys.data()[i], slots));
    return give(std::move(homes));
}

}  // namespace

void bind_index(nb::module_& m) {
    m.def("lm_index", &lm_index, nb::arg("words"), nb::arg("logprobs"), nb::arg("backoffs"), nb::arg("bounds"),
          nb::arg("vocab_size"), nb::arg("missing_unknown"),
          "The automaton of lm/language_model.hpp for n-grams: rows [bounds[n - 1], bounds[n]) have order n, their\n"
          "words stand one after the other in `words`; at least order 1, words below `vocab_size`. Gives slots,\n"
          "states, unigrams, bounds of the states of each length, places and words that the n-grams only imply, and\n"
          "the row of an n-gram that stands there twice, or -1 (if not -1, the arrays are empty).");
    m.def("lm_arrange", &lm_arrange, nb::arg("contexts"), nb::arg("keys"), nb::arg("entries"),
          "Slots and states for n-grams, given by keys (context and word) and entries, whose contexts have the\n"
          "back-off weights and suffixes `contexts`; and the place of each n-gram: its slot or, behind all slots, its\n"
          "context.");
    m.def("lm_slots", &count_slots, nb::arg("entries"), "How many slots a table for so many n-grams has.");
    m.def("lm_homes", &lm_homes, nb::arg("keys"), nb::arg("slots"), "The slot of each key in a table of so many slots.");
}

}  // namespace dragoman::lm
