"""The `dragoman` command: turns errors of its subcommands into sentences and exit codes.

The docstring of a module has a line for each of its commands: `dragoman NAME`: what it does. These lines are read
without importing the module, so that `dragoman --help` need not wait for what only some commands use.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from dragoman.cli.shell.arguments import refuse_absent, repeat_flags
from dragoman.core.errors import DragomanError, write_error
from dragoman.core.options import RENAMED, current_name, renaming
from dragoman.core.progress import live_progress

Row = tuple[str, str]
Context = Any  # the type that methods have in the library was another in other versions of it

#: Prefixes of paragraphs of a help text that are headings, or commands to copy.
HEADING, EXAMPLE = "# ", "$ "

#: Help is as wide as the terminal.
ANY_WIDTH = {"max_content_width": 10_000}

#: Sections of help: the most important options, and those about threads, memory and clusters.
MAIN, MACHINE = "Main options", "Machine"

_INDENT = "  "
_WIDEST_NAMES = 30


def paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs, each in one line, for a terminal of any width.

    >>> paragraphs("One\\ntwo.\\n\\nThree.")
    ['One two.', 'Three.']
    """
    return [" ".join(part.split()) for part in text.strip().split("\n\n") if part.strip()]


class HelpCommand(TyperCommand):
    """A command whose help has a section for its arguments, and one for each panel of its options.

    `several` has options that may be followed by several values, as in `-m bleu chrf`, with a test of what is a value.
    `absent` has flags of another program that the command does not have, with what to do instead.
    """

    several: ClassVar[Mapping[str, Callable[[str], bool]]] = {}
    absent: ClassVar[Mapping[str, str]] = {}

    def format_help_text(self, ctx: Context, formatter: Any) -> None:
        """Write the description of the command and its examples."""
        _write_text(formatter, self.help or "")

    def format_options(self, ctx: Context, formatter: Any) -> None:
        """Write all arguments and options."""
        _write_parameters(formatter, ctx, self.get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse flags, old names included."""
        refuse_absent(args, self.absent)
        known = {flag.removeprefix("--").replace("-", "_"): flag for option in self.params for flag in option.opts}
        return super().parse_args(ctx, repeat_flags([_current_flag(arg, known) for arg in args], self._repeatable()))

    def _repeatable(self) -> dict[str, Callable[[str], bool]]:
        return {
            flag: test
            for name, test in self.several.items()
            for option in self.params
            if option.name == name
            for flag in option.opts
        }


def _current_flag(argument: str, known: Mapping[str, str]) -> str:
    """Replace an old flag by the current one, with a warning; `known` are flags by their names in Python."""
    flag, equals, value = argument.partition("=")
    name = flag.removeprefix("--").replace("-", "_")
    if name not in RENAMED or not flag.startswith("--"):
        return argument
    new = current_name(name, known)
    if new == name:
        return argument
    live_progress().warn(renaming(flag, known[new]))
    return f"{known[new]}{equals}{value}"


class HelpGroup(TyperGroup):
    """A group of commands whose help has a line about each."""

    def format_help_text(self, ctx: Context, formatter: Any) -> None:
        """Write the description of the group."""
        _write_text(formatter, self.help or "")

    def format_options(self, ctx: Context, formatter: Any) -> None:
        """Write the options of the group, and its commands."""
        _write_parameters(formatter, ctx, self.get_params(ctx))
        _write_section(formatter, "Commands", [(name, self.summary(ctx, name)) for name in self.list_commands(ctx)])

    def summary(self, ctx: Context, name: str) -> str:
        """Return the line about a command: the first paragraph of its help."""
        command = self.get_command(ctx, name)
        return paragraphs(command.help or "")[0] if command and command.help else ""


def _write_text(formatter: Any, text: str) -> None:
    before = ""
    for paragraph in paragraphs(text):
        example = paragraph.startswith(EXAMPLE)
        if not before.startswith(HEADING) and not (example and before.startswith(EXAMPLE)):
            formatter.write("\n")
        if paragraph.startswith(HEADING):
            formatter.write(_heading(paragraph.removeprefix(HEADING)))
        elif example:  # never broken, so that it can be copied
            formatter.write(f"{_INDENT}{paragraph}\n")
        else:
            formatter.write("".join(f"{_INDENT}{line}\n" for line in _wrapped(paragraph, formatter.width)))
        before = paragraph


def _write_parameters(formatter: Any, ctx: Context, parameters: Iterable[Any]) -> None:
    sections: dict[str, list[Row]] = {}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            names, meaning = record
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panel = getattr(parameter, "rich_help_panel", None) or kind
            # Some versions of the library escape brackets, which it takes for markup, even where there is none.
            sections.setdefault(panel, []).append((_without_containers(names), meaning.replace("\\[", "[")))
    for title in ordered_panels(sections):
        _write_section(formatter, title, sections[title])


def _without_containers(names: str) -> str:
    """Simplify the type of an option: no `list[...]`, no `range`, and no type for flags without a value.

    >>> _without_containers("--arpa <list[Path]>"), _without_containers("--threads <int range>")
    ('--arpa <path>', '--threads <int>')
    >>> _without_containers("--json <bool>")  # so some versions of the library have it
    '--json'
    """
    names = names.replace(" <bool>", "")
    return re.sub(r"<(?:list\[)?(\w+)(?:\]| range)>", lambda found: f"<{found[1].lower()}>", names)


def ordered_panels(titles: Iterable[str]) -> list[str]:
    """Sort panels: arguments, main options, other panels as given, and options without a panel last.

    If there are no main options, options without a panel come before the panels.

    >>> ordered_panels(["Search", "Options", "Main options"]), ordered_panels(["Search", "Options"])
    (['Main options', 'Search', 'Options'], ['Options', 'Search'])
    """
    titles = list(titles)
    ranks = {"Arguments": 0, MAIN: 1, "Options": 3 if MAIN in titles else 1}
    return sorted(titles, key=lambda title: ranks.get(title, 2))


def _write_section(formatter: Any, title: str, rows: Sequence[Row]) -> None:
    if not rows:
        return
    formatter.write(f"\n{_heading(title)}")
    widest = min(_WIDEST_NAMES, formatter.width // 3)
    column = max(min(len(names), widest) for names, _ in rows) + len(_INDENT)
    for names, meaning in rows:
        lines = _folded(names, formatter.width - len(_INDENT))
        texts = _wrapped(" ".join(meaning.split()), formatter.width - column)
        beside = len(lines) == 1 and len(names) < column
        for i, line in enumerate(lines):
            text = texts.pop(0) if beside and texts else ""
            gap = " " * (column - len(line)) if text else ""
            formatter.write(f"{_INDENT * (1 + (i > 0))}{_styled(line, fg='cyan')}{gap}{text}\n")
        formatter.write("".join(f"{_INDENT}{'':{column}}{text}\n" for text in texts))


def _heading(title: str) -> str:
    return f"{_styled(title, bold=True)}\n"


def _styled(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width - len(_INDENT), 20), break_long_words=False, break_on_hyphens=False)


def _folded(names: str, width: int) -> list[str]:
    """Break names and choices into lines, between words and behind `|` only.

    >>> _folded("--by [difference|relative]", 20)
    ['--by [difference|', 'relative]']
    """
    lines = [""]
    for piece in re.split(r"(?<=[| ])", names):
        if lines[-1] and len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


_COMMAND_LINE = re.compile(r"^`dragoman ([a-z-]+)`: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class CommandEntry:
    """A command as the docstring of its module has it."""

    module: str
    summary: str


@functools.cache
def command_entries() -> dict[str, CommandEntry]:
    """Return all commands by name."""
    found = {}
    for file in Path(__file__).parent.glob("*.py"):
        docstring = file.read_text(encoding="utf-8").split('"""')[1]
        for name, summary in _COMMAND_LINE.findall(docstring):
            found[name] = CommandEntry(f"dragoman.cli.{file.stem}", summary[0].upper() + summary[1:])
    return dict(sorted(found.items()))


class Commands(Mapping[str, Any]):
    """The commands by name, made when they are looked up."""

    def __getitem__(self, name: str) -> Any:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.callback()(lambda: None)  # without it, an application with one command would be that command
        importlib.import_module(command_entries()[name].module).register(app)
        return typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[str]:
        return iter(command_entries())

    def __len__(self) -> int:
        return len(command_entries())


class LazyGroup(HelpGroup):
    """The group of all commands; its help loads none of them."""

    def __init__(self, **settings: Any):
        super().__init__(**{**settings, "commands": None})
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of all commands."""
        return list(self.commands)

    def summary(self, ctx: Context, name: str) -> str:
        """Return the line about a command, from its module's docstring."""
        return command_entries()[name].summary

    def shell_complete(self, ctx: Context, incomplete: str) -> list[Any]:
        """Complete names and options, without loading a command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        item = _completion_item()
        return [item(name, help=one.summary) for name, one in command_entries().items() if name.startswith(incomplete)]


def _completion_item() -> Any:
    """Return the class of completion items; newer versions of the library contain it."""
    try:
        return importlib.import_module("typer._click.shell_completion").CompletionItem
    except ImportError:
        return importlib.import_module("click.shell_completion").CompletionItem


_HELP = """
Train, tune, inspect and apply log-linear translation models, and exchange them with other toolkits.

# Start here

$ dragoman demo --out demo

$ dragoman train --source train.fr --target train.en --out model

# Everywhere

Run any command with --help to see its options and examples. Files may be plain or compressed (gzip, bzip2, xz, zstd);
`-` is standard input or output. Results go to standard output, messages to standard error. Exit codes: 0 success, 1
error in the data, 2 error in the command line.
"""


#: Shells that can complete commands, and the variable by which they ask for it.
Shell = Literal["bash", "zsh", "fish"]
_COMPLETE = "_DRAGOMAN_COMPLETE"


def build_app() -> typer.Typer:
    """Return the application; its commands are in the modules of this folder, each with a `register(app)`."""
    app = typer.Typer(
        cls=LazyGroup,
        help=_HELP,
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings=ANY_WIDTH,
    )

    @app.callback()
    def options(
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
        version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version)] = False,
        show_completion: Annotated[
            Shell | None,
            typer.Option(
                "--show-completion", help="Print the completion script for this shell.", callback=_show_completion
            ),
        ] = None,
        install_completion: Annotated[
            Shell | None,
            typer.Option(
                "--install-completion",
                help="Install command completion for this shell.",
                callback=_install_completion,
            ),
        ] = None,
    ) -> None:
        pass

    return app


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        from typer.completion import get_completion_script  # type: ignore[attr-defined]

        print(get_completion_script(prog_name="dragoman", complete_var=_COMPLETE, shell=shell))
        sys.exit()


def _install_completion(shell: str | None) -> None:
    if shell is not None:
        from typer.completion import install  # type: ignore[attr-defined]

        _, path = install(shell=shell, prog_name="dragoman", complete_var=_COMPLETE)
        print(f"{path} makes {shell} complete commands from its next start on")
        sys.exit()


def _version(wanted: bool) -> None:
    if wanted:
        from dragoman.core.errors import version

        print(f"dragoman {version()}")
        sys.exit()


def _open_what_is_closed() -> None:
    """Open standard streams that the shell has closed (`>&-`) as empty ones; Python has None for them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as we live


def _drop_output() -> None:
    """Discard output that the end of the process would write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def with_flags(message: str) -> str:
    """Write the options that a message names as flags.

    >>> with_flags('give them with `held_out_trees=`, by `decision="mbr"`, or `restart=True`')
    'give them with --held-out-trees, by --decision mbr, or --restart'
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2].strip('"')
        return f"--{name} {value}" if value not in ("", "True") else f"--{name}"

    return re.sub(r"`([a-z][a-z_]*)=([^`\s]*)`", flag, message)


def main() -> None:
    """Run the command line."""
    _open_what_is_closed()
    try:
        try:
            if sys.argv[1:] == ["--version"]:
                _version(True)  # at once: to understand options, the library loads others that take half a second
            if _COMPLETE in os.environ:
                from typer.completion import completion_init  # type: ignore[attr-defined]

                completion_init()
            build_app()(prog_name="dragoman")
        finally:
            sys.stdout.flush()
    except DragomanError as error:
        if "--debug" in sys.argv:
            raise
        print(f"dragoman: error: {with_flags(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output has gone, and nobody is left to tell
        _drop_output()
        sys.exit(1)
    except OSError as error:  # files have their own sentences, or at least a name
        _drop_output()
        named = f"{error.filename}: {error.strerror}" if error.filename else write_error("standard output", error)
        print(f"dragoman: error: {named}", file=sys.stderr)
        sys.exit(1)
    except (KeyboardInterrupt, SystemExit) as ended:
        # The command-line library turns Ctrl-C into an exit without a word.
        if isinstance(ended, SystemExit) and ended.code != 130:
            raise
        print("dragoman: interrupted", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        print("dragoman: error: out of memory", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
