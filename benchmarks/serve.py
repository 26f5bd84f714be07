"""The service under load: beside `dragoman translate`, alone, with too many clients, and for minutes.

python benchmarks/serve.py --model model --data ../shared/data [--rounds 5] [--minutes 10]

The model is one of Multi30k, fr-en, on tokenised text: `dragoman train --source train.fr.gz --target train.en.gz
--tokenised --out model`. Clients are in a process of their own, on the same cores as the service. Throughput is given
by the clock and by processor time: on a machine that others use too, the first says little.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import httpx
import numpy as np

from quick import parse_arguments

_COMMAND = [sys.executable, "-m", "dragoman.cli.main"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--data", default=Path("../shared/data"), type=Path)
    parser.add_argument("--sentences", default=1000, type=int)
    parser.add_argument("--clients", default=32, type=int)
    parser.add_argument("--rounds", default=5, type=int, help="of the command and the service in turn")
    parser.add_argument("--minutes", default=0.0, type=float, help="of the soak; 0 is none")
    asked = parse_arguments(parser, "--model {model} --data {data} --sentences 10 --clients 2 --rounds 1")
    file = asked.data / "multi30k" / "test_2016_flickr.fr.gz"
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in stream][: asked.sentences]
    server = Server(asked.model)
    try:
        alone = asyncio.run(asked_for(server.url, [[line] for line in lines[:200]], 1))
        print(f"alone: {latencies(alone.seconds)}; {alone.statuses}")
        beside_the_command(server, asked.model, lines, asked.clients, asked.rounds)
        crowd(server, lines)
        if asked.minutes:
            soak(server, lines, asked.minutes)
    finally:
        server.stop()


def beside_the_command(server: Server, model: Path, lines: list[str], clients: int, rounds: int) -> None:
    """The command and the service in turn, so that what else happens on the machine happens to both; medians count."""
    found: dict[int, list[tuple[float, ...]]] = {1: [], 10: []}
    for _ in range(rounds):
        command = command_line(model, lines)
        for size, rows in found.items():
            parts = [lines[i : i + size] for i in range(0, len(lines), size)]
            before = server.cpu()
            loaded = in_process(server.url, parts, clients)
            spent = server.cpu() - before
            print(
                f"{clients} clients, {size} sentences a request: {len(lines) / loaded.wall:.0f} sentences/s, "
                f"{spent:.2f} s of the server's processor time, {loaded.cpu:.2f} s of the clients'; "
                f"{latencies(loaded.seconds)}; {loaded.statuses}; "
                f"the same lines as the command: {loaded.texts == command.texts}"
            )
            rows.append((command.wall / loaded.wall, command.cpu / max(spent, 0.01)))  # CPU time comes in ticks
    for size, rows in found.items():
        clock, cpu = np.median(rows, axis=0)
        each = ", ".join(f"{row[0]:.2f}" for row in rows)
        print(
            f"{size} sentences a request beside the command: {clock:.2f} of its sentences/s by the clock ({each}), "
            f"{cpu:.2f} by processor time"
        )


class Command:
    """What `dragoman translate --threads 2` takes and writes, without the time to start."""

    def __init__(self, texts: list[str], wall: float, cpu: float):
        self.texts, self.wall, self.cpu = texts, wall, cpu


def command_line(model: Path, lines: list[str]) -> Command:
    """Translate all lines, and one, whose time is that of starting."""
    found: dict[int, tuple[float, float, list[str]]] = {}
    for count in (1, len(lines)):
        text = "".join(f"{line}\n" for line in lines[:count]).encode()
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        arguments = [*_COMMAND, "translate", "--model", str(model), "--threads", "2"]
        out = subprocess.run(arguments, input=text, capture_output=True, check=True).stdout.decode()
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found[count] = wall, spent, out.splitlines()
    start, whole = found[1], found[len(lines)]
    wall, cpu = whole[0] - start[0], whole[1] - start[1]
    print(f"command: {len(lines) / wall:.0f} sentences/s, {cpu:.2f} s of processor time")
    return Command(whole[2], wall, cpu)


class Server:
    """The service in a process of its own; says how long its start took."""

    def __init__(self, model: Path):
        begin = time.monotonic()
        arguments = ["serve", "--model", str(model), "--port", "0", "--threads", "2"]
        self._process = subprocess.Popen([*_COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        found = re.search(r"http://\S+", self._process.stderr.readline())
        assert found is not None, "the service did not start"
        self.url = found[0]
        httpx.get(f"{self.url}/api/v1/health", timeout=60)
        wall = time.monotonic() - begin
        print(f"start: {wall:.2f} s wall, {self.cpu():.2f} s of processor time until the first answer")

    def cpu(self) -> float:
        """Seconds of the processor so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory, in MB."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]

    def kept(self) -> float:
        """Memory of hypergraphs that are kept, in MB, as the service counts it."""
        text = httpx.get(f"{self.url}/metrics", timeout=60).text
        return float(re.search(r"^dragoman_kept_bytes (\S+)", text, re.MULTILINE)[1]) / 2**20  # type: ignore[index]

    def stop(self) -> None:
        """End it; says if it had ended by itself."""
        if self._process.poll() is not None:
            print(f"the service has ended with {self._process.returncode}")
        self._process.terminate()
        self._process.wait(30)


class Answers:
    """What clients got: latencies, statuses, texts in order, and the time all of it took."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.statuses: dict[int, int] = {}
        self.bodies: dict[int, bytes] = {}
        self.wall = 0.0
        self.cpu = 0.0

    @property
    def texts(self) -> list[str]:
        answers = (json.loads(self.bodies[i])["translations"] for i in sorted(self.bodies))
        return [one["text"] for answer in answers for one in answer]


async def asked_for(url: str, parts: list[list[str]], clients: int) -> Answers:
    """Have some clients ask for all parts, each client one after the other, on a connection of its own.

    They share the machine with the service, so they do as little as they can: requests are written before the clock
    starts, and answers are read after it stops.
    """
    host, port = url.removeprefix("http://").split(":")
    found, waiting = Answers(), iter([(i, _request(host, lines)) for i, lines in enumerate(parts)])

    async def ask() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for i, request in waiting:
            sent = time.monotonic()
            writer.write(request)
            status, retry, body = await asyncio.wait_for(_answer(reader), 120)
            found.seconds.append(time.monotonic() - sent)
            found.statuses[status] = found.statuses.get(status, 0) + 1
            if status == 200:
                found.bodies[i] = body
            elif not retry:
                raise AssertionError(body.decode())
        writer.close()

    begin, spent = time.monotonic(), time.process_time()
    await asyncio.gather(*(ask() for _ in range(clients)))
    found.wall, found.cpu = time.monotonic() - begin, time.process_time() - spent
    return found


def _request(host: str, lines: list[str]) -> bytes:
    body = json.dumps({"texts": lines, "split": False}).encode()
    head = f"POST /api/v1/translate HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bool, bytes]:
    """The status of an answer, whether it says when to come again, and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    return int(head.split(maxsplit=2)[1]), b"retry-after:" in head, await reader.readexactly(length)


def _run(url: str, parts: list[list[str]], clients: int) -> Answers:
    return asyncio.run(asked_for(url, parts, clients))


def in_process(url: str, parts: list[list[str]], clients: int) -> Answers:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(_run, url, parts, clients).result()


def latencies(seconds: list[float]) -> str:
    """Median and 99th percentile."""
    low, high = np.percentile(seconds, [50, 99]) * 1000
    return f"p50 {low:.1f} ms, p99 {high:.1f} ms, longest {max(seconds) * 1000:.1f} ms"


def crowd(server: Server, lines: list[str]) -> None:
    """More clients than are let in at a time: some are sent away, none hangs."""
    found = in_process(server.url, [[line] for line in lines], 200)
    print(f"200 clients: {latencies(found.seconds)}; statuses {json.dumps(found.statuses)}")


def soak(server: Server, lines: list[str], minutes: float) -> None:
    """Ask for minutes, and look at the memory: all of it, and that of hypergraphs that are kept."""
    begin, requests, lost, shown = time.monotonic(), 0, 0, 0.0
    rng = np.random.default_rng(1)
    print("minutes  requests  MB  of which kept")
    while (passed := (time.monotonic() - begin) / 60) < minutes:
        if passed >= shown:
            print(f"{passed:7.1f}  {requests:8,}  {server.memory():.0f}  {server.kept():.1f}", flush=True)
            shown += minutes / 20
        picked = [[lines[i]] for i in rng.integers(len(lines), size=200)]
        try:
            _run(server.url, picked, 16)
            with httpx.Client(base_url=server.url, timeout=120) as client:
                for i, weight in zip(rng.integers(len(lines), size=20).tolist(), rng.random(20), strict=True):
                    client.post("/api/v1/reweight", json={"text": lines[i], "weights": {"lm": float(weight)}})
                    client.post("/api/v1/sample", json={"text": lines[i], "samples": 50})
                client.get("/api/v1/models")
            requests += 241
        except (OSError, asyncio.IncompleteReadError, httpx.TransportError) as error:
            lost += 1
            print(f"after {passed:.1f} minutes a connection was lost: {error!r}", flush=True)
    print(f"{passed:7.1f}  {requests:8,}  {server.memory():.0f}  {server.kept():.1f}; connections lost: {lost}")


if __name__ == "__main__":
    main()
