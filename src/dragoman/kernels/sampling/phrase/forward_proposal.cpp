#include "sampling/phrase/forward_proposal.hpp"

#include <algorithm>
#include <cmath>

namespace dragoman::sampling::phrase {

ForwardProposal::ForwardProposal(PhraseSpace& space, double sharpness)
    : space_(space), sharpness_(sharpness), covered_(static_cast<std::size_t>(space.length()) + 1),
      shares_(static_cast<std::size_t>(space.options.count)), worth_(static_cast<std::size_t>(space.length()) * space.longest()) {
    for (std::int32_t begin = 0; begin < space.length(); ++begin)
        for (std::int32_t end = begin + 1; end <= std::min(space.length(), begin + space.longest()); ++end) prepare(begin, end);
}

std::optional<double> ForwardProposal::draw(Stream& stream, std::vector<std::int32_t>& derivation) {
    restart();
    derivation.clear();
    double probability = 0;
    while (left_ > 0) {
        const double total = list_spans();
        if (spans_.empty()) return std::nullopt;
        double wanted = stream.uniform() * total;
        std::size_t chosen = 0;
        while (chosen + 1 < spans_.size() && wanted >= spans_[chosen].weight) wanted -= spans_[chosen++].weight;
        const Span span = spans_[chosen];
        const auto options = space_.on_span(span.begin, span.end);
        std::size_t option = 0;
        for (double rest = stream.uniform(); option + 1 < options.size() && rest >= shares_[options[option]];)
            rest -= shares_[options[option++]];
        derivation.push_back(options[option]);
        probability += std::log(span.weight / total) + std::log(shares_[options[option]]);
        cover(span.begin, span.end);
    }
    return probability;
}

double ForwardProposal::log_probability(const std::vector<std::int32_t>& derivation) {
    restart();
    double probability = 0;
    for (std::int32_t option : derivation) {
        const double total = list_spans();
        const std::int32_t begin = space_.options.begin[option], end = space_.options.end[option];
        const auto span = std::find_if(spans_.begin(), spans_.end(), [&](const Span& s) { return s.begin == begin && s.end == end; });
        probability += std::log(span->weight / total) + std::log(shares_[option]);
        cover(begin, end);
    }
    return probability;
}

void ForwardProposal::prepare(std::int32_t begin, std::int32_t end) {
    const auto options = space_.on_span(begin, end);
    if (options.empty()) return;
    const double best = space_.estimate(options[0]);
    double sum = 0;
    for (std::int32_t option : options) sum += shares_[option] = std::exp(std::max(kLeast, sharpness_ * (space_.estimate(option) - best)));
    for (std::int32_t option : options) shares_[option] /= sum;
    worth(begin, end) = sharpness_ == 0 ? 0.0 : sharpness_ * best + std::log(sum);
}

void ForwardProposal::restart() {
    std::fill(covered_.begin(), covered_.end(), 0);
    covered_.back() = 1;
    left_ = space_.length();
    end_ = first_gap_ = 0;
}

void ForwardProposal::cover(std::int32_t begin, std::int32_t end) {
    std::fill(covered_.begin() + begin, covered_.begin() + end, 1);
    left_ -= end - begin;
    end_ = end;
    while (first_gap_ < space_.length() && covered_[first_gap_]) ++first_gap_;
}

double ForwardProposal::list_spans() {
    spans_.clear();
    const std::int32_t n = space_.length();
    const int limit = space_.model.reordering_limit < 0 ? n : space_.model.reordering_limit;
    double best = -std::numeric_limits<double>::infinity();
    std::int32_t gap_begin = 0, gap_end = 0;
    for (std::int32_t begin = std::max(0, end_ - limit); begin < std::min(n, end_ + limit + 1); ++begin) {
        if (covered_[begin]) continue;
        if (begin >= gap_end) {
            for (gap_begin = begin; gap_begin > 0 && !covered_[gap_begin - 1];) --gap_begin;
            for (gap_end = begin; !covered_[gap_end];) ++gap_end;
        }
        for (std::int32_t end = begin + 1; end <= std::min(gap_end, begin + space_.longest()); ++end) {
            if (space_.on_span(begin, end).empty()) continue;
            double value = worth(begin, end);
            if (sharpness_ != 0) {
                const double around = space_.gap(gap_begin, begin) + space_.gap(end, gap_end) - space_.gap(gap_begin, gap_end);
                value += sharpness_ * ((std::isfinite(around) ? around : 0) - space_.model.distortion_weight * std::abs(begin - end_));
            }
            if (begin != first_gap_ && end - first_gap_ > limit) value += kOutOfReach;
            best = std::max(best, value);
            spans_.push_back({begin, end, value});
        }
    }
    double total = 0;
    for (Span& span : spans_) total += span.weight = std::exp(std::max(kLeast, span.weight - best));
    return total;
}

}  // namespace dragoman::sampling::phrase
