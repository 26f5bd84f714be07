"""`dragoman serve`: an HTTP service and a page: translate, look inside, watch runs."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import Flags, command
from dragoman.cli.shell.machine import Machine
from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.serve.limits import Limits


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "serve",
        examples=[
            "dragoman serve --model model",
            "dragoman serve --model old=model1 --model new=model2 --weights new:tuned=run --runs experiments",
            "dragoman serve --model old-to-new",
            "dragoman serve --model model --host 0.0.0.0 --api-key SECRET --rate 5",
            "curl -H 'Content-Type: application/json' -d '{\"text\": \"la maison\"}' "
            "http://127.0.0.1:8017/api/v1/translate",
        ],
    )
    def serve(
        model: Annotated[
            list[str],
            typer.Option(
                help="A model folder, or NAME=FOLDER; repeatable, the first is the default. May be a normaliser's."
            ),
        ],
        limits: Annotated[Limits, Flags("Limits")],
        weights: Annotated[
            list[str] | None,
            typer.Option(help="NAME=FILE, or MODEL:NAME=FILE: weights that requests can ask for; a file or a run."),
        ] = None,
        languages: Annotated[
            list[str] | None,
            typer.Option(help="NAME=SOURCE-TARGET, as in model=fr-en: a model's languages, if it does not know them."),
        ] = None,
        runs: Annotated[Path | None, typer.Option(help="A folder with tuning runs and experiments to look at.")] = None,
        host: Annotated[
            str, typer.Option(help="The address to listen at; beyond this machine only with --api-key or --no-key.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any that is free.")] = 8017,
        api_key: Annotated[
            str | None,
            typer.Option(envvar="DRAGOMAN_API_KEY", help="What requests must bring; better from the environment."),
        ] = None,
        no_key: Annotated[bool, typer.Option("--no-key", help="Let everybody ask who can reach the host.")] = False,
        allow_host: Annotated[
            list[str] | None,
            typer.Option(help="A name by which the service is asked for, if it is behind a proxy; repeatable."),
        ] = None,
        cors: Annotated[
            list[str] | None, typer.Option(help="An origin whose pages may use the service, as in https://example.org.")
        ] = None,
        copy: Annotated[
            bool, typer.Option("--copy", help="Read models into memory, so that writing into their files does no harm.")
        ] = False,
        log_requests: Annotated[
            bool, typer.Option("--log-requests", help="Log addresses and statuses of requests; never their content.")
        ] = False,
        machine: Machine = Machine(),
    ) -> None:
        """Start a service, and a page to look at it with, at http://127.0.0.1:8017.

        It translates, shows derivations, hypergraphs and lists, draws samples, decides, scores, and shows runs as they
        go on. Only this machine can reach it unless a --host is given. Its schema is at /api/v1/openapi.json; clients
        of LibreTranslate can use it.
        """
        if any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn")):
            raise UsageError("the service needs FastAPI and uvicorn: pip install 'dragoman[serve]'")
        from dragoman.serve.server import Address, serve_until_stopped

        address = Address.of(host, port, api_key, no_key=no_key, names=allow_host or [])
        warnings.simplefilter("ignore", DragomanWarning)
        serve_until_stopped(
            address,
            models=model,
            weights=weights or [],
            languages=languages or [],
            runs=runs,
            limits=limits,
            cors=cors or [],
            log_requests=log_requests,
            copied=copy,
            runtime=machine.runtime(),
        )
