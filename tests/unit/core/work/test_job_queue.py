"""Files that describe job queues: what becomes of them, and what is refused."""

import subprocess
import sys

import pytest

from dragoman.core.errors import DataError
from dragoman.core.work.cluster import private_connection
from dragoman.core.work.job_queue import JobQueue

GOOD = """
queue = "{queue}"
jobs = 3
cores = 4
memory = "8GB"
prologue = ["module load gcc"]
directives = ["--special"]
"""


def script(path):
    with JobQueue.read(path).cluster(private_connection()) as cluster:
        return cluster.job_script()


@pytest.mark.parametrize(
    ("queue", "more", "expected"),
    [
        ("slurm", 'walltime = "02:00:00"\npartition = "long"\naccount = "me"', ["SBATCH -p long", "SBATCH -A me"]),
        ("sge", 'walltime = "02:00:00"\npartition = "long"\naccount = "me"', ["$ -q long", "$ -P me"]),
        ("pbs", 'walltime = "02:00:00"\npartition = "long"\naccount = "me"', ["PBS -q long", "PBS -A me"]),
        ("htcondor", 'disk = "2GB"', ["MY.DaskWorkerDisk = 2000000000"]),
    ],
)
def test_a_job_is_written_for_each_queue(tmp_path, queue, more, expected):
    path = tmp_path / "queue.toml"
    path.write_text(GOOD.format(queue=queue).replace("directives", "directives" if queue != "htcondor" else "#") + more)
    found = script(path)
    assert JobQueue.read(path).jobs == 3
    for line in [
        *expected,
        "module load gcc",
        "tls://",
        "--tls-key",
        "--nthreads 1",
        "--nworkers 4",
        "--memory-limit 0",
    ]:
        assert line in found
    assert ("02:00:00" in found) == (queue != "htcondor")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queue = ", "is not TOML"),
        ("cores = 1", "names no queue; expected queue = one of slurm, sge, pbs, htcondor"),
        ('queue = "lsf"', "has the queue 'lsf'; expected"),
        ('queue = "slurm"\ncores = 1', "lacks memory; expected cores and memory"),
        ('queue = "slurm"\ncors = 1', "has a key 'cors'; expected only queue, cores, memory"),
        ('queue = "slurm"\ncores = 0\nmemory = "1GB"', "has cores = 0; expected a number of at least 1"),
        ('queue = "slurm"\ncores = 1\nmemory = 1', "has memory = 1; expected a string"),
        ('queue = "slurm"\ncores = 1\nmemory = "1GB"\nprologue = "x"', "has prologue = 'x'; expected a list of lines"),
        ('queue = "slurm"\ncores = 1\nmemory = "1GB"\ndisk = "1GB"', "has 'disk', which slurm does not know"),
        ('queue = "htcondor"\ncores = 1\nmemory = "1GB"', "lacks disk; expected what HTCondor wants to know"),
    ],
)
def test_what_no_queue_understands_is_refused(tmp_path, text, message):
    path = tmp_path / "queue.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        JobQueue.read(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.slow
def test_ctrl_c_stays_what_it_is(tmp_path):
    program = (
        "import signal, sys; from dragoman.core.work.cluster import private_connection; "
        "from dragoman.core.work.job_queue import JobQueue; "
        "JobQueue.read(sys.argv[1]).cluster(private_connection()).close(); "
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    path = tmp_path / "slurm.toml"
    path.write_text('queue = "slurm"\njobs = 1\ncores = 1\nmemory = "1GB"\n', encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
