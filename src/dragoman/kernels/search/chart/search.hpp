// Chart search over the matches of a grammar: cube pruning, and exhaustive search.
//
// A cell is a span of the source with its items: parts of translations that agree in all that matters outside (the first
// words and the states of the language models). Rules fill the cells of X; glue joins those from left to right, and its
// items cover the source from its first word on, with all words before them known.
#pragma once

#include "search/chart/batch.hpp"
#include "search/chart/workspace.hpp"
#include "search/limits.hpp"

#include <atomic>
#include <optional>
#include <vector>

namespace dragoman::search::chart {

// What an edge does, if it does not use a rule.
enum Kind : std::int32_t { FIRST = -1, GLUE = -2, GOAL = -3, NOTHING = -4 };

struct ChartEdge {
    double score;  // without its tails
    std::int32_t head;
    std::int32_t rule;   // or a Kind
    std::int32_t match;  // in the sentence, -1: none
    std::int32_t tails[2];
};

struct ChartItem {
    double score;        // of the best derivation
    std::int32_t edge;   // its last edge
    std::int32_t begin, end;
    std::int32_t from, to;  // in a forced target; both -1 if it has no words
};

class ChartSearch {
public:
    // `target`, if there is one, is the only translation allowed. Gives up when somebody sets `stop`.
    ChartSearch(const ChartBatch& batch, const RuleOrder& order, std::size_t sentence, const SearchLimits& limits,
                Workspace& workspace, std::optional<Words> target, const std::atomic<bool>& stop);

    Outcome run();

    std::vector<ChartItem> items;
    std::vector<ChartEdge> edges;      // the best of each item; with limits.keep_all all
    std::vector<double> edge_log10s;  // of each edge, for each language model
    std::int32_t goal = -1;
    std::int64_t pops = 0;

private:
    // Ways to fill a cell that differ in rule and items only.
    struct Cube {
        std::int32_t match;  // or a Kind
        std::span<const std::int32_t> rules;
        std::span<const std::int32_t> tails[2];
        double glue = 0;  // what glue scores
    };

    struct Candidate {
        double estimate;     // tails included
        double edge;         // the true score, without tails
        std::int32_t cube;
        std::int32_t at[3];  // rule and tails
        std::int32_t scored;  // where what came of it is kept, -1: it has not been scored yet
    };
    struct Queued {
        double score;  // true, or as much as it may be
        std::int32_t candidate;
        bool operator<(const Queued& other) const { return score < other.score; }
    };

    struct Range {
        std::int32_t first = 0, last = 0;
        bool empty() const { return first == last; }
    };

    std::span<const std::int32_t> members(const Range& range) const { return {sorted_.data() + range.first, sorted_.data() + range.last}; }
    Range& cell(std::int32_t begin, std::int32_t end) { return cells_[static_cast<std::size_t>(begin) * width_ + static_cast<std::size_t>(end - begin - 1)]; }

    bool full() const { return static_cast<std::int64_t>(items.size() + edges.size()) > limits_.max_size; }

    // The candidates of the cell at hand. There are few cells of glue, and all derivations pass through them: what is lost
    // there is lost for good, so they get more.
    static constexpr std::int64_t glue_factor = 8;
    std::int64_t pop_limit() const {
        const bool is_glue = batch_.glue && !cubes_.empty() && cubes_[0].match < 0;
        return std::int64_t{limits_.pop_limit} * (is_glue ? glue_factor : 1);
    }

    // Fills one cell from its cubes.
    void fill(std::int32_t begin, std::int32_t end, Range& range);
    void fill_by_cubes(std::int32_t begin, std::int32_t end);
    void fill_exhaustively(std::int32_t begin, std::int32_t end);

    // Incremental search (incremental.cpp): the items of a cell are grouped by more and more of their first and last words.
    struct Vertex {
        double best;
        std::int32_t item;  // the only one, -1: there are several
        std::int32_t first_child, children;
        std::int32_t level;
        std::int32_t first, last;  // its items, in `grouped_`
    };
    // A rule, and for each hole a vertex, of whose children those before `child` are left to others.
    struct Group {
        double score;  // without the best items
        std::int32_t cube, rule;
        std::int32_t vertex[2], child[2];
        bool initial;
    };
    void fill_incrementally(std::int32_t begin, std::int32_t end);
    std::int32_t root(const std::span<const std::int32_t>& members);
    void split(std::int32_t vertex);
    void score(Group& group);
    double best(const Group& group, int hole) const;
    void queue(const Group& group);
    void add_cube(std::int32_t match);
    void finish();

    Queued queue(std::int32_t cube, std::int32_t rule, std::int32_t first, std::int32_t second);
    void replace_top(const Queued& queued);
    // Scores a candidate in full: `state_` and `log10s_` are what comes of it. False if the target forbids it.
    bool evaluate(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second, double& score);
    bool place(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second);
    void add(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second, double score, std::int32_t begin, std::int32_t end);

    std::size_t lms() const { return batch_.models.size(); }

    const ChartBatch& batch_;
    const RuleOrder& order_;
    const SearchLimits& limits_;
    Workspace& space_;
    std::optional<Words> target_;
    const std::atomic<bool>& stop_;
    std::span<const MatchRow> matches_;
    std::size_t sentence_;
    std::int64_t first_match_;
    std::int32_t length_;
    std::size_t width_;

    std::vector<Range> cells_, glued_;   // of X, and of what begins at the first word and ends at each
    std::vector<std::int32_t> sorted_;  // items of all cells, best first within each
    std::vector<std::int32_t> states_;  // of items: left and right for each language model

    std::vector<Cube> cubes_;
    std::vector<Candidate> candidates_;
    std::vector<Queued> heap_;
    std::vector<std::int32_t> scored_states_;  // of candidates that have been scored
    std::vector<double> scored_log10s_;
    std::vector<std::int32_t> state_;  // of the candidate that was evaluated last
    std::vector<double> log10s_;
    std::vector<Vertex> vertices_;
    std::vector<std::int32_t> vertex_states_, grouped_;
    std::vector<std::int32_t> roots_;  // of cells by where they begin in `sorted_`
    std::vector<Group> groups_;
    std::int32_t from_ = -1, to_ = -1, occurrence_ = 0;
    std::int32_t first_item_ = 0;  // of the cell
    NumberTable recombined_{64};
    struct Slack {
        double count = 0, sum = 0, squares = 0;
        double value = std::numeric_limits<double>::infinity();
        void add(double excess);
    } slack_[3];
};

}  // namespace dragoman::search::chart
