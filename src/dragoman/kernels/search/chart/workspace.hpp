// What a thread keeps from sentence to sentence: first words by number, and how rules begin.
#pragma once

#include "search/chart/batch.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace dragoman::search::chart {

class Workspace {
public:
    explicit Workspace(const ChartBatch& batch) : batch_(batch), heads_(batch.models.size() * batch.rules()) {
        contexts.reserve(batch.models.size());
        for (const ChartLanguageModel& model : batch.models) contexts.emplace_back(model);
    }

    std::vector<LeftContexts> contexts;  // of each language model

    // Reads a rule whose holes are filled by parts: left and state of part k for model m are parts[k][2 * m] and the next.
    Reading read(std::size_t model, std::int32_t rule, const std::int32_t* const parts[2]) {
        return read_with(model, rule, parts, &LeftContexts::read_part);
    }
    // The same with parts that are known in part.
    Reading read_known(std::size_t model, std::int32_t rule, const std::int32_t* const parts[2]) {
        return read_with(model, rule, parts, &LeftContexts::read_known);
    }

private:
    struct Head {
        Reading reading;
        std::int32_t words = -1;  // before the first hole
    };

    template <class ReadPart>
    Reading read_with(std::size_t model, std::int32_t rule, const std::int32_t* const parts[2], ReadPart read_part) {
        LeftContexts& context = contexts[model];
        const auto words = batch_.words(rule, model);
        Head& head = heads_[model * batch_.rules() + static_cast<std::size_t>(rule)];
        if (head.words < 0) {
            head.reading = context.nothing();
            head.words = 0;
            while (static_cast<std::size_t>(head.words) < words.size() && words[head.words] >= 0) context.read(head.reading, words[head.words++]);
        }
        Reading reading = head.reading;
        for (std::size_t i = static_cast<std::size_t>(head.words); i < words.size(); ++i) {
            if (words[i] >= 0) {
                context.read(reading, words[i]);
            } else {
                const std::int32_t* part = parts[-1 - words[i]] + 2 * model;
                (context.*read_part)(reading, part[0], part[1]);
            }
        }
        return reading;
    }

    const ChartBatch& batch_;
    std::vector<Head> heads_;
};

// As many workspaces as there are threads at work.
class Workspaces {
public:
    explicit Workspaces(const ChartBatch& batch) : batch_(batch) {}

    std::unique_ptr<Workspace> take() {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                auto space = std::move(idle_.back());
                idle_.pop_back();
                return space;
            }
        }
        return std::make_unique<Workspace>(batch_);
    }
    void give_back(std::unique_ptr<Workspace> space) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(space));
    }

private:
    const ChartBatch& batch_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace dragoman::search::chart
