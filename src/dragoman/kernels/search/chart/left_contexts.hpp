// What a chart must remember of the words of a part of a translation: for each language model the first words, whose
// probabilities depend on what will stand before them, and the state after the last.
//
// The first words are kept only until the state after them is the same whatever stands before: until no context of the
// model ends with them and is longer. They are numbered, so that two parts agree if two numbers do.
#pragma once

#include "base/open_addressing.hpp"
#include "lm/language_model.hpp"

#include <cstdint>
#include <vector>

namespace dragoman::search::chart {

using lm::LanguageModelView;

struct ChartLanguageModel {
    LanguageModelView view;
    std::int32_t order;
    std::int32_t start;              // state after <s>
    double weight;                   // per natural-log unit
    const std::uint8_t* extended;  // of each state: whether a longer state ends with its words
    const std::int64_t* bounds;    // first state of each length
    bool closed;                     // whether all endings of states are states; if not, `extended` says too little
};

// A part of a translation that is being read from left to right.
struct Reading {
    double log10 = 0;  // of what has been read, beyond what its parts had scored alone
    std::int32_t left = 0;
    std::int32_t state = 0;
    bool open = true;  // whether words are still first words
};

class LeftContexts {
public:
    explicit LeftContexts(const ChartLanguageModel& model) : model_(model), children_(1024), stride_(static_cast<std::size_t>(std::max(model.order - 1, 1))) {
        nodes_.push_back({0, 0, 0, model.order == 1, 0.0});
        paths_.resize(stride_, 0);
    }

    // Nothing read, and nothing known of what stands before.
    Reading nothing() const { return {0.0, 0, 0, !nodes_[0].closed}; }
    // After something whose state is known and whose beginning matters no more.
    static Reading after(std::int32_t state) { return {0.0, 0, state, false}; }

    void read(Reading& reading, std::int32_t word) {
        if (reading.open) {
            const std::int32_t node = child(reading.left, word);
            reading.left = node;
            reading.state = nodes_[node].state;
            reading.log10 += nodes_[node].log10;
            reading.open = !nodes_[node].closed;
        } else {
            const auto found = model_.view.query(reading.state, word);
            reading.state = found.state;
            reading.log10 += double(found.log10);
        }
    }

    // Reads a part that has been read alone: its first words are scored anew, as far as what stands before matters.
    void read_part(Reading& reading, std::int32_t left, std::int32_t right) {
        if (left == 0) return;
        if (reading.open && reading.left == 0) {
            reading.left = left;
            reading.state = right;
            reading.open = !nodes_[left].closed;
            return;
        }
        if (!reading.open) {
            const Junction& found = junction(reading.state, left);
            reading.log10 += found.log10;
            reading.state = found.state < 0 ? right : found.state;
            return;
        }
        const std::int32_t length = nodes_[left].length;
        for (std::int32_t k = 0; k < length; ++k) {
            const Node part = nodes_[paths_[static_cast<std::size_t>(left) * stride_ + static_cast<std::size_t>(k)]];
            read(reading, part.word);
            reading.log10 -= part.log10;
            if (!reading.open && reading.state == part.state) {
                reading.state = right;
                return;
            }
        }
        if (nodes_[left].closed) reading.state = right;
    }

    // Reads a part of which only the first words up to `left` and the last ones, `right`, are known: what the others score
    // stays what it was alone.
    void read_known(Reading& reading, std::int32_t left, std::int32_t right) {
        if (!reading.open || reading.left != 0) {
            const std::int32_t length = nodes_[left].length;
            for (std::int32_t k = 0; k < length; ++k) {
                const Node part = nodes_[paths_[static_cast<std::size_t>(left) * stride_ + static_cast<std::size_t>(k)]];
                const auto found = model_.view.query(reading.state, part.word);
                reading.state = found.state;
                reading.log10 += double(found.log10) - part.log10;
                if (found.state == part.state) break;
            }
        }
        reading.state = right;
        reading.open = false;
    }

    // The first words up to so many, and the last.
    std::int32_t first_words(std::int32_t left, std::int32_t most) const {
        return nodes_[left].length <= most ? left : most == 0 ? 0 : paths_[static_cast<std::size_t>(left) * stride_ + static_cast<std::size_t>(most) - 1];
    }
    std::int32_t last_words(std::int32_t state, std::int32_t most) const {
        while (most < model_.order - 1 && state >= model_.bounds[most + 1])
            state = model_.view.context(state).state;
        return state;
    }

private:
    struct Node {
        std::int32_t word;
        std::int32_t state;   // after these words alone
        std::int32_t length;
        bool closed;           // whether that is the state after them whatever stands before
        double log10;          // of the last word, after the others alone
    };

    // First words after a state: what they score more than alone, and the state after them, -1: that after the whole part.
    struct Junction {
        std::uint64_t key = 0;
        double log10 = 0;
        std::int32_t state = 0;
    };

    // Recent ones are remembered.
    const Junction& junction(std::int32_t before, std::int32_t left) {
        const std::uint64_t key = LanguageModelView::key(before, left);
        Junction& found = junctions_[mix(key) & (junctions_.size() - 1)];
        if (found.key == key) return found;
        found = {key, 0.0, before};
        const std::int32_t length = nodes_[left].length;
        for (std::int32_t k = 0; k < length && found.state >= 0; ++k) {
            const Node& part = nodes_[paths_[static_cast<std::size_t>(left) * stride_ + static_cast<std::size_t>(k)]];
            const auto read = model_.view.query(found.state, part.word);
            found.log10 += double(read.log10) - part.log10;
            found.state = read.state == part.state ? -1 : read.state;
        }
        if (nodes_[left].closed) found.state = -1;
        return found;
    }

    std::int32_t child(std::int32_t parent, std::int32_t word) {
        const std::uint64_t key = std::uint64_t(static_cast<std::uint32_t>(parent)) << 32 | static_cast<std::uint32_t>(word);
        KeyTable::Slot& slot = children_.slot(key);
        if (slot.number >= 0) return slot.number;
        const auto found = model_.view.query(nodes_[parent].state, word);
        const std::int32_t length = nodes_[parent].length + 1;
        const bool own = found.state >= model_.bounds[length];
        const bool closed = length == model_.order - 1 || (model_.closed && !(own && model_.extended[found.state]));
        const auto node = static_cast<std::int32_t>(nodes_.size());
        nodes_.push_back({word, found.state, length, closed, double(found.log10)});
        const std::size_t from = static_cast<std::size_t>(parent) * stride_, to = static_cast<std::size_t>(node) * stride_;
        paths_.resize(to + stride_, 0);
        for (std::int32_t k = 0; k + 1 < length; ++k) paths_[to + static_cast<std::size_t>(k)] = paths_[from + static_cast<std::size_t>(k)];
        paths_[to + static_cast<std::size_t>(length) - 1] = node;
        children_.put(slot, key, node);
        return node;
    }

    const ChartLanguageModel& model_;
    KeyTable children_;
    std::size_t stride_;
    std::vector<Node> nodes_;
    std::vector<std::int32_t> paths_;  // the nodes on the way to each
    std::vector<Junction> junctions_ = std::vector<Junction>(1 << 13);
};

}  // namespace dragoman::search::chart
