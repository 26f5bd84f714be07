// Word classes by the exchange algorithm (Martin, Liermann & Ney 1998): a word moves to the class that raises the
// likelihood of a bigram model over classes most, until none moves.
//
// Item 0 is the edge of a sentence, before its first and after its last word; it is class 0 for good. With f(n) = n log n,
// the part of the log-likelihood that depends on the classes is sum f(N(g, h)) - 2 sum f(N(g)). A word is taken out of
// its class, and what it adds to each class is summed up over the classes of its neighbours only.
#include "base/parallel.hpp"
#include "base/records.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace dragoman::training {
namespace {

// A move must raise the log-likelihood by more: sums of logarithms are not exact, and the algorithm must end.
constexpr double kLeastGain = 1e-6;

// How often each word has each neighbour: the words after it, and the words before it.
struct Neighbours {
    Held1<std::int64_t> after_offsets, before_offsets;
    Held1<std::int32_t> after, before, after_counts, before_counts;

    void check() const {
        const std::size_t words = after_offsets.size();
        require(words > 1 && before_offsets.size() == words, "words need neighbours on both sides");
        require(bounds_rows(view(after_offsets), after.size()) && bounds_rows(view(before_offsets), before.size()),
                "neighbours do not fit their words");
        require(after.size() == after_counts.size() && before.size() == before_counts.size(), "neighbours need a count each");
        for (const auto* side : {&after, &before})
            for (const std::int32_t word : view(*side)) require(word >= 0 && std::size_t(word) + 1 < words, "a neighbour is no word");
    }
    std::size_t words() const { return after_offsets.size() - 1; }
};

// n log n, from a table where n is small.
class NLogN {
public:
    explicit NLogN(std::int64_t most) : table_(static_cast<std::size_t>(std::min<std::int64_t>(most + 1, kLargest))) {
        for (std::size_t n = 1; n < table_.size(); ++n) table_[n] = double(n) * std::log(double(n));
    }
    double operator()(std::int32_t n) const {
        return static_cast<std::size_t>(n) < table_.size() ? table_[n] : double(n) * std::log(double(n));
    }

private:
    static constexpr std::int64_t kLargest = 1 << 21;
    std::vector<double> table_;
};

// The counts of a word with the classes on one side of it, itself left out.
class ClassesBeside {
public:
    explicit ClassesBeside(std::size_t classes) : count_(classes) {}

    void collect(std::size_t word, const Held1<std::int64_t>& offsets, const Held1<std::int32_t>& words,
                 const Held1<std::int32_t>& counts, const std::vector<std::int32_t>& class_of) {
        for (const std::int32_t there : there_) count_[there] = 0;
        there_.clear();
        self = 0;
        for (auto at = offsets[word]; at < offsets[word + 1]; ++at) {
            if (std::size_t(words[at]) == word) {
                self = counts[at];
                continue;
            }
            const std::int32_t its = class_of[words[at]];
            if (count_[its] == 0) there_.push_back(its);
            count_[its] += counts[at];
        }
    }
    std::int32_t operator[](std::size_t its) const { return count_[its]; }
    const std::vector<std::int32_t>& there() const { return there_; }

    std::int32_t self = 0;

private:
    std::vector<std::int32_t> count_, there_;
};

class Exchange {
public:
    Exchange(const Neighbours& text, std::span<const std::int32_t> start, std::int32_t classes)
        : text_(text), size_(std::size_t(classes) + 1), class_of_(start.begin(), start.end()), total_(text.words()),
          of_class_(size_), then_(size_ * size_), previous_(size_ * size_), n_log_n_(tokens()), before_(size_), after_(size_), gain_(size_) {
        for (std::size_t word = 0; word < text.words(); ++word)
            for (auto at = text.after_offsets[word]; at < text.after_offsets[word + 1]; ++at) {
                const std::int32_t n = text.after_counts[at];
                total_[word] += n;
                add(class_of_[word], class_of_[text.after[at]], n);
            }
        for (std::size_t word = 0; word < text.words(); ++word) of_class_[class_of_[word]] += total_[word];
    }

    // Moves each word once, in order; returns how many have moved.
    std::int64_t pass(const std::atomic<bool>& stop) {
        std::int64_t moved = 0;
        for (std::size_t word = 1; word < text_.words(); ++word) {
            heed(stop);
            moved += move(word);
        }
        return moved;
    }

    double criterion() const {
        double sum = 0;
        for (const std::int32_t n : then_) sum += n_log_n_(n);
        for (const std::int32_t n : of_class_) sum -= 2 * n_log_n_(n);
        return sum;
    }

    // What each class would gain by the word that is now in none.
    std::vector<double>& gains(std::size_t word) {
        std::fill(gain_.begin(), gain_.end(), 0.0);
        for (const std::int32_t g : before_.there()) add_gains(&then_[g * size_], before_[g]);
        for (const std::int32_t g : after_.there()) add_gains(&previous_[g * size_], after_[g]);
        for (std::size_t b = 1; b < size_; ++b) {
            gain_[b] -= 2 * (n_log_n_(of_class_[b] + total_[word]) - n_log_n_(of_class_[b]));
            // Among the words of one class, both sides and the word itself meet in one count.
            const std::int32_t n = then_[b * size_ + b], left = before_[b], right = after_[b], all = left + right + after_.self;
            if (all == 0) continue;
            gain_[b] += n_log_n_(n + all) + n_log_n_(n) - n_log_n_(n + left) - n_log_n_(n + right);
        }
        return gain_;
    }

    // Takes a word out of its class (-1), or puts it into one (1).
    void put(std::size_t word, std::int32_t its, std::int32_t sign) {
        for (const std::int32_t g : before_.there()) add(g, its, sign * before_[g]);
        for (const std::int32_t g : after_.there()) add(its, g, sign * after_[g]);
        add(its, its, sign * after_.self);
        of_class_[its] += sign * total_[word];
    }

    void look_around(std::size_t word) {
        before_.collect(word, text_.before_offsets, text_.before, text_.before_counts, class_of_);
        after_.collect(word, text_.after_offsets, text_.after, text_.after_counts, class_of_);
    }

    std::vector<std::int32_t> class_of() && { return std::move(class_of_); }

private:
    bool move(std::size_t word) {
        look_around(word);
        const std::int32_t old = class_of_[word];
        put(word, old, -1);
        const auto& gain = gains(word);
        std::int32_t best = old;
        for (std::size_t b = 1; b < size_; ++b)
            if (gain[b] > gain[best] + (best == old ? kLeastGain : 0)) best = static_cast<std::int32_t>(b);
        put(word, best, 1);
        class_of_[word] = best;
        return best != old;
    }

    void add(std::int32_t g, std::int32_t h, std::int32_t n) {
        then_[g * size_ + h] += n;
        previous_[h * size_ + g] += n;
    }

    void add_gains(const std::int32_t* counts, std::int32_t n) {
        for (std::size_t b = 1; b < size_; ++b) gain_[b] += n_log_n_(counts[b] + n) - n_log_n_(counts[b]);
    }

    std::int64_t tokens() const {
        const auto counts = view(text_.after_counts);
        const std::int64_t tokens = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
        require(tokens <= std::numeric_limits<std::int32_t>::max(), "the text has more than 2^31 words");
        return tokens;
    }

    const Neighbours& text_;
    std::size_t size_;
    std::vector<std::int32_t> class_of_, total_, of_class_;
    std::vector<std::int32_t> then_, previous_;  // counts of two classes in a row: by the first, and by the second
    NLogN n_log_n_;
    ClassesBeside before_, after_;
    std::vector<double> gain_;
};

void check_classes(const Neighbours& text, In1<std::int32_t> classes, std::int32_t number) {
    require(number > 0 && classes.size() == text.words(), "each word needs a class");
    for (std::size_t word = 0; word < classes.size(); ++word)
        require(word == 0 ? classes[0] == 0 : 0 < classes[word] && classes[word] <= number, "a class is out of range");
}

// Linear in the text: tokens are grouped by word, and the neighbours of each word are counted in the order in which they come.
auto count_neighbours(In1<std::int32_t> words, std::int64_t vocabulary, bool after) {
    std::vector<std::int64_t> offsets(vocabulary + 1);
    std::vector<std::int32_t> neighbours, counts;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        const auto text = view(words);
        std::vector<std::int64_t> first(vocabulary + 1);
        const auto each = [&](auto&& on_pair) {
            for (std::size_t i = 1; i < text.size(); ++i) after ? on_pair(text[i - 1], text[i]) : on_pair(text[i], text[i - 1]);
        };
        each([&](std::int32_t word, std::int32_t) { ++first[word + 1]; });
        std::partial_sum(first.begin(), first.end(), first.begin());
        std::vector<std::int32_t> beside(first.back());
        std::vector<std::int64_t> next(first.begin(), first.end() - 1), place(vocabulary, -1);
        each([&](std::int32_t word, std::int32_t other) { beside[next[word]++] = other; });
        heed(stop);
        for (std::int64_t word = 0; word < vocabulary; ++word) {
            for (auto at = first[word]; at < first[word + 1]; ++at) {
                auto& found = place[beside[at]];
                if (found < offsets[word]) {
                    found = static_cast<std::int64_t>(neighbours.size());
                    neighbours.push_back(beside[at]);
                    counts.push_back(0);
                }
                ++counts[found];
            }
            offsets[word + 1] = static_cast<std::int64_t>(neighbours.size());
        }
    });
    return together(give(std::move(offsets)), give(std::move(neighbours)), give(std::move(counts)));
}

auto exchange_pass(const Neighbours& text, In1<std::int32_t> classes, std::int32_t number) {
    check_classes(text, classes, number);
    std::vector<std::int32_t> found;
    std::int64_t moved = 0;
    double criterion = 0;
    run_interruptibly([&](const std::atomic<bool>& stop) {
        Exchange exchange(text, view(classes), number);
        moved = exchange.pass(stop);
        criterion = exchange.criterion();
        found = std::move(exchange).class_of();
    });
    return together(give(std::move(found)), moved, criterion);
}

auto exchange_gains(const Neighbours& text, In1<std::int32_t> classes, std::int32_t number, std::int64_t word) {
    check_classes(text, classes, number);
    require(0 < word && std::size_t(word) < text.words(), "there is no such word");
    std::vector<double> gains;
    run_interruptibly([&](const std::atomic<bool>&) {
        Exchange exchange(text, view(classes), number);
        exchange.look_around(word);
        exchange.put(word, classes[word], -1);
        gains = exchange.gains(word);
        const double now = gains[classes[word]];
        for (double& gain : gains) gain -= now;
        gains[0] = 0;
    });
    return give(std::move(gains));
}

}  // namespace

void bind_exchange(nb::module_& m) {
    bind_record(m, "Neighbours",
                "How often each word of a text has each word after it, and before it; word 0 is the edge of a sentence.",
                Field{"after_offsets", &Neighbours::after_offsets}, Field{"after", &Neighbours::after},
                Field{"after_counts", &Neighbours::after_counts}, Field{"before_offsets", &Neighbours::before_offsets},
                Field{"before", &Neighbours::before}, Field{"before_counts", &Neighbours::before_counts});
    m.def("count_neighbours", &count_neighbours, nb::arg("words"), nb::arg("vocabulary"), nb::arg("after"),
          "For each word the offset of its row, and in it the words next to it in a text, with their counts.");
    m.def("exchange_pass", &exchange_pass, nb::arg("text"), nb::arg("classes"), nb::arg("number"),
          "Moves each word once to the best of classes 1 to `number`; returns the classes, how many words have moved, and\n"
          "the criterion, sum f(N(g, h)) - 2 sum f(N(g)) with f(n) = n log n.");
    m.def("exchange_gains", &exchange_gains, nb::arg("text"), nb::arg("classes"), nb::arg("number"), nb::arg("word"),
          "The change of the criterion if a word moved to each class.");
}

}  // namespace dragoman::training
