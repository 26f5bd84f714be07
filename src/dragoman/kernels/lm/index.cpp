// From the n-grams of a back-off model to the automaton of language_model.hpp.
//
// The n-grams form a trie. Its inner nodes, and leaves with a back-off weight, are the states. Pruned models may lack
// a prefix or a suffix of an n-gram that they hold: prefixes are added with the probability that backing off gives
// them ("implied" n-grams), and the suffix of a state is found by search, not taken for granted.
#include "base/arrays.hpp"
#include "base/open_addressing.hpp"
#include "base/parallel.hpp"
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

struct BuiltAutomaton {
    std::vector<std::uint64_t> slots, states, unigrams;
    std::vector<std::int64_t> bounds;         // states of length n are [bounds[n], bounds[n + 1])
    std::vector<std::int64_t> implied_slots;  // slots whose n-gram the model does not list
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
    const std::size_t slots = std::bit_ceil(entries + entries / 2 + 1);
    made.slots.assign(2 * slots, 0);

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
            auto context = View::unpack(made.states[2 * own[node.parent]]);
            float weight = context.log10;
            std::int32_t lower = -1;
            while ((lower = trie.find(node_of_state[context.state], node.word)) < 0) {
                context = View::unpack(made.states[2 * std::size_t(context.state)]);
                weight += context.log10;
            }
            suffix = {weight + found[lower].log10, found[lower].state};
        }
        found[id] = {node.row == implied ? suffix.log10 : rows.logprobs[node.row], suffix.state};
        if (is_state(node)) {
            own[id] = node_of_state.size();
            found[id].state = static_cast<std::int32_t>(own[id]);
            made.states.insert(made.states.end(), {View::pack(backoff(node), suffix.state), 0});
            node_of_state.push_back(id);
        }
        const std::uint64_t entry = View::pack(found[id].log10, found[id].state);
        if (node.length == 1) {
            made.unigrams[node.word] = entry;
            if (node.row == implied) made.implied_words.push_back(node.word);
        } else if (node.length > 1) {
            const std::uint64_t key = View::key(static_cast<std::int32_t>(own[node.parent]), node.word);
            std::size_t at = mix(key) & (slots - 1);
            while (made.slots[2 * at] != 0) at = (at + 1) & (slots - 1);
            made.slots[2 * at] = key;
            made.slots[2 * at + 1] = entry;
            made.states[2 * own[node.parent] + 1] |= View::filter_bit(node.word);
            if (node.row == implied) made.implied_slots.push_back(static_cast<std::int64_t>(at));
        }
    }
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
    return together(give(std::move(made.slots), 2), give(std::move(made.states), 2), give(std::move(made.unigrams)),
                    give(std::move(made.bounds)), give(std::move(made.implied_slots)),
                    give(std::move(made.implied_words)), duplicate);
}

// The slot at which the search for each key begins.
auto lm_homes(In1<std::uint64_t> keys, std::uint64_t slots) {
    std::vector<std::int64_t> homes(keys.size());
    for (std::size_t i = 0; i < homes.size(); ++i) homes[i] = static_cast<std::int64_t>(mix(keys.data()[i]) & (slots - 1));
    return give(std::move(homes));
}

}  // namespace

void bind_index(nb::module_& m) {
    m.def("lm_index", &lm_index, nb::arg("words"), nb::arg("logprobs"), nb::arg("backoffs"), nb::arg("bounds"),
          nb::arg("vocab_size"), nb::arg("missing_unknown"),
          "The automaton of lm/language_model.hpp for n-grams: rows [bounds[n - 1], bounds[n]) have order n, their\n"
          "words stand one after the other in `words`; at least order 1, words below `vocab_size`. Gives slots,\n"
          "states, unigrams, bounds of the states of each length, slots and words that the n-grams only imply, and\n"
          "the row of an n-gram that stands there twice, or -1 (if not -1, the arrays are empty).");
    m.def("lm_homes", &lm_homes, nb::arg("keys"), nb::arg("slots"), "The slot of each key in a table of so many slots.");
}

}  // namespace dragoman::lm
