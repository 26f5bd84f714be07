"""`dragoman serve`: start an HTTP service with a web page: translate, inspect models, follow tuning runs."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import Flags, Machine, command
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
                help="A model folder or NAME=FOLDER, or the folder of a normaliser; repeatable. Requests that name no "
                "model use the first one."
            ),
        ],
        limits: Annotated[Limits, Flags("Limits")],
        weights: Annotated[
            list[str] | None,
            typer.Option(help="NAME=FILE or MODEL:NAME=FILE: weights for requests to choose, a file or a run."),
        ] = None,
        languages: Annotated[
            list[str] | None,
            typer.Option(
                help="NAME=SOURCE-TARGET, such as model=fr-en: languages of a model that does not state them."
            ),
        ] = None,
        runs: Annotated[Path | None, typer.Option(help="A folder with tuning runs and experiments to show.")] = None,
        host: Annotated[
            str,
            typer.Option(help="The address to listen on; other machines can use it only with --api-key or --no-key."),
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free one.")] = 8017,
        api_key: Annotated[
            str | None,
            typer.Option(envvar="DRAGOMAN_API_KEY", help="Key that requests must have; safer in the environment."),
        ] = None,
        no_key: Annotated[bool, typer.Option("--no-key", help="Serve anybody who can reach the host.")] = False,
        allow_host: Annotated[
            list[str] | None,
            typer.Option(help="A host name that requests may use, for a service behind a proxy; repeatable."),
        ] = None,
        cors: Annotated[
            list[str] | None,
            typer.Option(help="An origin whose pages may use the service, such as https://example.org."),
        ] = None,
        copy: Annotated[
            bool,
            typer.Option(
                "--copy", help="Copy models into memory, so that later changes to their files have no effect."
            ),
        ] = False,
        log_requests: Annotated[
            bool, typer.Option("--log-requests", help="Log the address and status of each request, never its content.")
        ] = False,
        machine: Machine = Machine(),
    ) -> None:
        """Start an HTTP service with a web page at http://127.0.0.1:8017.

        It translates; shows derivations, hypergraphs and n-best lists; draws samples; applies decision rules; scores;
        and shows tuning runs while they run. Only this machine can reach it unless --host is given. Its schema is at
        /api/v1/openapi.json. Clients of LibreTranslate can use it.
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
