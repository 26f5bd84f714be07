// A derivation of a chart with all that its language models need to know, and what it would score after a change.
//
// Nodes lie in pre-order, parts one after the other. Each keeps the first words and the state of each language model, as
// the search does, and what reading it scored beyond its children. After a change, nodes above it are read anew, then the
// parts that follow, until what is known of the words is as before.
#pragma once

#include "sampling/chart/sentence_chart.hpp"
#include "search/chart/workspace.hpp"

#include <numbers>
#include <vector>

namespace dragoman::sampling::chart {

using search::chart::LeftContexts;
using search::chart::Reading;
using search::chart::Workspace;

class ChartDerivation {
public:
    // What the numbers of first words stand for is in the workspace, which must be the same for all changes.
    ChartDerivation(const ChartBatch& batch, const SentenceChart& chart, Workspace& space, const std::vector<Edge>& edges)
        : batch_(&batch), chart_(&chart), space_(&space), lms_(batch.models.size()), stride_(2 * lms_) {
        for (const auto& model : batch.models) start_.push_back(model.start);
        end_score_ = end_of(start_.data());
        if (edges.empty()) return;
        propose_parts(0, 0, edges);
        commit();
    }

    std::size_t size() const { return nodes_.size(); }
    std::size_t parts() const { return firsts_.size(); }
    Edge edge(std::size_t node) const { return nodes_[node].edge; }
    std::size_t below(std::size_t node) const { return static_cast<std::size_t>(nodes_[node].size); }  // nodes, itself included
    std::size_t first_of(std::size_t part) const { return part < firsts_.size() ? firsts_[part] : nodes_.size(); }
    const MatchRow& match(std::size_t node) const { return chart_->match(nodes_[node].edge.match); }
    std::int32_t begin_of(std::size_t part) const { return match(firsts_[part]).begin; }
    std::int32_t end_of_part(std::size_t part) const { return match(firsts_[part]).end; }

    // Whether these are the edges from a node on.
    bool has(std::size_t first, std::size_t count, const std::vector<Edge>& edges) const {
        if (count != edges.size()) return false;
        for (std::size_t i = 0; i < count; ++i)
            if (nodes_[first + i].edge != edges[i]) return false;
        return true;
    }

    // The score, summed anew so that no error adds up.
    double score() const {
        double sum = end_score_ + batch_->glue_weight * static_cast<double>(parts());
        if (batch_->part_scores.size())
            for (std::size_t part = 0; part < parts(); ++part) sum += part_score(begin_of(part), end_of_part(part));
        for (const Node& node : nodes_) sum += node.local + node.lm;
        for (const double lm : glue_lm_) sum += lm;
        return sum;
    }

    // The derivation as numbers of edges.
    void write(std::vector<std::int32_t>& row) const {
        row.clear();
        for (const Node& node : nodes_) row.push_back(chart_->number(node.edge));
    }

    // Calls word(rule, place) for each target word, by its rule and place in the rule's target side, from left to right.
    template <class Word>
    void for_words(Word&& word) const {
        for (std::size_t part = 0; part < parts(); ++part) for_words_below(firsts_[part], word);
    }

    // What the score would gain. Each forgets the proposal before; `commit` makes the last one true.
    double propose_subtree(std::size_t node, const std::vector<Edge>& edges) {
        double gain = restart(node, below(node), edges);
        return gain + climb(node);
    }

    double propose_rule(std::size_t node, std::int32_t rule) {
        const Node& old = nodes_[node];
        change_.first = node;
        change_.count = 1;
        change_.nodes.assign(1, old);
        Node& changed = change_.nodes[0];
        changed.edge.rule = rule;
        changed.local = local(changed.edge);
        change_.states.resize(stride_);
        const std::size_t first = node + 1;
        const int arity = chart_->arity(old.edge.match);
        changed.lm = read(rule, arity > 0 ? state(first) : nullptr, arity > 1 ? state(first + below(first)) : nullptr, change_.states.data());
        return changed.local + changed.lm - old.local - old.lm + climb(node);
    }

    // Other parts in place of some, which may be none only if there are none at all.
    double propose_parts(std::size_t first, std::size_t last, const std::vector<Edge>& edges) {
        const std::size_t node = first_of(first);
        const double gain = restart(node, first_of(last) - node, edges);
        change_.path.clear();
        change_.climbed = 0;
        roots_.clear();
        for (std::size_t root = 0; root < change_.nodes.size(); root += static_cast<std::size_t>(change_.nodes[root].size))
            roots_.push_back(change_.states.data() + root * stride_);
        double joined = 0;
        if (batch_->part_scores.size()) {
            for_proposed_parts([&](std::int32_t begin, std::int32_t end) { joined += part_score(begin, end); });
            for (std::size_t part = first; part < last; ++part) joined -= part_score(begin_of(part), end_of_part(part));
        }
        return gain + joined + glue(first, last - first);
    }

    // Calls part(begin, end) for each part that was proposed last.
    template <class Part>
    void for_proposed_parts(Part&& part) const {
        for (std::size_t root = 0; root < change_.nodes.size(); root += static_cast<std::size_t>(change_.nodes[root].size)) {
            const MatchRow& match = chart_->match(change_.nodes[root].edge.match);
            part(match.begin, match.end);
        }
    }

    // Nodes and parts that there would be.
    std::size_t proposed_size() const { return nodes_.size() + change_.nodes.size() - change_.count; }
    std::size_t proposed_parts() const { return parts() + change_.glue_lm.size() - change_.glued; }

    void commit() {
        const auto grown = static_cast<std::int32_t>(change_.nodes.size()) - static_cast<std::int32_t>(change_.count);
        for (std::size_t i = 0; i < change_.path.size(); ++i) {
            Node& node = nodes_[change_.path[i].node];
            node.size += grown;
            // The deepest were read first.
            const std::size_t read = change_.path.size() - 1 - i;
            if (read >= change_.climbed) continue;
            node.lm = change_.path_lm[read];
            std::copy_n(change_.path_states.data() + read * stride_, stride_, states_.data() + change_.path[i].node * stride_);
        }
        splice(nodes_, change_.first, change_.count, change_.nodes);
        splice(states_, change_.first * stride_, change_.count * stride_, change_.states);
        splice(glue_lm_, change_.first_glued, change_.glued, change_.glue_lm);
        splice(glue_states_, change_.first_glued * lms_, change_.glued * lms_, change_.glue_states);
        end_score_ = change_.end_score;
        firsts_.clear();
        for (std::size_t root = 0; root < nodes_.size(); root += below(root)) firsts_.push_back(root);
    }

private:
    struct Node {
        Edge edge;
        std::int32_t size;  // of what is below, itself included
        double local, lm;   // scores; that of the language models beyond those of its children
    };

    struct Step {
        std::size_t node;
        int child;  // that leads on
    };

    // The last proposal.
    struct Change {
        std::size_t first = 0, count = 0;  // nodes that are replaced
        std::vector<Node> nodes;
        std::vector<std::int32_t> states;
        std::vector<Step> path;        // from the part's root to the parent of what is replaced
        std::size_t climbed = 0;       // how many of the path, from its end, are read anew
        std::vector<double> path_lm;   // of these
        std::vector<std::int32_t> path_states;
        std::size_t first_glued = 0, glued = 0;  // parts whose glue is replaced
        std::vector<double> glue_lm;
        std::vector<std::int32_t> glue_states;
        double end_score = 0;
    };

    template <class T>
    static void splice(std::vector<T>& all, std::size_t first, std::size_t count, const std::vector<T>& instead) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
        const std::size_t same = std::min(count, instead.size());
        std::copy_n(instead.begin(), same, at);
        const auto middle = at + static_cast<std::ptrdiff_t>(same);
        if (count > same)
            all.erase(middle, at + static_cast<std::ptrdiff_t>(count));
        else
            all.insert(middle, instead.begin() + static_cast<std::ptrdiff_t>(same), instead.end());
    }

    double local(Edge edge) const { return batch_->local(edge.rule) + batch_->match_score(chart_->first_match() + edge.match, edge.rule); }
    const std::int32_t* state(std::size_t node) const { return states_.data() + node * stride_; }

    double in_score(std::size_t model, double log10) const { return batch_->models[model].weight * std::numbers::ln10 * log10; }

    double read(std::int32_t rule, const std::int32_t* first, const std::int32_t* second, std::int32_t* out) {
        const std::int32_t* const parts[2] = {first, second};
        double sum = 0;
        for (std::size_t k = 0; k < lms_; ++k) {
            const Reading reading = space_->read(k, rule, parts);
            out[2 * k] = reading.left;
            out[2 * k + 1] = reading.state;
            sum += in_score(k, reading.log10);
        }
        return sum;
    }

    // Reads new nodes in place of old ones; returns what they score more.
    double restart(std::size_t first, std::size_t count, const std::vector<Edge>& edges) {
        change_.first = first;
        change_.count = count;
        change_.nodes.resize(edges.size());
        change_.states.resize(edges.size() * stride_);
        double gain = 0;
        for (std::size_t i = edges.size(); i-- > 0;) {
            Node& node = change_.nodes[i];
            node.edge = edges[i];
            node.size = 1;
            const std::int32_t* children[2] = {nullptr, nullptr};
            for (int k = 0; k < chart_->arity(node.edge.match); ++k) {
                const std::size_t child = i + static_cast<std::size_t>(node.size);
                children[k] = change_.states.data() + child * stride_;
                node.size += change_.nodes[child].size;
            }
            node.local = local(node.edge);
            node.lm = read(node.edge.rule, children[0], children[1], change_.states.data() + i * stride_);
            gain += node.local + node.lm;
        }
        for (std::size_t i = 0; i < count; ++i) gain -= nodes_[first + i].local + nodes_[first + i].lm;
        return gain;
    }

    // Reads what is above a node that has changed, and what follows; returns what that scores more.
    double climb(std::size_t node) {
        const std::size_t part = static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), node) - firsts_.begin()) - 1;
        change_.path.clear();
        for (std::size_t at = firsts_[part]; at != node;) {
            const std::size_t first = at + 1, second = first + below(first);
            const int child = node >= second;
            change_.path.push_back({at, child});
            at = child ? second : first;
        }
        change_.climbed = 0;
        change_.path_lm.resize(change_.path.size());
        change_.path_states.resize(change_.path.size() * stride_);
        change_.first_glued = change_.glued = 0;
        change_.glue_lm.clear();
        change_.glue_states.clear();
        change_.end_score = end_score_;
        const std::int32_t* changed = change_.states.data();
        double gain = 0;
        for (std::size_t at = node, step = change_.path.size(); !std::equal(changed, changed + stride_, state(at)); at = change_.path[step].node) {
            if (step == 0) {
                roots_.assign(1, changed);
                return gain + glue(part, 1);
            }
            --step;
            const auto [above, child] = change_.path[step];
            const int arity = chart_->arity(nodes_[above].edge.match);
            const std::size_t first = above + 1;
            const std::int32_t* const left = child == 0 ? changed : state(first);
            const std::int32_t* const right = arity < 2 ? nullptr : child == 1 ? changed : state(first + below(first));
            std::int32_t* const out = change_.path_states.data() + change_.climbed * stride_;
            const double lm = change_.path_lm[change_.climbed++] = read(nodes_[above].edge.rule, left, right, out);
            gain += lm - nodes_[above].lm;
            changed = out;
        }
        return gain;
    }

    // Reads parts, given by the states of their `roots_`, in place of some, and those that follow.
    double glue(std::size_t first, std::size_t count) {
        change_.first_glued = first;
        change_.glue_lm.clear();
        change_.glue_states.clear();
        // They are pointed at while they grow.
        change_.glue_states.reserve((roots_.size() + parts()) * lms_);
        const std::int32_t* state = state_before(first);
        double gain = batch_->glue_weight * (static_cast<double>(roots_.size()) - static_cast<double>(count));
        for (const std::int32_t* root : roots_) gain += join(state, root);
        std::size_t next = first;
        for (; next < first + count; ++next) gain -= glue_lm_[next];
        change_.end_score = end_score_;
        while (next == 0 || !std::equal(state, state + lms_, state_before(next))) {
            if (next == parts()) {
                change_.end_score = end_of(state);
                gain += change_.end_score - end_score_;
                break;
            }
            gain += join(state, this->state(firsts_[next])) - glue_lm_[next];
            ++next;
        }
        change_.glued = next - first;
        return gain;
    }

    double join(const std::int32_t*& state, const std::int32_t* root) {
        double sum = 0;
        const std::size_t at = change_.glue_states.size();
        for (std::size_t k = 0; k < lms_; ++k) {
            Reading reading = LeftContexts::after(state[k]);
            space_->contexts[k].read_part(reading, root[2 * k], root[2 * k + 1]);
            change_.glue_states.push_back(reading.state);
            sum += in_score(k, reading.log10);
        }
        change_.glue_lm.push_back(sum);
        state = change_.glue_states.data() + at;
        return sum;
    }

    double part_score(std::int32_t begin, std::int32_t end) const { return batch_->part_score(chart_->sentence(), begin, end); }

    // The states of the language models before a part.
    const std::int32_t* state_before(std::size_t part) const { return part == 0 ? start_.data() : glue_states_.data() + (part - 1) * lms_; }

    double end_of(const std::int32_t* state) const {
        constexpr std::int32_t end_of_sentence = 2;
        double sum = 0;
        for (std::size_t k = 0; k < lms_; ++k) sum += in_score(k, double(batch_->models[k].view.query(state[k], end_of_sentence).log10));
        return sum;
    }

    template <class Word>
    void for_words_below(std::size_t node, Word&& word) const {
        const std::int32_t rule = nodes_[node].edge.rule;
        const auto words = batch_->words(rule);
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] >= 0)
                word(rule, i);
            else
                for_words_below(words[i] == -1 ? node + 1 : node + 1 + below(node + 1), word);
        }
    }

    const ChartBatch* batch_;
    const SentenceChart* chart_;
    Workspace* space_;
    std::size_t lms_, stride_;
    std::vector<std::int32_t> start_;
    std::vector<Node> nodes_;
    std::vector<std::int32_t> states_;
    std::vector<std::size_t> firsts_;       // the root of each part
    std::vector<double> glue_lm_;           // what joining each part scored
    std::vector<std::int32_t> glue_states_;  // of the language models after each part
    double end_score_ = 0;
    Change change_;
    std::vector<const std::int32_t*> roots_;
};

}  // namespace dragoman::sampling::chart
