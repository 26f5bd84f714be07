// Incremental search (Heafield, Koehn & Lavie 2013): items of a cell that agree in their boundary words are tried together.
//
// The items of a cell are the leaves of a tree: at its root nothing is known of them, further down more and more of their
// first and last words, one at a time from either side. A group is a rule with a vertex of such a tree in each hole; it
// scores what its best items score, with what the language models say of the words that are known. The best group is
// split: into its best child, scored anew, and the others, which keep their score.
#include "search/chart/search.hpp"

#include <algorithm>
#include <numbers>

namespace dragoman::search::chart {

// The tree of a cell, which is begun when it is needed first.
std::int32_t ChartSearch::root(const std::span<const std::int32_t>& members) {
    const auto place = static_cast<std::size_t>(members.data() - sorted_.data());
    if (roots_.size() <= place) roots_.resize(sorted_.size(), -1);
    if (roots_[place] >= 0) return roots_[place];
    const auto first = static_cast<std::int32_t>(grouped_.size());
    grouped_.insert(grouped_.end(), members.begin(), members.end());
    const auto vertex = static_cast<std::int32_t>(vertices_.size());
    const bool alone = members.size() == 1;
    vertices_.push_back({items[members[0]].score, alone ? members[0] : -1, -1, 0, 0, first, static_cast<std::int32_t>(grouped_.size())});
    for (std::size_t i = 0; i < state_.size(); ++i)
        vertex_states_.push_back(alone ? states_[state_.size() * static_cast<std::size_t>(members[0]) + i] : 0);
    return roots_[place] = vertex;
}

// Finds the children of a vertex: its items by one boundary word more, or by more than one if they agree in it.
void ChartSearch::split(std::int32_t number) {
    if (vertices_[number].first_child >= 0) return;
    const std::int32_t first = vertices_[number].first, last = vertices_[number].last;
    const std::size_t width = state_.size();
    std::int32_t level = vertices_[number].level;
    std::vector<std::int32_t> keys, distinct;
    std::vector<std::int32_t> child(static_cast<std::size_t>(last - first));
    while (distinct.size() <= width) {
        ++level;
        // First words at odd levels, last words at even ones; in the end all that there is.
        const std::int32_t left = (level + 1) / 2, right = level / 2;
        keys.clear();
        distinct.clear();
        for (std::int32_t i = first; i < last; ++i) {
            const std::int32_t* const state = states_.data() + width * static_cast<std::size_t>(grouped_[i]);
            for (std::size_t k = 0; k < lms(); ++k) {
                keys.push_back(space_.contexts[k].first_words(state[2 * k], left));
                keys.push_back(space_.contexts[k].last_words(state[2 * k + 1], right));
            }
            const auto own = keys.end() - static_cast<std::ptrdiff_t>(width);
            std::size_t c = 0;
            for (; c * width < distinct.size(); ++c)
                if (std::equal(own, keys.end(), distinct.begin() + static_cast<std::ptrdiff_t>(c * width))) break;
            if (c * width == distinct.size()) distinct.insert(distinct.end(), own, keys.end());
            child[static_cast<std::size_t>(i - first)] = static_cast<std::int32_t>(c);
        }
        if (width == 0) break;
    }
    const auto children = width == 0 ? 1 : static_cast<std::int32_t>(distinct.size() / width);
    // Items come best first, and so do the children.
    const auto begin = static_cast<std::int32_t>(vertices_.size());
    for (std::int32_t c = 0; c < children; ++c) {
        const auto from = static_cast<std::int32_t>(grouped_.size());
        for (std::int32_t i = first; i < last; ++i)
            if (child[static_cast<std::size_t>(i - first)] == c) {
                const std::int32_t item = grouped_[i];
                grouped_.push_back(item);
            }
        const auto to = static_cast<std::int32_t>(grouped_.size());
        const std::int32_t best = grouped_[from];
        const bool alone = to - from == 1;
        vertices_.push_back({items[best].score, alone ? best : -1, -1, 0, level, from, to});
        for (std::size_t i = 0; i < width; ++i)
            vertex_states_.push_back(alone ? states_[width * static_cast<std::size_t>(best) + i] : distinct[static_cast<std::size_t>(c) * width + i]);
    }
    vertices_[number].first_child = begin;
    vertices_[number].children = children;
}

double ChartSearch::best(const Group& group, int hole) const {
    const Vertex& vertex = vertices_[group.vertex[hole]];
    return group.child[hole] == 0 ? vertex.best : vertices_[vertex.first_child + group.child[hole]].best;
}

// What a group scores beside its items, with the words that are known.
void ChartSearch::score(Group& group) {
    const Cube& cube = cubes_[group.cube];
    const std::int32_t rule = cube.rules[group.rule];
    group.score = cube.match < 0 ? cube.glue : batch_.local(rule) + batch_.match_score(first_match_ + cube.match, rule);
    const std::int32_t* parts[2] = {nullptr, nullptr};
    for (int hole = 0; hole < 2; ++hole)
        if (!cube.tails[hole].empty()) parts[hole] = vertex_states_.data() + state_.size() * static_cast<std::size_t>(group.vertex[hole]);
    for (std::size_t k = 0; k < lms(); ++k) {
        Reading reading;
        if (cube.match >= 0) {
            reading = space_.read_known(k, rule, parts);
        } else {
            const bool starts = cube.match == FIRST;
            reading = LeftContexts::after(starts ? batch_.models[k].start : parts[0][2 * k + 1]);
            const std::int32_t* part = parts[starts ? 0 : 1] + 2 * k;
            space_.contexts[k].read_known(reading, part[0], part[1]);
        }
        group.score += batch_.models[k].weight * std::numbers::ln10 * reading.log10;
    }
}

void ChartSearch::queue(const Group& group) {
    double score = group.score;
    for (int hole = 0; hole < 2; ++hole)
        if (group.vertex[hole] >= 0) score += best(group, hole);
    heap_.push_back({score, static_cast<std::int32_t>(groups_.size())});
    groups_.push_back(group);
    std::push_heap(heap_.begin(), heap_.end());
}

void ChartSearch::fill_incrementally(std::int32_t begin, std::int32_t end) {
    groups_.clear();
    heap_.clear();
    const auto start = [&](std::int32_t number, std::int32_t rule) {
        const Cube& cube = cubes_[number];
        Group group{0.0, number, rule, {-1, -1}, {0, 0}, true};
        for (int hole = 0; hole < 2; ++hole)
            if (!cube.tails[hole].empty()) group.vertex[hole] = root(cube.tails[hole]);
        group.score = cube.glue;
        if (cube.match >= 0) group.score = order_.estimates[cube.rules[rule]] + batch_.match_score(first_match_ + cube.match, cube.rules[rule]);
        queue(group);
    };
    for (std::size_t c = 0; c < cubes_.size(); ++c) start(static_cast<std::int32_t>(c), 0);
    double top = -std::numeric_limits<double>::infinity();
    for (std::int64_t popped = 0, limit = pop_limit(); popped < limit && !heap_.empty() && !stop_;) {
        std::pop_heap(heap_.begin(), heap_.end());
        const double score = heap_.back().score;
        Group group = groups_[heap_.back().candidate];
        heap_.pop_back();
        if (score < top - limits_.threshold) break;
        const Cube& cube = cubes_[group.cube];
        if (group.initial && group.rule + 1 < static_cast<std::int32_t>(cube.rules.size())) start(group.cube, group.rule + 1);
        group.initial = false;
        int hole = -1;
        for (int k = 0; k < 2; ++k)
            if (group.vertex[k] >= 0 && vertices_[group.vertex[k]].item < 0 &&
                (hole < 0 || vertices_[group.vertex[k]].level < vertices_[group.vertex[hole]].level))
                hole = k;
        if (hole < 0) {
            const std::int32_t first = group.vertex[0] < 0 ? -1 : vertices_[group.vertex[0]].item;
            const std::int32_t second = group.vertex[1] < 0 ? -1 : vertices_[group.vertex[1]].item;
            double edge = 0;
            evaluate(cube, cube.rules[group.rule], first, second, edge);
            add(cube, cube.rules[group.rule], first, second, edge, begin, end);
            top = std::max(top, score);
            ++popped;
            continue;
        }
        split(group.vertex[hole]);
        const Vertex vertex = vertices_[group.vertex[hole]];
        if (group.child[hole] + 1 < vertex.children) {
            Group others = group;
            ++others.child[hole];
            queue(others);
        }
        group.vertex[hole] = vertex.first_child + group.child[hole];
        group.child[hole] = 0;
        this->score(group);
        queue(group);
    }
}

}  // namespace dragoman::search::chart
