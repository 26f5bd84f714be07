"""Rules as plain Python, for tests of what is done with them."""


def spelled(vocab, side):
    """A side with words as text; nonterminals stay -1 and -2."""
    return tuple(int(symbol) if symbol < 0 else vocab[int(symbol)] for symbol in side)


def rules_as_dict(rules):
    """Rules by their two sides: scores to six digits, links, counts."""
    found = {}
    for row in range(len(rules)):
        key = (
            spelled(rules.source_vocab, rules.sources[int(rules.source_ids[row])]),
            spelled(rules.target_vocab, rules.targets[int(rules.target_ids[row])]),
        )
        assert key not in found
        found[key] = (
            [f"{score:.5g}" for score in rules.scores[row].tolist()],
            None if rules.alignments is None else [divmod(int(point), 256) for point in rules.alignments[row]],
            None if rules.counts is None else rules.counts[row].tolist(),
        )
    return found
