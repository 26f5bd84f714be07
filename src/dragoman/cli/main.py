"""The `dragoman` command: turns errors of its subcommands into sentences and exit codes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell.commands import ANY_WIDTH, LazyGroup
from dragoman.core.errors import DragomanError, write_error

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
