#include "search/phrase/derivation.hpp"

#include <algorithm>

namespace dragoman::search::phrase {
namespace {

// Makes what began at `from` begin at `to`.
template <class T>
void shift(std::vector<T>& values, std::size_t from, std::size_t to) {
    if (to > from) {
        values.resize(values.size() + to - from);
        std::move_backward(values.begin() + from, values.end() - (to - from), values.end());
    } else if (to < from) {
        std::move(values.begin() + from, values.end(), values.begin() + to);
        values.resize(values.size() - (from - to));
    }
}

}  // namespace

Derivation::Derivation(LocalSpace& space, std::vector<std::int32_t> options)
    : space_(space), phrases_(std::move(options)) {
    check();
    for (std::int32_t order : space.model.lm_orders) history_ = std::max(history_, order - 1);
    score_anew();
}

bool Derivation::allows(const Change& change) const {
    std::int32_t end = 0;
    for (const Piece& piece : change.pieces()) {
        if (!space_.within_limit(end, space_.options.begin[first_option(piece)])) return false;
        end = space_.options.end[last_option(piece)];
    }
    return true;
}

double Derivation::difference(const Change& change) const {
    Beginning beginning = before(0);
    for (const Piece& piece : change.pieces()) {
        if (piece.option < 0)
            keep(beginning, piece.first, piece.last);
        else
            place(beginning, piece.option);
    }
    return beginning.score + ending(beginning, size()) - score_;
}

void Derivation::seams(std::span<const std::int32_t> previous, std::int32_t phrase, std::vector<double>& scores) const {
    scores.resize(previous.size());
    if (phrase == size()) {
        for (std::size_t i = 0; i < previous.size(); ++i) scores[i] = space_.close(previous[i]);
        return;
    }
    const double kept = totals_.back() - totals_[phrase] + space_.close(phrases_.back()) - space_.join(option_before(phrase), phrases_[phrase]);
    space_.join_all(previous, phrases_[phrase], [&](std::size_t i, double join) { scores[i] = kept + join; });
}

void Derivation::context(std::int32_t first, std::int32_t last, std::vector<std::int32_t>& found) const {
    found.insert(found.end(), {lms_[first], option_before(first)});
    std::int64_t words = 0;
    for (std::int32_t i = last; i < size() && (i == last || words < history_); ++i) {
        found.push_back(phrases_[i]);
        words += space_.options.word_offsets[phrases_[i] + 1] - space_.options.word_offsets[phrases_[i]];
    }
}

void Derivation::surroundings(std::int32_t first, std::int32_t last, std::vector<std::int32_t>& found) const {
    found.assign(1, last - first);
    found.insert(found.end(), phrases_.begin() + first, phrases_.begin() + last);
    context(first, last, found);
}

void Derivation::become(const std::vector<std::int32_t>& options) {
    phrases_ = options;
    check();
    score_anew();
}

void Derivation::apply(const Change& change) {
    auto pieces = change.pieces();
    const std::size_t before = phrases_.size();
    std::size_t first = 0, same = 0;  // phrases that are the same at the beginning, and at the end
    if (!pieces.empty() && pieces.front().option < 0 && pieces.front().first == 0) {
        first = static_cast<std::size_t>(pieces.front().last);
        pieces = pieces.subspan(1);
    }
    if (!pieces.empty() && pieces.back().option < 0 && static_cast<std::size_t>(pieces.back().last) == before) {
        same = before - static_cast<std::size_t>(pieces.back().first);
        pieces = pieces.first(pieces.size() - 1);
    }
    gather(pieces, changed_);
    const std::size_t middle = first + changed_.size(), after = middle + same;
    std::int32_t lm = lms_[first];
    shift(phrases_, before - same, middle);
    shift(lm_scores_, before - same, middle);
    shift(phrase_scores_, before - same, middle);
    shift(lms_, before - same, middle);
    std::copy(changed_.begin(), changed_.end(), phrases_.begin() + static_cast<std::ptrdiff_t>(first));
    std::size_t i = first;
    for (; i < after && !(i > middle && lms_[i] == lm); ++i) lm = score_phrase(i, lm);
    if (i == after && lms_[after] != lm) {
        lms_[after] = lm;
        finish_ = space_.finish(lm);
    }
    for (i = first; i < (before == after ? middle : after); ++i)
        for (std::int32_t word = begin(i); word < end(i); ++word) phrase_of_[word] = static_cast<std::int32_t>(i);
    sum_up(first);
}

void Derivation::score_anew() {
    const auto size = phrases_.size();
    lm_scores_.resize(size);
    phrase_scores_.resize(size);
    lms_.assign(size + 1, space_.start_lm());
    phrase_of_.resize(static_cast<std::size_t>(space_.length()));
    for (std::size_t i = 0; i < size; ++i) {
        lms_[i + 1] = score_phrase(i, lms_[i]);
        for (std::int32_t word = begin(i); word < end(i); ++word) phrase_of_[word] = static_cast<std::int32_t>(i);
    }
    finish_ = space_.finish(lms_.back());
    sum_up(0);
}

std::int32_t Derivation::score_phrase(std::size_t i, std::int32_t lm) {
    const std::int32_t option = phrases_[i];
    const auto step = space_.read(lm, option);
    lms_[i] = lm;
    lm_scores_[i] = step.score;
    phrase_scores_[i] = space_.options.local[option] + space_.join(option_before(i), option) + step.score;
    return step.lm;
}

void Derivation::sum_up(std::size_t first) {
    totals_.resize(phrases_.size() + 1, 0);
    for (std::size_t i = first; i < phrases_.size(); ++i) totals_[i + 1] = totals_[i] + phrase_scores_[i];
    score_ = totals_.back() + finish_ + space_.close(option_before(size()));
}

void Derivation::gather(std::span<const Piece> pieces, std::vector<std::int32_t>& options) const {
    options.clear();
    for (const Piece& piece : pieces) {
        if (piece.option < 0)
            options.insert(options.end(), phrases_.begin() + piece.first, phrases_.begin() + piece.last);
        else
            options.push_back(piece.option);
    }
}

void Derivation::check() const {
    std::vector<char> covered(static_cast<std::size_t>(space_.length()), 0);
    std::int32_t words = 0, jump_from = 0;
    for (std::int32_t option : phrases_) {
        if (option < 0 || option >= space_.options.count) throw std::invalid_argument("no derivation: there is no such option");
        const std::int32_t begin = space_.options.begin[option], end = space_.options.end[option];
        if (!space_.within_limit(jump_from, begin)) throw std::invalid_argument("no derivation: a jump exceeds the reordering limit");
        for (std::int32_t word = begin; word < end; ++word) {
            if (covered[word]) throw std::invalid_argument("no derivation: a word is translated twice");
            covered[word] = 1;
        }
        words += end - begin;
        jump_from = end;
    }
    if (words != space_.length()) throw std::invalid_argument("no derivation: a word is not translated");
}

}  // namespace dragoman::search::phrase
