"""Damage to models and texts: arrays, descriptions, weights and sentences, changed as a disk or an enemy would."""

import numpy as np

VALUES = [
    "[]",
    "{}",
    '""',
    '"../.."',
    '"x/y"',
    '"lm"',
    "true",
    "-1",
    "0",
    "1e400",
    "nan",
    "9" * 30,
    "[[1]]",
    "[" * 3000,
]
WEIGHTS = ["nan", "-inf", "1e300", "-1e300", "1e29", "0", "x", ""]


def use(system, lines):
    """Everything that reads the arrays: search, samplers, features, language models, and the tables as a whole."""
    found = system.translate(lines)
    system.nbest(lines[0], 3)
    system.sample(lines[0], 5)
    model = system.model
    for lm in model.language_models.values():
        lm.full_scores(found[0])
        lm.to_ngrams()
        _ = lm.sizes
    for table in (*model.tables.values(), *(grammar.whole() for grammar in model.grammars.values())):
        table.to_pairs(model.source_vocab, model.target_vocab)
        table.lookup([3])
    return found


def extremes(rng, array):
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, 1e20])
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    about = np.iinfo(array.dtype)
    near = [-1, 0, 1, len(array), len(array) + 1, 255, 256, about.max, about.min, about.max - 1, rng.getrandbits(70)]
    return (rng.choice(near) - about.min) % (about.max - about.min + 1) + about.min


def changed_array(rng, array):
    """Return an array with something changed in one of many ways, and which."""
    way = rng.choice(["bit", "bit", "byte", "half", "extreme", "extreme", "extreme", "swap", "constant"])
    way = rng.choice([way, way, way, "shorter", "longer", "reversed"])
    flat = array.reshape(-1).copy()
    if not len(flat):
        way = "longer"
    if way in ("bit", "byte"):
        data = flat.view(np.uint8)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8) if way == "bit" else rng.randrange(1, 256)
    elif way == "half" and flat.itemsize == 8:  # of what is packed: a number, or a state
        data = flat.view(np.uint32)
        data[rng.randrange(len(data))] = rng.choice([0, 1, 2**31, 2**32 - 1, len(array), 0x7F800000, 0x7FC00000])
    elif way == "swap":
        i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
        flat[[i, j]] = flat[[j, i]]
    elif way == "constant":
        flat[:] = extremes(rng, array)
    elif way == "reversed":
        flat = flat[::-1]
    elif way in ("extreme", "half"):
        flat[rng.randrange(len(flat))] = extremes(rng, array)
    if way == "shorter":
        array = array[: rng.randrange(len(array))]
    elif way == "longer":
        array = np.concatenate([array, np.zeros((rng.choice([1, len(array)]), *array.shape[1:]), array.dtype)])
    else:
        array = flat.reshape(array.shape)
    return np.ascontiguousarray(array), way


def change_array(rng, file):
    """Change one array on disk, or its header; returns how."""
    if rng.random() < 0.07:
        whole = bytearray(file.read_bytes())
        whole[rng.randrange(128)] ^= 1 << rng.randrange(8)
        file.write_bytes(whole)
        return "header"
    array, way = changed_array(rng, np.load(file))
    np.save(file, array)
    return way


def change_text(rng, file):
    """Change a line of a text."""
    lines = file.read_text().split("\n")
    at = rng.randrange(len(lines))
    way = rng.choice(["value", "value", "value", "without", "twice", "bit"])
    mark = " = " if file.suffix == ".toml" else " "
    if way == "value":
        lines[at] = f"{lines[at].split(mark)[0]}{mark}{rng.choice(VALUES if file.suffix == '.toml' else WEIGHTS)}"
    elif way == "without":
        del lines[at]
    elif way == "twice":
        lines.insert(at, lines[at])
    data = bytearray("\n".join(lines).encode())
    if way == "bit":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)
    return f"{way} of line {at + 1}"


#: What no tokeniser makes, and what readers and kernels may stumble over.
ODD = [
    "\x00",
    "\x1c",
    "\u00a0",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\U0010ffff",
    "e\u0301" * 40,
    "|||",
    "<x>",
    "&lt;",
    "</s>",
    "<s>",
    "<unk>",
]


#: Longer sentences take their time, as they should.
LONGEST = 50_000


def changed_line(rng, line):
    """Return a sentence with something changed, and which."""
    words = line.split(" ")
    at = rng.randrange(len(words))
    way = rng.choice(["odd", "odd", "bit", "swap", "twice", "without", "again", "long", "case"])
    if way == "odd":
        words[at] = rng.choice([words[at], ""]) + rng.choice(ODD)
    elif way == "bit":
        word = words[at] or "x"
        letter = rng.randrange(len(word))
        words[at] = word[:letter] + chr(ord(word[letter]) ^ 1 << rng.randrange(8)) + word[letter + 1 :]
    elif way == "swap":
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif way == "twice":
        words.insert(at, words[at])
    elif way == "without":
        del words[at]
    elif way == "again":
        words *= rng.choice([2, 3, 30])
    elif way == "long":
        words[at] *= rng.choice([2, 100, 10_000])
    elif way == "case":
        words[at] = words[at].upper()
    return " ".join(words)[:LONGEST], way
