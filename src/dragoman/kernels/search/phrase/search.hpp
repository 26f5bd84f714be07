// Searches over the space of space.hpp: stack decoding, cube pruning, and exhaustive search.
//
// All three fill one stack for each number of covered words with nodes (recombined partial derivations) and arcs; they
// differ in which expansions they look at and which nodes they keep.
#pragma once

#include "base/parallel.hpp"
#include "search/limits.hpp"
#include "search/phrase/space.hpp"

#include <atomic>
#include <optional>
#include <stdexcept>
#include <utility>

namespace dragoman::search::phrase {

struct SearchNode {
    double score;  // of the best derivation so far
    double total;  // with the estimate of what is left
    std::int32_t coverage, exit, lm, position;
    std::int32_t option, back;  // the best last option, and the node before it
};

struct SearchArc {
    std::int32_t head, tail, option;
    double score;
};

class PhraseSearch {
public:
    // `target`, if there is one, is the only translation allowed, as ids that match `target_words` of the options. The
    // search gives up when somebody sets `stop`.
    PhraseSearch(PhraseSpace& space, const SearchLimits& limits, const std::atomic<bool>& stop,
                 std::optional<Words> target, const std::int32_t* target_words)
        : space_(space), limits_(limits), stop_(stop), target_(target), target_words_(target_words),
          stacks_(static_cast<std::size_t>(space.length()) + 1) {
        nodes.push_back({0.0, 0.0, 0, -1, space.start_lm(), 0, -1, -1});
        stacks_[0].members.push_back(0);
    }

    std::vector<SearchNode> nodes;
    std::vector<SearchArc> arcs;   // if limits.keep_all
    std::vector<SearchArc> goals;  // arcs into the goal: head -1
    std::int32_t best = -1;        // the node of the best complete derivation
    double best_score = -std::numeric_limits<double>::infinity();
    std::int64_t expansions = 0;

    Outcome run() {
        for (std::int32_t covered = 0; covered <= space_.length(); ++covered) {
            if (limits_.algorithm == Algorithm::CUBE) fill(stacks_[covered]);
            settle(stacks_[covered]);
            if (covered == space_.length()) break;
            if (limits_.algorithm == Algorithm::CUBE)
                collect_rows(covered);
            else
                expand(covered);
            if (too_large()) return Outcome::TOO_LARGE;
        }
        for (std::int32_t id : stacks_.back().members) {
            const SearchNode& node = nodes[id];
            if (target_ && node.position != static_cast<std::int32_t>(target_->size())) continue;
            const double closing = space_.finish(node.lm) + space_.close(node.option);
            goals.push_back({-1, id, -1, closing});
            if (node.score + closing > best_score) {
                best_score = node.score + closing;
                best = id;
            }
        }
        return best < 0 ? Outcome::NONE : Outcome::FOUND;
    }

private:
    // A rectangle of cube pruning: nodes of one coverage by options of one span, best first.
    struct Square {
        double future;
        std::int32_t before, begin, end;  // coverage, and the span that comes next
        std::int32_t coverage = -1;       // with it, once somebody looks
    };
    // A row of a square: its node, and the total of its best cell as predicted.
    struct Row {
        double total;
        std::int32_t square, node;
        bool operator<(const Row& other) const {  // the better one
            if (total != other.total) return total > other.total;
            return square != other.square ? square < other.square : node < other.node;
        }
    };
    static constexpr double none = -std::numeric_limits<double>::infinity();
    struct Stack {
        std::vector<std::int32_t> members;  // node ids
        std::optional<NumberTable> table;   // over them, while the stack grows
        double best = none;
        double floor = none;    // what a node needs to be among the best of the beam
        std::size_t above = 0;  // members at or above the floor
        std::vector<Square> squares;
        std::vector<Row> rows;
        double least = none;  // what a row needs to be among the best of the beam
    };

    bool too_large() const {
        return static_cast<std::int64_t>(nodes.size() + arcs.size()) > limits_.max_size;
    }
    bool pruning() const { return limits_.algorithm != Algorithm::EXHAUSTIVE; }

    // The number of nodes that a stack may keep.
    std::size_t beam() const {
        const std::int32_t size = limits_.algorithm == Algorithm::STACK ? limits_.stack_size : limits_.pop_limit;
        return pruning() && size > 0 ? static_cast<std::size_t>(size) : std::numeric_limits<std::size_t>::max() / 4;
    }

    // Calls visit(first, last, begin, end, future) for every coverage of a stack (its nodes are members[first:last]) and
    // every span that may come next.
    template <class Visit>
    void for_spans(const Stack& stack, Visit&& visit) {
        const auto& members = stack.members;
        const int limit = space_.model.reordering_limit;
        for (std::size_t first = 0, last; first < members.size(); first = last) {
            const std::int32_t coverage = nodes[members[first]].coverage;
            std::int32_t farthest = 0;
            for (last = first; last < members.size() && nodes[members[last]].coverage == coverage; ++last)
                farthest = std::max(farthest, space_.end_of(nodes[members[last]].option));
            space_.find_gaps(coverage, gaps_);
            const std::int32_t gap = gaps_[0].begin;
            const std::int32_t stop = limit < 0 ? space_.length() : std::min(space_.length(), farthest + limit + 1);
            for (const auto& [open, close] : gaps_)
                for (std::int32_t begin = open; begin < std::min(stop, close); ++begin)
                    for (std::int32_t end = begin + 1; end <= std::min(close, begin + space_.longest()); ++end) {
                        // A beam keeps away from dead ends: the first gap must stay in reach of the span's end.
                        if (pruning() && begin != gap && limit >= 0 && end - gap > limit) break;
                        if (space_.on_span(begin, end).empty()) continue;
                        heed(stop_);
                        visit(first, last, begin, end, pruning() ? space_.future(gaps_, begin, end) : 0.0);
                    }
        }
    }

    // Expands a stack. Language models are not read for what the beam would drop, as predicted.
    void expand(std::int32_t covered) {
        Stack& stack = stacks_[covered];
        for_spans(stack, [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, double future) {
            const std::int32_t coverage = space_.coverages.with(nodes[stack.members[first]].coverage, begin, end);
            Stack& into = stacks_[covered + end - begin];
            const auto options = space_.on_span(begin, end);
            for (std::size_t m = first; m < last && !too_large(); ++m) {
                const std::int32_t id = stack.members[m];
                const SearchNode node = nodes[id];
                if (!space_.within_limit(space_.end_of(node.option), begin)) continue;
                const auto joint = space_.joint(node.option, options[0]);
                const double base = node.score + future + slack_.value();
                if (is_below(into, base + space_.best_join(joint, begin, end))) continue;
                const auto steps = space_.span_row(node.lm, begin, end);
                for (std::size_t i = 0; i < options.size(); ++i) {
                    const std::int32_t option = options[i];
                    std::int32_t position = 0;
                    if (target_ && !matches(node.position, option, position)) continue;
                    if (is_below(into, base + space_.most_join(joint) + space_.estimate(option))) break;
                    const double join = space_.join(joint, option);
                    if (is_below(into, base + join + space_.estimate(option))) continue;
                    const auto& step = space_.read(steps, i, node.lm, option);
                    const double score = node.score + space_.options.local[option] + join + step.score;
                    ++expansions;
                    if (i == 0) slack_.add(score - node.score - join - space_.estimate(option));
                    add(into, {score, score + future, coverage, space_.exit_of(option), step.lm, position, option, id});
                }
            }
        });
    }

    bool matches(std::int32_t position, std::int32_t option, std::int32_t& after) const {
        const auto first = space_.options.word_offsets[option], last = space_.options.word_offsets[option + 1];
        after = position + static_cast<std::int32_t>(last - first);
        return after <= static_cast<std::int32_t>(target_->size()) &&
               std::equal(target_words_ + first, target_words_ + last, target_->begin() + position);
    }

    // Whether the beam has no place for a total.
    bool is_below(const Stack& stack, double total) const {
        return pruning() && total < std::max(stack.floor, stack.best - limits_.threshold);
    }

    // Adds a node, or a way to one that is there, unless the beam has no place for it; returns its number, or -1.
    std::int32_t add(Stack& stack, const SearchNode& node) {
        if (is_below(stack, node.total)) return -1;
        if (!stack.table) stack.table.emplace(256);
        std::int32_t& slot = stack.table->slot(hash(node), [&](std::int32_t id) {
            const SearchNode& there = nodes[id];
            return there.coverage == node.coverage && there.exit == node.exit && there.lm == node.lm && there.position == node.position;
        });
        if (slot >= 0) {
            SearchNode& there = nodes[slot];
            if (limits_.keep_all) arcs.push_back({slot, node.back, node.option, node.score - nodes[node.back].score});
            if (node.score > there.score) {
                stack.above += there.total < stack.floor;
                there = node;
            }
            stack.best = std::max(stack.best, there.total);
            raise_floor(stack);
            return slot;
        }
        const auto id = slot = static_cast<std::int32_t>(nodes.size());
        nodes.push_back(node);
        stack.members.push_back(id);
        stack.best = std::max(stack.best, node.total);
        ++stack.above;
        if (limits_.keep_all) arcs.push_back({id, node.back, node.option, node.score - nodes[node.back].score});
        stack.table->make_room(stack.members, [&](std::int32_t member) { return hash(nodes[member]); });
        raise_floor(stack);
        return id;
    }

    void raise_floor(Stack& stack) {
        const std::size_t wanted = beam();
        if (stack.above < 2 * wanted) return;
        totals_.clear();
        for (std::int32_t id : stack.members)
            if (nodes[id].total >= stack.floor) totals_.push_back(nodes[id].total);
        stack.floor = least_of_best(wanted);
        stack.above = wanted;
    }

    static std::uint64_t hash(const SearchNode& node) {
        const auto word = [](std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)); };
        return mix(mix(word(node.coverage) << 32 | word(node.exit)) ^ (word(node.lm) << 32 | word(node.position)));
    }

    // Drops what the limits do not allow from a finished stack; nodes of one coverage come together, best first.
    void settle(Stack& stack) {
        auto& members = stack.members;
        if (members.size() > beam()) {
            const auto better = [&](std::int32_t a, std::int32_t b) { return nodes[a].total != nodes[b].total ? nodes[a].total > nodes[b].total : a < b; };
            std::nth_element(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(beam()), members.end(), better);
            members.resize(beam());
        }
        if (pruning()) std::erase_if(members, [&](std::int32_t id) { return nodes[id].total < stack.best - limits_.threshold; });
        std::sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
            if (nodes[a].coverage != nodes[b].coverage) return nodes[a].coverage < nodes[b].coverage;
            return nodes[a].score != nodes[b].score ? nodes[a].score > nodes[b].score : a < b;
        });
        stack.table.reset();
    }

    // Cube pruning (Huang & Chiang 2007) without a queue. Of all rows that lead into a stack, the best are collected, by the
    // predicted totals of their best cells.
    void collect_rows(std::int32_t covered) {
        const Stack& stack = stacks_[covered];
        const std::size_t wanted = beam() + 8;
        for_spans(stack, [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, double future) {
            Stack& into = stacks_[covered + end - begin];
            const std::int32_t option = space_.on_span(begin, end)[0];
            const std::size_t before = into.rows.size();
            for (std::size_t m = first; m < last; ++m) {
                const SearchNode& node = nodes[stack.members[m]];
                if (!space_.within_limit(space_.end_of(node.option), begin)) continue;
                const auto joint = space_.joint(node.option, option);
                const double total = node.score + space_.best_join(joint, begin, end) + future;
                if (total >= into.least) into.rows.push_back({total, static_cast<std::int32_t>(into.squares.size()), stack.members[m]});
            }
            if (into.rows.size() == before) return;
            into.squares.push_back({future, nodes[stack.members[first]].coverage, begin, end});
            if (into.rows.size() < 2 * wanted) return;
            std::nth_element(into.rows.begin(), into.rows.begin() + static_cast<std::ptrdiff_t>(wanted - 1), into.rows.end());
            into.rows.resize(wanted);
            into.least = into.rows.back().total;
        });
    }

    // Fills a stack from the cells of its rows with the best predicted totals, half as many again as it may keep. Only for
    // these are language models read.
    void fill(Stack& stack) {
        std::sort(stack.rows.begin(), stack.rows.end());
        totals_.clear();
        const std::size_t wanted = beam() + beam() / 2 + 1;
        double least = none;
        std::size_t kept = 0;
        for (const Row row : stack.rows) {
            if (row.total < least) break;
            heed(stop_);
            const SquareRow found(*this, stack, row);
            const bool dominated = is_dominated(found, first_square_ + static_cast<std::uint32_t>(row.square));
            if (dominated && !limits_.keep_all) continue;
            double best = none;
            for (const std::int32_t option : found.options) {
                if (found.most + space_.estimate(option) < least) break;
                const double total = found.predict(space_.join(found.joint, option), space_.estimate(option));
                best = std::max(best, total);
                if (total >= least && !dominated) totals_.push_back(total);
            }
            stack.rows[kept++] = {best, row.square, row.node};
            if (totals_.size() >= 2 * wanted) least = least_of_best(wanted);
        }
        if (totals_.size() > wanted) least = least_of_best(wanted);
        stack.rows.resize(kept);
        for (const Row& row : stack.rows) {
            if (row.total < least || too_large()) continue;
            heed(stop_);
            const SquareRow found(*this, stack, row);
            Square& square = stack.squares[row.square];
            if (square.coverage < 0) square.coverage = space_.coverages.with(square.before, square.begin, square.end);
            for (std::size_t i = 0; i < found.options.size(); ++i) {
                const std::int32_t option = found.options[i];
                if (found.most + space_.estimate(option) < least) break;
                const double join = space_.join(found.joint, option);
                if (found.predict(join, space_.estimate(option)) < least) continue;
                const auto& step = space_.read(found.steps, i, found.lm, option);
                const double score = found.score + space_.options.local[option] + join + step.score;
                ++expansions;
                add(stack, {score, score + square.future, square.coverage, space_.exit_of(option), step.lm, 0, option, row.node});
            }
        }
        first_square_ += static_cast<std::uint32_t>(stack.squares.size());
        stack.squares = {};
        stack.rows = {};
    }

    // A row, with all that its cells have in common.
    struct SquareRow {
        SquareRow(PhraseSearch& search, const Stack& stack, const Row& row)
            : square(stack.squares[row.square]), options(search.space_.on_span(square.begin, square.end)), score(search.nodes[row.node].score),
              lm(search.nodes[row.node].lm), joint(search.space_.joint(search.nodes[row.node].option, options[0])),
              steps(search.space_.span_row(lm, square.begin, square.end)) {
            most = score + square.future + search.space_.most_join(joint);
            most += 1e-12 * std::abs(most);  // sums are rounded
        }
        double predict(double join, double estimate) const { return score + square.future + join + estimate; }

        const Square& square;
        std::span<const std::int32_t> options;
        double score;
        std::int32_t lm;
        PhraseSpace::Joint joint;
        PhraseSpace::SpanRow steps;
        double most;  // that a cell can be predicted without the estimate of its option
    };

    // Whether a better row of the square differs in nothing but its score, so that all that follows this one would recombine.
    // Rows of other squares with the same steps may hide it.
    bool is_dominated(const SquareRow& row, std::uint32_t square) const {
        if (space_.model.boundary != nullptr) return false;
        const std::uint32_t number = 8 * (square + 1), bit = 1U << row.joint.orientation;
        if ((row.steps.mark & ~7U) != number) row.steps.mark = number;
        const bool known = row.steps.mark & bit;
        row.steps.mark |= bit;
        return known;
    }

    // Keeps the best of totals_, and returns the least of them.
    double least_of_best(std::size_t wanted) {
        std::nth_element(totals_.begin(), totals_.begin() + static_cast<std::ptrdiff_t>(wanted - 1), totals_.end(), std::greater<>());
        totals_.resize(wanted);
        return totals_.back();
    }

    // How far scores exceed their predictions: the mean of those seen so far.
    class Slack {
    public:
        void add(double excess) { sum_ += excess, mean_ = sum_ / ++count_; }
        double value() const { return mean_; }

    private:
        double count_ = 0, sum_ = 0, mean_ = 0;
    };

    PhraseSpace& space_;
    const SearchLimits& limits_;
    const std::atomic<bool>& stop_;
    std::optional<Words> target_;
    const std::int32_t* target_words_;
    std::vector<Stack> stacks_;
    std::vector<PhraseSpace::Gap> gaps_;
    std::uint32_t first_square_ = 0;  // of the stack that is being filled
    Slack slack_;
    std::vector<double> totals_;
};

}  // namespace dragoman::search::phrase
