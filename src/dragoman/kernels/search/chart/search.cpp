#include "search/chart/search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dragoman::search::chart {

namespace {
// The only "rule" of glue.
constexpr std::int32_t glue_rules[] = {GLUE};
}  // namespace

void ChartSearch::Slack::add(double excess) {
    ++count;
    sum += excess;
    squares += excess * excess;
    if (count < 30 || static_cast<std::int64_t>(count) % 16 != 0) return;  // a division and a root
    const double mean = sum / count;
    value = mean + std::sqrt(std::max(0.0, squares / count - mean * mean));
}

ChartSearch::ChartSearch(const ChartBatch& batch, const RuleOrder& order, std::size_t sentence,
                         const SearchLimits& limits, Workspace& workspace, std::optional<Words> target,
                         const std::atomic<bool>& stop)
    : batch_(batch), order_(order), limits_(limits), space_(workspace), target_(target), stop_(stop),
      matches_(batch.matches(sentence)), sentence_(sentence), first_match_(batch.first_match(sentence)), length_(batch.length(sentence)),
      width_(1), state_(2 * batch.models.size()), log10s_(batch.models.size()) {
    for (const MatchRow& match : matches_) width_ = std::max(width_, static_cast<std::size_t>(match.end - match.begin));
    cells_.resize(static_cast<std::size_t>(length_) * width_);
    glued_.resize(static_cast<std::size_t>(length_) + 1);
}

Outcome ChartSearch::run() {
    if (length_ == 0) {
        // Nothing, and then its end.
        glued_[0] = {0, 1};
        for (std::size_t k = 0; k < lms(); ++k) state_[2 * k] = 0, state_[2 * k + 1] = batch_.models[k].start;
        std::fill(log10s_.begin(), log10s_.end(), 0.0);
        first_item_ = 0;
        from_ = to_ = 0;
        add({NOTHING, {}, {}}, NOTHING, -1, -1, 0.0, 0, 0);
        sorted_.push_back(0);
    }
    std::size_t next = 0;
    for (std::int32_t end = 1; end <= length_ && !stop_; ++end) {
        while (next < matches_.size() && matches_[next].end == end) {
            const std::int32_t begin = matches_[next].begin;
            cubes_.clear();
            for (; next < matches_.size() && matches_[next].end == end && matches_[next].begin == begin; ++next)
                add_cube(static_cast<std::int32_t>(next));
            fill(begin, end, cell(begin, end));
            if (full()) return Outcome::TOO_LARGE;
        }
        if (!batch_.glue && end < length_) continue;
        cubes_.clear();
        for (std::int32_t begin = std::max(0, end - static_cast<std::int32_t>(width_)); begin < end; ++begin) {
            const auto parts = members(cell(begin, end));
            if (parts.empty()) continue;
            const double glue = batch_.glue_weight + batch_.part_score(sentence_, begin, end);
            if (begin == 0)
                cubes_.push_back({FIRST, glue_rules, {parts, {}}, glue});
            else if (batch_.glue && !glued_[begin].empty())
                cubes_.push_back({GLUE, glue_rules, {members(glued_[begin]), parts}, glue});
        }
        fill(0, end, glued_[end]);
        if (full()) return Outcome::TOO_LARGE;
    }
    if (stop_) return Outcome::NONE;
    finish();
    return goal < 0 ? Outcome::NONE : Outcome::FOUND;
}

void ChartSearch::add_cube(std::int32_t match) {
    const MatchRow& row = matches_[match];
    Cube cube{match, order_.of_side(row.side), {{}, {}}};
    for (int k = 0; k < 2 && row.holes[k][0] >= 0; ++k) {
        cube.tails[k] = members(cell(row.holes[k][0], row.holes[k][1]));
        // What could have filled the hole was not found: with a target, that happens.
        if (cube.tails[k].empty()) return;
    }
    if (!cube.rules.empty()) cubes_.push_back(cube);
}

void ChartSearch::fill(std::int32_t begin, std::int32_t end, Range& range) {
    first_item_ = static_cast<std::int32_t>(items.size());
    recombined_.restart(limits_.algorithm != Algorithm::EXHAUSTIVE ? static_cast<std::size_t>(pop_limit()) : 64);
    if (limits_.algorithm == Algorithm::CUBE)
        fill_by_cubes(begin, end);
    else if (limits_.algorithm == Algorithm::INCREMENTAL)
        fill_incrementally(begin, end);
    else
        fill_exhaustively(begin, end);
    range.first = static_cast<std::int32_t>(sorted_.size());
    for (auto item = first_item_; item < static_cast<std::int32_t>(items.size()); ++item) sorted_.push_back(item);
    std::stable_sort(sorted_.begin() + range.first, sorted_.end(), [&](std::int32_t x, std::int32_t y) { return items[x].score > items[y].score; });
    range.last = static_cast<std::int32_t>(sorted_.size());
}

ChartSearch::Queued ChartSearch::queue(std::int32_t number, std::int32_t rule, std::int32_t first, std::int32_t second) {
    const Cube& cube = cubes_[number];
    double estimate = cube.match >= 0 ? order_.estimates[cube.rules[rule]] + batch_.match_score(first_match_ + cube.match, cube.rules[rule]) : cube.glue;
    int parts = cube.match < 0;
    if (!cube.tails[0].empty()) estimate += items[cube.tails[0][first]].score, ++parts;
    if (!cube.tails[1].empty()) estimate += items[cube.tails[1][second]].score, ++parts;
    // A rule without holes scores what it is estimated to.
    const auto place = static_cast<std::int32_t>(candidates_.size());
    candidates_.push_back({estimate, 0.0, number, {rule, first, second}, -1});
    return {parts == 0 ? estimate : estimate + slack_[parts - 1].value, place};
}

// Puts another in place of the best: one way down the heap, where taking one out and putting one in are two.
void ChartSearch::replace_top(const Queued& queued) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && heap_[child].score < heap_[child + 1].score) ++child;
        if (!(queued.score < heap_[child].score)) break;
        heap_[at] = heap_[child];
        at = child;
    }
    heap_[at] = queued;
}

void ChartSearch::fill_by_cubes(std::int32_t begin, std::int32_t end) {
    candidates_.clear();
    heap_.clear();
    scored_states_.clear();
    scored_log10s_.clear();
    for (std::size_t c = 0; c < cubes_.size(); ++c) heap_.push_back(queue(static_cast<std::int32_t>(c), 0, 0, 0));
    std::make_heap(heap_.begin(), heap_.end());
    double best = -std::numeric_limits<double>::infinity();
    // A candidate that recombines counts three quarters: it adds no item.
    const std::int64_t limit = 4 * pop_limit();
    for (std::int64_t popped = 0; popped < limit && !heap_.empty() && !stop_;) {
        Queued queued = heap_.front();
        Candidate& candidate = candidates_[queued.candidate];
        const Cube& cube = cubes_[candidate.cube];
        const auto [rule, first, second] = candidate.at;
        const std::int32_t chosen = cube.rules[rule];
        const std::int32_t left = cube.tails[0].empty() ? -1 : cube.tails[0][first];
        const std::int32_t right = cube.tails[1].empty() ? -1 : cube.tails[1][second];
        if (candidate.scored < 0) {
            evaluate(cube, chosen, left, right, candidate.edge);
            const double score = candidate.edge + (left < 0 ? 0.0 : items[left].score) + (right < 0 ? 0.0 : items[right].score);
            const int parts = (cube.match < 0) + (left >= 0) + (right >= 0);
            if (parts > 0) slack_[parts - 1].add(score - candidate.estimate);
            queued.score = score;
            if (heap_.size() > 1 && std::max(heap_[1].score, heap_[heap_.size() > 2 ? 2 : 1].score) > score) {
                candidate.scored = static_cast<std::int32_t>(scored_states_.size() / std::max<std::size_t>(state_.size(), 1));
                scored_states_.insert(scored_states_.end(), state_.begin(), state_.end());
                scored_log10s_.insert(scored_log10s_.end(), log10s_.begin(), log10s_.end());
                replace_top(queued);
                continue;
            }
        } else {
            std::copy_n(scored_states_.begin() + candidate.scored * static_cast<std::ptrdiff_t>(state_.size()), state_.size(), state_.begin());
            std::copy_n(scored_log10s_.begin() + candidate.scored * static_cast<std::ptrdiff_t>(lms()), lms(), log10s_.begin());
        }
        if (queued.score < best - limits_.threshold) break;
        best = std::max(best, queued.score);
        const std::size_t before = items.size();
        add(cube, chosen, left, right, candidate.edge, begin, end);
        popped += items.size() > before ? 4 : 3;
        const std::int32_t number = candidate.cube;
        const std::int32_t limits[3] = {static_cast<std::int32_t>(cube.rules.size()), static_cast<std::int32_t>(cube.tails[0].size()),
                                        static_cast<std::int32_t>(cube.tails[1].size())};
        // One way leads to each place: by the tails first, then by the rules.
        const int first_axis = rule > 0 ? 2 : second > 0 ? 1 : 0;
        bool replaced = false;  // the candidate that was at the top
        for (int k = first_axis; k < 3; ++k) {
            std::int32_t at[3] = {rule, first, second};
            const int axis = (k + 1) % 3;
            if (++at[axis] >= limits[axis]) continue;
            const Queued next = queue(number, at[0], at[1], at[2]);
            if (!replaced) {
                replace_top(next);
            } else {
                heap_.push_back(next);
                std::push_heap(heap_.begin(), heap_.end());
            }
            replaced = true;
        }
        if (!replaced) {
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
    }
}

void ChartSearch::fill_exhaustively(std::int32_t begin, std::int32_t end) {
    constexpr std::int32_t none[] = {-1};
    for (const Cube& cube : cubes_)
        for (const std::int32_t rule : cube.rules)
            for (const std::int32_t first : cube.tails[0].empty() ? std::span<const std::int32_t>(none) : cube.tails[0])
                for (const std::int32_t second : cube.tails[1].empty() ? std::span<const std::int32_t>(none) : cube.tails[1]) {
                    if (full() || stop_) return;
                    double score = 0;
                    if (!target_) {
                        evaluate(cube, rule, first, second, score);
                        add(cube, rule, first, second, score, begin, end);
                        continue;
                    }
                    occurrence_ = 0;
                    for (bool known = false; place(cube, rule, first, second);) {
                        if (!known) known = evaluate(cube, rule, first, second, score);
                        add(cube, rule, first, second, score, begin, end);
                    }
                }
}

bool ChartSearch::evaluate(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second, double& score) {
    score = cube.match < 0 ? cube.glue : batch_.local(rule) + batch_.match_score(first_match_ + cube.match, rule);
    const std::int32_t* const parts[2] = {first < 0 ? nullptr : states_.data() + 2 * lms() * static_cast<std::size_t>(first),
                                          second < 0 ? nullptr : states_.data() + 2 * lms() * static_cast<std::size_t>(second)};
    for (std::size_t k = 0; k < lms(); ++k) {
        Reading reading;
        if (cube.match >= 0) {
            reading = space_.read(k, rule, parts);
        } else {
            const bool starts = cube.match == FIRST;
            reading = LeftContexts::after(starts ? batch_.models[k].start : parts[0][2 * k + 1]);
            const std::int32_t* part = parts[starts ? 0 : 1] + 2 * k;
            space_.contexts[k].read_part(reading, part[0], part[1]);
        }
        state_[2 * k] = reading.left;
        state_[2 * k + 1] = reading.state;
        log10s_[k] = reading.log10;
        score += batch_.models[k].weight * std::numbers::ln10 * reading.log10;
    }
    return true;
}

// The next place in the target where these words stand: a beginning with words of its own can have several.
bool ChartSearch::place(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second) {
    const std::int32_t tails[2] = {first, second};
    const auto size = static_cast<std::int32_t>(target_->size());
    if (cube.match < 0) {
        if (occurrence_++ > 0) return false;
        from_ = 0;
        to_ = cube.match == FIRST ? 0 : items[first].to;
        const ChartItem& part = items[cube.match == FIRST ? first : second];
        if (part.from < 0) return true;
        if (part.from != to_) return false;
        to_ = part.to;
        return true;
    }
    const auto words = batch_.words(rule);
    std::int32_t before = 0, start = -1, total = 0;
    for (const std::int32_t word : words) {
        if (word >= 0) {
            ++total;
            before += start < 0;
        } else if (const ChartItem& part = items[tails[-1 - word]]; part.from >= 0) {
            total += part.to - part.from;
            if (start < 0) start = part.from - before;
            if (start < 0) return false;
        }
    }
    if (total == 0) {
        from_ = to_ = -1;
        return occurrence_++ == 0;
    }
    const bool anchored = start >= 0;
    for (; occurrence_ <= (anchored ? 0 : size - total);) {
        from_ = anchored ? start : occurrence_;
        ++occurrence_;
        to_ = from_;
        bool fits = from_ + total <= size;
        for (std::size_t i = 0; fits && i < words.size(); ++i) {
            if (words[i] >= 0) {
                fits = (*target_)[to_++] == words[i];
            } else if (const ChartItem& part = items[tails[-1 - words[i]]]; part.from >= 0) {
                fits = part.from == to_;
                to_ = part.to;
            }
        }
        if (fits) return true;
    }
    return false;
}

void ChartSearch::add(const Cube& cube, std::int32_t rule, std::int32_t first, std::int32_t second, double score, std::int32_t begin, std::int32_t end) {
    ++pops;
    const double total = score + (first < 0 ? 0.0 : items[first].score) + (second < 0 ? 0.0 : items[second].score);
    const auto hash_of = [&](const std::int32_t* state, std::int32_t from, std::int32_t to) {
        std::uint64_t hash = std::uint64_t(static_cast<std::uint32_t>(from)) << 32 | static_cast<std::uint32_t>(to);
        for (std::size_t i = 0; i < 2 * lms(); ++i) hash = mix(hash * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(state[i]));
        return mix(hash);
    };
    const auto state_of = [&](std::int32_t item) { return states_.data() + 2 * lms() * static_cast<std::size_t>(item); };
    std::int32_t& slot = recombined_.slot(hash_of(state_.data(), from_, to_), [&](std::int32_t local) {
        const std::int32_t item = first_item_ + local;
        return items[item].from == from_ && items[item].to == to_ && std::equal(state_.begin(), state_.end(), state_of(item));
    });
    const std::int32_t edge_rule = cube.match < 0 ? cube.match : rule;
    const auto number = static_cast<std::int32_t>(edges.size());
    if (slot < 0) {
        slot = static_cast<std::int32_t>(items.size()) - first_item_;
        const std::int32_t item = static_cast<std::int32_t>(items.size());
        items.push_back({total, number, begin, end, from_, to_});
        states_.insert(states_.end(), state_.begin(), state_.end());
        edges.push_back({score, item, edge_rule, std::max(cube.match, -1), {first, second}});
        edge_log10s.insert(edge_log10s.end(), log10s_.begin(), log10s_.end());
        recombined_.make_room(items.size() - static_cast<std::size_t>(first_item_),
                              [&](std::int32_t local) { return hash_of(state_of(first_item_ + local), items[first_item_ + local].from, items[first_item_ + local].to); });
        return;
    }
    ChartItem& item = items[first_item_ + slot];
    const ChartEdge edge{score, first_item_ + slot, edge_rule, std::max(cube.match, -1), {first, second}};
    if (limits_.keep_all) {
        if (total > item.score) item.edge = number;
        edges.push_back(edge);
        edge_log10s.insert(edge_log10s.end(), log10s_.begin(), log10s_.end());
    } else if (total > item.score) {
        edges[item.edge] = edge;
        std::copy(log10s_.begin(), log10s_.end(), edge_log10s.begin() + static_cast<std::ptrdiff_t>(lms()) * item.edge);
    }
    item.score = std::max(item.score, total);
}

void ChartSearch::finish() {
    constexpr std::int32_t end_of_sentence = 2;
    const auto last = members(glued_[length_]);
    first_item_ = static_cast<std::int32_t>(items.size());
    recombined_.restart(4);
    from_ = to_ = -1;
    for (const std::int32_t item : last) {
        if (target_ && items[item].to != static_cast<std::int32_t>(target_->size())) continue;
        double score = 0;
        for (std::size_t k = 0; k < lms(); ++k) {
            log10s_[k] = double(batch_.models[k].view.query(states_[2 * lms() * static_cast<std::size_t>(item) + 2 * k + 1], end_of_sentence).log10);
            score += batch_.models[k].weight * std::numbers::ln10 * log10s_[k];
        }
        std::fill(state_.begin(), state_.end(), 0);
        add({GOAL, {}, {}}, GOAL, item, -1, score, 0, length_);
        goal = first_item_;
    }
}

}  // namespace dragoman::search::chart
