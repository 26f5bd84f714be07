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
            if (limits_.algorithm == Algorithm::CUBE && covered > 0) pop_cube(covered);
            settle(stacks_[covered]);
            if (covered == space_.length()) break;
            if (limits_.algorithm == Algorithm::CUBE)
                collect_squares(covered);
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
    // A rectangle of cube pruning: nodes of one coverage by options of one span, both sorted best first.
    struct Square {
        double future;
        std::span<const std::int32_t> options;
        std::int32_t coverage, from, first, last;  // stack, and range of its members
        std::int32_t rows = -1, height = 0;        // among rows_, once somebody looks
    };
    struct Stack {
        std::vector<std::int32_t> members;  // node ids
        std::optional<NumberTable> table;   // over them, while the stack grows
        double best = -std::numeric_limits<double>::infinity();
        double floor = -std::numeric_limits<double>::infinity();  // what a node needs to be among the best stack_size
        std::size_t above = 0;                                   // members at or above the floor
        std::vector<Square> squares;
    };

    // A node that the options of a span may follow, and what they have in common after it.
    struct Row {
        double score;
        PhraseSpace::Joint joint;
        std::int32_t node, lm;
        double base() const { return score + joint.score; }
        // Whether nothing but their scores tells two rows apart: all that follows the worse one would recombine.
        bool operator==(const Row& other) const {
            return lm == other.lm && joint.orientation == other.joint.orientation && joint.right == other.joint.right;
        }
    };
    // A cell of a square. Its score is that of the node, once the language models have been read.
    struct Cell {
        double score;
        std::int32_t square, row, column;
        std::int32_t lm = unread;
    };
    static constexpr std::int32_t unread = -1;
    // The total of a cell, or a prediction of it.
    struct Candidate {
        double total;
        std::int32_t cell;
        bool operator<(const Candidate& other) const { return total != other.total ? total < other.total : cell > other.cell; }
    };

    bool too_large() const {
        return static_cast<std::int64_t>(nodes.size() + arcs.size()) > limits_.max_size;
    }
    bool pruning() const { return limits_.algorithm != Algorithm::EXHAUSTIVE; }

    // Calls visit(first, last, begin, end, coverage) for every coverage of a stack (its nodes are members[first:last])
    // and every span that may come next.
    template <class Visit>
    void for_spans(Stack& stack, Visit&& visit) {
        auto& members = stack.members;
        std::stable_sort(members.begin(), members.end(),
                         [&](std::int32_t a, std::int32_t b) { return nodes[a].coverage < nodes[b].coverage; });
        const int limit = space_.model.reordering_limit;
        for (std::size_t first = 0, last; first < members.size(); first = last) {
            const std::int32_t coverage = nodes[members[first]].coverage;
            std::int32_t farthest = 0;
            for (last = first; last < members.size() && nodes[members[last]].coverage == coverage; ++last)
                farthest = std::max(farthest, space_.end_of(nodes[members[last]].option));
            const std::int32_t gap = space_.coverages.first_gap(coverage);
            const std::int32_t stop = limit < 0 ? space_.length() : std::min(space_.length(), farthest + limit + 1);
            for (std::int32_t begin = gap; begin < stop; ++begin) {
                for (std::int32_t end = begin + 1; end <= std::min(space_.length(), begin + space_.longest()); ++end) {
                    if (space_.coverages.covers(coverage, end - 1)) break;
                    // A beam keeps away from dead ends: the first gap must stay in reach of the span's end.
                    if (pruning() && begin != gap && limit >= 0 && end - gap > limit) break;
                    if (space_.on_span(begin, end).empty()) continue;
                    heed(stop_);
                    visit(first, last, begin, end, space_.coverages.with(coverage, begin, end));
                }
            }
        }
    }

    // Expands a stack. Language models are not read for a node whose best expansion, as predicted, the beam would drop.
    void expand(std::int32_t covered) {
        Stack& stack = stacks_[covered];
        for_spans(stack, [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, std::int32_t coverage) {
            const double future = pruning() ? space_.future(coverage) : 0.0;
            Stack& into = stacks_[covered + end - begin];
            const auto options = space_.on_span(begin, end);
            for (std::size_t m = first; m < last && !too_large(); ++m) {
                const std::int32_t id = stack.members[m];
                if (!space_.within_limit(space_.end_of(nodes[id].option), begin)) continue;
                const auto joint = space_.joint(nodes[id].option, options[0]);
                const double predicted = nodes[id].score + space_.join(joint, options[0]) + space_.estimate(options[0]);
                if (is_below(into, predicted + future + slack_.value())) continue;
                // Of a forced search few options are allowed, of any other all of them.
                const auto* steps = target_ ? nullptr : space_.read_span(nodes[id].lm, begin, end);
                for (std::size_t i = 0; i < options.size(); ++i) {
                    const std::int32_t option = options[i];
                    std::int32_t position = 0;
                    if (target_ && !matches(nodes[id].position, option, position)) continue;
                    const auto step = steps ? steps[i] : space_.read(nodes[id].lm, option);
                    const double score = nodes[id].score + space_.options.local[option] + space_.join(joint, option) + step.score;
                    ++expansions;
                    if (i == 0) slack_.add(score - predicted);
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

    // Whether the beam of stack decoding has no place for a total.
    bool is_below(const Stack& stack, double total) const {
        return limits_.algorithm == Algorithm::STACK && total < std::max(stack.floor, stack.best - limits_.threshold);
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
        if (limits_.algorithm != Algorithm::STACK || limits_.stack_size <= 0) return;
        const auto wanted = static_cast<std::size_t>(limits_.stack_size);
        if (stack.above < 2 * wanted) return;
        totals_.clear();
        for (std::int32_t id : stack.members)
            if (nodes[id].total >= stack.floor) totals_.push_back(nodes[id].total);
        std::nth_element(totals_.begin(), totals_.begin() + static_cast<std::ptrdiff_t>(wanted - 1), totals_.end(), std::greater<>());
        stack.floor = totals_[wanted - 1];
        stack.above = static_cast<std::size_t>(std::count_if(totals_.begin(), totals_.end(), [&](double t) { return t >= stack.floor; }));
    }

    static std::uint64_t hash(const SearchNode& node) {
        const auto word = [](std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)); };
        return mix(mix(word(node.coverage) << 32 | word(node.exit)) ^ (word(node.lm) << 32 | word(node.position)));
    }

    // Sorts a finished stack, best first, and drops what the limits do not allow.
    void settle(Stack& stack) {
        std::stable_sort(stack.members.begin(), stack.members.end(),
                         [&](std::int32_t a, std::int32_t b) { return nodes[a].total > nodes[b].total; });
        if (pruning() && !stack.members.empty()) {
            const std::size_t size = limits_.algorithm == Algorithm::STACK && limits_.stack_size > 0 ? limits_.stack_size : stack.members.size();
            if (stack.members.size() > size) stack.members.resize(size);
            const double least = nodes[stack.members[0]].total - limits_.threshold;
            while (nodes[stack.members.back()].total < least) stack.members.pop_back();
        }
        stack.table.reset();
    }

    void collect_squares(std::int32_t covered) {
        const Stack& stack = stacks_[covered];
        for_spans(stacks_[covered], [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, std::int32_t coverage) {
            while (first < last && !may_precede(stack.members[first], begin)) ++first;
            if (first == last) return;
            stacks_[covered + end - begin].squares.push_back({space_.future(coverage), space_.on_span(begin, end), coverage, covered,
                                                              static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});
        });
    }

    bool may_precede(std::int32_t node, std::int32_t begin) const { return space_.within_limit(space_.end_of(nodes[node].option), begin); }

    // Cube pruning (Huang & Chiang 2007): candidates in the order of their totals. Language models are read only for
    // those whose predicted total, with what predictions usually fall short by, comes to the top.
    void pop_cube(std::int32_t covered) {
        Stack& stack = stacks_[covered];
        rows_.clear();
        cells_.clear();
        heap_.clear();
        for (std::size_t i = 0; i < stack.squares.size(); ++i) {
            const Square& square = stack.squares[i];
            const SearchNode& node = nodes[stacks_[square.from].members[square.first]];
            const auto joint = space_.joint(node.option, square.options[0]);
            heap_.push_back(predict(square, {node.score, joint, 0, 0}, {0, static_cast<std::int32_t>(i), 0, 0}));
        }
        std::make_heap(heap_.begin(), heap_.end());
        for (std::int64_t budget = 4 * std::int64_t(limits_.pop_limit); budget > 0 && !heap_.empty();) {
            heed(stop_);
            Cell& cell = cells_[heap_.front().cell];
            Square& square = stack.squares[cell.square];
            if (cell.lm == unread) {
                replace_top({read(square, cell) + square.future, heap_.front().cell});
                continue;
            }
            const std::int32_t option = square.options[cell.column], row = cell.row, column = cell.column, number = cell.square;
            const std::size_t before = nodes.size();
            const std::int32_t id = add(stack, {cell.score, heap_.front().total, square.coverage, space_.exit_of(option), cell.lm, 0, option, rows_[square.rows + row].node});
            budget -= nodes.size() > before ? 4 : 1;
            if (limits_.keep_all) add_rivals(square, row, option, id);
            // Every cell has one way to be reached: along its row, which is entered at its first column.
            if (column + 1 < static_cast<std::int32_t>(square.options.size())) {
                replace_top(predict(square, rows_[square.rows + row], {0, number, row, column + 1}));
            } else {
                std::pop_heap(heap_.begin(), heap_.end());
                heap_.pop_back();
            }
            if (column > 0) continue;
            const std::int32_t next = next_row(square, row + 1);
            if (next == square.height) continue;
            heap_.push_back(predict(square, rows_[square.rows + next], {0, number, next, 0}));
            std::push_heap(heap_.begin(), heap_.end());
        }
        stack.squares.clear();
    }

    // The first row from `row` on that is not like a better one.
    std::int32_t next_row(const Square& square, std::int32_t row) const {
        const Row* const rows = rows_.data() + square.rows;
        while (row < square.height && std::find(rows, rows + row, rows[row]) != rows + row) ++row;
        return row;
    }

    // Adds arcs into a node from the rows that are like the one from which it was reached.
    void add_rivals(const Square& square, std::int32_t row, std::int32_t option, std::int32_t id) {
        const Row* const rows = rows_.data() + square.rows;
        const double step = space_.read(rows[row].lm, option).score;
        for (std::int32_t other = row + 1; other < square.height; ++other)
            if (rows[other] == rows[row])
                arcs.push_back({id, rows[other].node, option, space_.options.local[option] + space_.join(rows[other].joint, option) + step});
    }

    // Adds a cell, and returns it with its predicted total.
    Candidate predict(const Square& square, const Row& row, Cell cell) {
        const std::int32_t option = square.options[cell.column];
        cell.score = row.score + space_.join(row.joint, option) + space_.estimate(option);
        cells_.push_back(cell);
        return {cell.score + square.future + slack_.value(), static_cast<std::int32_t>(cells_.size()) - 1};
    }

    // Reads the language models for a cell.
    double read(Square& square, Cell& cell) {
        if (square.rows < 0) find_rows(square);
        const Row& row = rows_[square.rows + cell.row];
        const std::int32_t option = square.options[cell.column];
        const auto step = space_.read(row.lm, option);
        const double score = row.score + space_.options.local[option] + space_.join(row.joint, option) + step.score;
        ++expansions;
        slack_.add(score - cell.score);
        cell.score = score;
        cell.lm = step.lm;
        return score;
    }

    void find_rows(Square& square) {
        const auto first = static_cast<std::ptrdiff_t>(rows_.size());
        const auto& members = stacks_[square.from].members;
        for (std::int32_t m = square.first; m < square.last; ++m)
            if (may_precede(members[m], space_.options.begin[square.options[0]])) {
                const SearchNode& node = nodes[members[m]];
                rows_.push_back({node.score, space_.joint(node.option, square.options[0]), members[m], node.lm});
            }
        std::sort(rows_.begin() + first, rows_.end(), [](const Row& a, const Row& b) { return a.base() != b.base() ? a.base() > b.base() : a.node < b.node; });
        square.rows = static_cast<std::int32_t>(first);
        square.height = static_cast<std::int32_t>(rows_.size()) - square.rows;
    }

    // Puts a candidate in the place of the best one.
    void replace_top(const Candidate& candidate) {
        std::size_t at = 0;
        for (std::size_t child; (child = 2 * at + 1) < heap_.size(); at = child) {
            if (child + 1 < heap_.size() && heap_[child] < heap_[child + 1]) ++child;
            if (!(candidate < heap_[child])) break;
            heap_[at] = heap_[child];
        }
        heap_[at] = candidate;
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
    std::vector<Row> rows_;
    std::vector<Cell> cells_;
    std::vector<Candidate> heap_;
    Slack slack_;
    std::vector<double> totals_;
};

}  // namespace dragoman::search::phrase
