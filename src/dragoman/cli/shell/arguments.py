"""Arguments of a command line before they are parsed: flags with several values, and flags of other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dragoman.core.errors import UsageError


def repeat_flags(arguments: Sequence[str], several: Mapping[str, Callable[[str], bool]]) -> list[str]:
    """Repeat an option before each of its values.

    >>> repeat_flags(["-m", "bleu", "chrf", "out"], {"-m": lambda value: value != "out"})
    ['-m', 'bleu', '-m', 'chrf', 'out']
    """
    found: list[str] = []
    flag, values = "", 0
    for at, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[at:]]
        if argument in several:
            flag, values = argument, 0
        elif argument.startswith("-") and argument != "-":
            flag = ""
        elif flag:
            values += 1
            if values > 1:
                if several[flag](argument):
                    found.append(flag)
                else:
                    flag = ""
        found.append(argument)
    return found


def refuse_absent(arguments: Sequence[str], absent: Mapping[str, str]) -> None:
    """Refuse flags of another program that are not there, each with a sentence that says what to do instead."""
    for argument in arguments:
        flag = argument.partition("=")[0]
        if flag in absent:
            raise UsageError(f"{flag} {absent[flag]}")
