// Language-model probabilities of text. Each probe of the hash table waits for memory and the next one depends on it,
// so every thread walks several sentences at once and fetches the slot of each ahead of its turn.
#include "base/parallel.hpp"
#include "lm/automaton.hpp"

#include <algorithm>
#include <array>

namespace dragoman::lm {
namespace {

using View = LanguageModelView;
constexpr std::size_t sentences_per_block = 1024;
constexpr std::size_t lanes = 12;

struct Text {
    Words words;
    Bounds offsets;
    bool bos, eos;

    std::size_t sentences() const { return offsets.size() - 1; }
};

// A sentence on its way: the word to score next, and where the search for it stands.
struct Lane {
    const std::int32_t* word;
    const std::int32_t* end;
    float* logprob;
    std::uint8_t* length;
    bool eos_due;
    std::int32_t current;
    std::int32_t state;
    float backoff;
    const std::uint64_t* at;
};

template <bool with_lengths>
class Walk {
public:
    Walk(const View& lm, const Text& text, std::span<const std::int64_t> bounds, float* logprobs, std::uint8_t* lengths)
        : lm_(lm), text_(text), bounds_(bounds), logprobs_(logprobs), lengths_(lengths) {}

    void block(std::size_t begin, std::size_t end) {
        std::array<Lane, lanes> running;
        std::size_t active = 0;
        next_ = begin;
        end_ = end;
        while (active < lanes && start(running[active])) ++active;
        while (active > 0) {
            for (std::size_t i = 0; i < active;) {
                if (step(running[i]) || start(running[i])) {
                    ++i;
                } else {
                    running[i] = running[--active];
                }
            }
        }
    }

private:
    // Gives the lane the next sentence that has anything to look up; false when there is none.
    bool start(Lane& lane) {
        while (next_ < end_) {
            const std::size_t row = next_++;
            const std::size_t out = text_.offsets[row] + (text_.eos ? row : 0);
            lane.word = text_.words.data() + text_.offsets[row];
            lane.end = text_.words.data() + text_.offsets[row + 1];
            lane.logprob = logprobs_ + out;
            if constexpr (with_lengths) lane.length = lengths_ + out;
            lane.eos_due = text_.eos;
            if (advance(lane, text_.bos ? lm_.start() : 0)) return true;
        }
        return false;
    }

    // Takes up the next word in this state, and those after it that need no look-up; false at the sentence's end.
    bool advance(Lane& lane, std::int32_t state) {
        for (;;) {
            if (lane.word != lane.end) {
                lane.current = *lane.word++;
            } else if (lane.eos_due) {
                lane.current = eos;
                lane.eos_due = false;
            } else {
                return false;
            }
            lane.backoff = 0;
            if (state != 0) {
                aim(lane, state);
                return true;
            }
            state = finish(lane, lm_.unigrams[lane.current], 0);
        }
    }

    void aim(Lane& lane, std::int32_t state) {
        lane.state = state;
        lane.at = lm_.slot(state, lane.current);
        __builtin_prefetch(lane.at);
        __builtin_prefetch(lm_.record(state));
    }

    std::int32_t finish(Lane& lane, std::uint64_t entry, std::int32_t context) {
        const auto found = View::unpack(entry);
        *lane.logprob++ = lane.backoff + found.log10;
        if constexpr (with_lengths) {
            // States are numbered by length: as many bounds as lie at or below this one, less one, is its length.
            const auto above = std::ranges::upper_bound(bounds_, std::int64_t{context});
            *lane.length++ = static_cast<std::uint8_t>(above - bounds_.begin());
        }
        return found.state;
    }

    // One probe: the word is found, or the lane aims at a shorter context; false at the sentence's end.
    bool step(Lane& lane) {
        if (const std::uint64_t* const entry = lm_.find(lane.state, lane.current, lane.at))
            return advance(lane, finish(lane, *entry, lane.state));
        const auto context = lm_.context(lane.state);
        lane.backoff += context.log10;
        if (context.state == 0) return advance(lane, finish(lane, lm_.unigrams[lane.current], 0));
        aim(lane, context.state);
        return true;
    }

    const View lm_;
    const Text& text_;
    std::span<const std::int64_t> bounds_;
    float* logprobs_;
    std::uint8_t* lengths_;
    std::size_t next_ = 0, end_ = 0;
};

auto lm_score(const Automaton& model, const Rows& sentences, bool bos, bool eos, bool with_lengths, int threads,
              Progress progress) {
    const View lm = model.view();
    const Bounds bounds = view(model.bounds);
    const Text text{view(sentences.values), view(sentences.offsets), bos, eos};
    const std::size_t tokens = text.words.size() + (eos ? text.sentences() : 0);
    std::vector<float> logprobs(tokens);
    std::vector<std::uint8_t> lengths(with_lengths ? tokens : 0);
    const std::size_t blocks = (text.sentences() + sentences_per_block - 1) / sentences_per_block;
    run_blocks(blocks, threads, progress, [&](std::size_t block) {
        const std::size_t begin = block * sentences_per_block;
        const std::size_t end = std::min(text.sentences(), begin + sentences_per_block);
        if (with_lengths) {
            Walk<true>(lm, text, bounds, logprobs.data(), lengths.data()).block(begin, end);
        } else {
            Walk<false>(lm, text, bounds, logprobs.data(), nullptr).block(begin, end);
        }
    });
    return together(give(std::move(logprobs)), give(std::move(lengths)));
}

}  // namespace

void bind_query(nb::module_& m) {
    bind_record(m, "Automaton", "A language model: slots, states, unigrams, and the first state of each length.",
                Field{"slots", &Automaton::slots}, Field{"states", &Automaton::states},
                Field{"unigrams", &Automaton::unigrams}, Field{"bounds", &Automaton::bounds});
    m.def("lm_score", &lm_score, nb::arg("model"), nb::arg("sentences"), nb::arg("bos"), nb::arg("eos"),
          nb::arg("with_lengths"), nb::arg("threads"), nb::arg("progress").none(),
          "Base-10 log-probability of each word (and, with `eos`, of each sentence's end) after those before it;\n"
          "with `with_lengths` also the length of the n-gram that gave it.");
}

}  // namespace dragoman::lm
