"""Commands in processes of their own that need not load the packages of others, for a test that starts dozens.

`python warm_commands.py SOCKET` loads these packages, and nothing of Dragoman, and forks a process for each command
that `python -I -S warm_commands.py SOCKET ARGUMENT...` asks for; that one lends it its files, folder and environment,
and ends as it ends. The argument `-` is for a Python program on standard input. What Dragoman loads, and in which
order, is as in any other process.
"""

import json
import os
import socket
import sys

PACKAGES = (
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "numpy",
    "rich.console",
    "rich.progress",
    "sacrebleu",
    "sacremoses",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "threadpoolctl",
    "typer.core",
)


def ask(path, arguments):
    """Have a command run; returns its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        told = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109 (pathlib takes long to load)
        socket.send_fds(connection, [len(told).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(told)
        answer = connection.recv(1)
    return answer[0] if answer else 255


def serve(path):
    """Wait for commands; returns in each process that is to run one, which then has everything that was lent.

    It says when it is ready, and ends when its input does.
    """
    import contextlib
    import gc
    import importlib
    import select

    for package in PACKAGES:
        importlib.import_module(package)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    gc.freeze()  # or each process would copy all objects, to look for garbage among them
    print("ready", flush=True)
    while select.select([server, 0], [], [])[0] == [server]:
        connection, _ = server.accept()
        if os.fork():
            connection.close()
            continue
        server.close()
        size, files, _, _ = socket.recv_fds(connection, 8, 3)
        arguments, folder, environment = json.loads(_received(connection, int.from_bytes(size, "big")))
        child = os.fork()
        if child:
            for file in files:
                os.close(file)
            connection.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
            os._exit(0)
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["dragoman", *arguments]
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        return
    with contextlib.suppress(ChildProcessError):  # all are waited for, so that their time counts as ours
        while True:
            os.wait()
    sys.exit()


def _received(connection, size):
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
    if sys.argv[1:] == ["-"]:
        exec(compile(sys.stdin.read(), "program", "exec"), {"__name__": "__main__"})
    else:
        from dragoman.cli.main import main

        main()
