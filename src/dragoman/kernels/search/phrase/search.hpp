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
    struct Stack {
        std::vector<std::int32_t> members;  // node ids
        std::optional<NumberTable> table;   // over them, while the stack grows
        double best = -std::numeric_limits<double>::infinity();
        double floor = -std::numeric_limits<double>::infinity();  // what a node needs to be among the best stack_size
        std::size_t above = 0;                                   // members at or above the floor
        std::vector<std::int32_t> squares;
    };

    // A rectangle of cube pruning: nodes of one coverage by options of one span, both sorted best first.
    struct Square {
        std::int32_t first, last;  // range of allowed_
        std::int32_t begin, end, coverage;
    };
    struct Candidate {
        double total, score;
        std::int32_t square, row, column, lm;
        bool operator<(const Candidate& other) const {
            if (total != other.total) return total < other.total;
            if (square != other.square) return square > other.square;
            return row != other.row ? row > other.row : column > other.column;
        }
    };

    bool too_large() const {
        // Places among allowed_ are kept in 32 bits; one stack adds far less than the half that is left.
        return static_cast<std::int64_t>(nodes.size() + arcs.size()) > limits_.max_size || allowed_.size() > std::size_t{1} << 30;
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

    void expand(std::int32_t covered) {
        Stack& stack = stacks_[covered];
        for_spans(stack, [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, std::int32_t coverage) {
            const double future = pruning() ? space_.future(coverage) : 0.0;
            Stack& into = stacks_[covered + end - begin];
            const auto options = space_.on_span(begin, end);
            for (std::size_t m = first; m < last && !too_large(); ++m) {
                const std::int32_t id = stack.members[m];
                if (!space_.within_limit(space_.end_of(nodes[id].option), begin)) continue;
                for (std::int32_t option : options) {
                    std::int32_t position = 0;
                    if (target_ && !matches(nodes[id].position, option, position)) continue;
                    const auto step = space_.read(nodes[id].lm, option);
                    const double score = nodes[id].score + space_.options.local[option] + space_.join(nodes[id].option, option) + step.score;
                    ++expansions;
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

    void add(Stack& stack, const SearchNode& node) {
        if (limits_.algorithm == Algorithm::STACK && node.total < std::max(stack.floor, stack.best - limits_.threshold)) return;
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
            return;
        }
        const auto id = slot = static_cast<std::int32_t>(nodes.size());
        nodes.push_back(node);
        stack.members.push_back(id);
        stack.best = std::max(stack.best, node.total);
        ++stack.above;
        if (limits_.keep_all) arcs.push_back({id, node.back, node.option, node.score - nodes[node.back].score});
        stack.table->make_room(stack.members, [&](std::int32_t member) { return hash(nodes[member]); });
        raise_floor(stack);
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
        Stack& stack = stacks_[covered];
        for_spans(stack, [&](std::size_t first, std::size_t last, std::int32_t begin, std::int32_t end, std::int32_t coverage) {
            const auto from = static_cast<std::int32_t>(allowed_.size());
            for (std::size_t m = first; m < last; ++m)
                if (space_.within_limit(space_.end_of(nodes[stack.members[m]].option), begin)) allowed_.push_back(stack.members[m]);
            const auto to = static_cast<std::int32_t>(allowed_.size());
            if (from == to) return;
            stacks_[covered + end - begin].squares.push_back(static_cast<std::int32_t>(squares_.size()));
            squares_.push_back({from, to, begin, end, coverage});
        });
    }

    // Cube pruning (Huang & Chiang 2007): candidates in the order of their scores, as far as they are known. A square is
    // looked at only when its predicted best candidate, and what predictions usually fall short by, comes to the top.
    void pop_cube(std::int32_t covered) {
        Stack& stack = stacks_[covered];
        std::vector<std::pair<double, std::int32_t>> waiting;
        waiting.reserve(stack.squares.size());
        for (std::int32_t square : stack.squares) waiting.emplace_back(predict(squares_[square]), square);
        std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
        std::vector<Candidate> heap;
        std::size_t next = 0;
        for (std::int64_t budget = 4 * std::int64_t(limits_.pop_limit); budget > 0;) {
            heed(stop_);
            while (next < waiting.size() && (heap.empty() || waiting[next].first + slack_.value() >= heap.front().total)) {
                const double total = propose(heap, waiting[next].second, 0, 0);
                slack_.add(total - waiting[next].first);
                ++next;
            }
            if (heap.empty()) break;
            std::pop_heap(heap.begin(), heap.end());
            const Candidate top = heap.back();
            heap.pop_back();
            const Square& square = squares_[top.square];
            const std::int32_t option = space_.on_span(square.begin, square.end)[top.column];
            const std::size_t before = nodes.size();
            add(stack, {top.score, top.total, square.coverage, space_.exit_of(option), top.lm, 0, option, allowed_[square.first + top.row]});
            budget -= nodes.size() > before ? 4 : 1;
            // Every cell has one way to be reached: along its row, which is entered at its first column.
            if (top.column == 0 && top.row + 1 < square.last - square.first) propose(heap, top.square, top.row + 1, 0);
            if (top.column + 1 < static_cast<std::int32_t>(space_.on_span(square.begin, square.end).size()))
                propose(heap, top.square, top.row, top.column + 1);
        }
    }

    double predict(const Square& square) {
        const SearchNode& node = nodes[allowed_[square.first]];
        const std::int32_t option = space_.on_span(square.begin, square.end)[0];
        return node.score + space_.join(node.option, option) + space_.estimate(option) + space_.future(square.coverage);
    }

    double propose(std::vector<Candidate>& heap, std::int32_t number, std::int32_t row, std::int32_t column) {
        const Square& square = squares_[number];
        const SearchNode& node = nodes[allowed_[square.first + row]];
        const std::int32_t option = space_.on_span(square.begin, square.end)[column];
        const auto step = space_.read(node.lm, option);
        const double score = node.score + space_.options.local[option] + space_.join(node.option, option) + step.score;
        const double total = score + space_.future(square.coverage);
        ++expansions;
        heap.push_back({total, score, number, row, column, step.lm});
        std::push_heap(heap.begin(), heap.end());
        return total;
    }

    // How far totals exceed their predictions: mean and two standard deviations of those seen so far.
    class Slack {
    public:
        void add(double excess) {
            ++count_;
            sum_ += excess;
            squares_ += excess * excess;
        }
        double value() const {
            if (count_ < 30) return std::numeric_limits<double>::infinity();
            const double mean = sum_ / count_;
            return mean + 2 * std::sqrt(std::max(0.0, squares_ / count_ - mean * mean));
        }

    private:
        double count_ = 0, sum_ = 0, squares_ = 0;
    };

    PhraseSpace& space_;
    const SearchLimits& limits_;
    const std::atomic<bool>& stop_;
    std::optional<Words> target_;
    const std::int32_t* target_words_;
    std::vector<Stack> stacks_;
    std::vector<Square> squares_;
    std::vector<std::int32_t> allowed_;
    Slack slack_;
    std::vector<double> totals_;
};

}  // namespace dragoman::search::phrase
