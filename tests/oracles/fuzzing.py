"""Fuzzing readers: how many examples, and damaged versions of valid files."""

import os

from hypothesis import HealthCheck, settings, strategies as st

fuzz = settings(
    max_examples=int(os.environ.get("DRAGOMAN_FUZZ_EXAMPLES", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def mutations(draw, data, pieces):
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        match draw(st.sampled_from(["flip", "delete", "cut", "repeat", "insert", "move"])):
            case "flip" if at < len(data):
                data = data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
            case "delete":
                data = data[:at] + data[at + length :]
            case "cut":
                data = data[:at]
            case "repeat":
                data = data[: at + length] + data[at:]
            case "insert":
                data = data[:at] + draw(st.sampled_from(pieces)) + data[at:]
            case "move":
                lines = data.split(b"\n")
                line = lines.pop(draw(st.integers(0, len(lines) - 1)))
                lines.insert(draw(st.integers(0, len(lines))), line)
                data = b"\n".join(lines)
    return data
