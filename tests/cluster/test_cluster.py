"""A standalone cluster on this machine: a master and two workers, to which cepheid is shipped.

Six JVMs take a while to start, so that only ``make test-cluster`` runs this.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cepheid

pytestmark = pytest.mark.skipif(
    "CEPHEID_CLUSTER" not in os.environ,
    reason="starts six JVMs, for a minute or more: set CEPHEID_CLUSTER=1, or make test-cluster",
)
JOB = Path(__file__).parent / "job.py"
PACKAGE = Path(cepheid.__file__).parent
PATIENCE = 1200


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def java(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A daemon of Spark, which knows nothing of cepheid."""
    import pyspark

    spark_home = Path(pyspark.__file__).parent
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    assert program
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # With these a worker finds the classes for executors in a Spark that pip installed.
        "SPARK_HOME": str(spark_home),
        "SPARK_SCALA_VERSION": "2.13",
    }
    with (folder / f"{arguments[0].rpartition('.')[2]}.log").open("ab") as log:
        return subprocess.Popen(
            [program, "-Xmx256m", "-cp", str(spark_home / "jars" / "*"), *arguments],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=log,
        )


def wait_until(is_so: Callable[[], bool], log: Path) -> None:
    """A driver that finds no master or no worker gives up after a minute."""
    for _ in range(2 * PATIENCE):
        if is_so():
            return
        time.sleep(0.5)
    pytest.fail(log.read_text()[-3000:])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with two workers of one core each."""
    port = free_port()
    deploy = "org.apache.spark.deploy"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    processes = [java(tmp_path, f"{deploy}.master.Master", *here, "--port", str(port))]
    url = f"spark://127.0.0.1:{port}"
    log = tmp_path / "Master.log"
    wait_until(lambda: "Starting Spark master" in log.read_text() and listens(port), log)
    for number in range(2):
        room = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work{number}"))
        processes.append(java(tmp_path, f"{deploy}.worker.Worker", *here, *room, url))
    try:
        wait_until(lambda: log.read_text().count("Registering worker") == 2, log)
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(60)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The package as an archive that Spark unpacks beside each executor."""
    path = tmp_path / "cepheid.zip"
    with zipfile.ZipFile(path, "w") as file:
        for source in PACKAGE.rglob("*"):
            if source.suffix in (".py", ".lark"):
                file.write(source, source.relative_to(PACKAGE.parent))
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of compiled code that all executors share: CEPHEID_CACHE_DIR, or a new one."""
    given = os.environ.get("CEPHEID_CACHE_DIR")
    return Path(given) if given else tmp_path_factory.mktemp("cache")


def executors(job: int) -> list[int]:
    """The processes that are executors of the job with this process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and _is_of(command, job):
            found.append(int(entry.name))
    return found


def _is_of(command: str, job: int) -> bool:
    """Whether the executor's command names a port on which the job, or its JVM, listens."""
    port = command.partition("CoarseGrainedScheduler@127.0.0.1:")[2].partition("\0")[0]
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(job)], capture_output=True, text=True, check=False
    ).stdout.split()
    inodes = {line.split()[9] for name in ("tcp", "tcp6") for line in _listening(name, port)}
    links = [link for pid in children for link in Path(f"/proc/{pid}/fd").glob("*")]
    return any(f"socket:[{inode}]" == _target(link) for link in links for inode in inodes)


def _listening(table: str, port: str) -> list[str]:
    wanted = f":{int(port):04X}" if port.isdigit() else "none"
    lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[1].endswith(wanted) and line.split()[3] == "0A"]


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "an executor killed"])
def test_the_matches_are_those_of_a_local_run(
    master: str, archive: Path, tmp_path: Path, cache: Path, killed: bool
) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["PYTHONPATH"] = str(PACKAGE.parent)
    log = tmp_path / "job.log"
    with log.open("wb") as errors:
        job = subprocess.Popen(
            [sys.executable, str(JOB), master, str(archive), str(cache)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert job.stdout is not None
        assert job.stdout.readline() == "running\n", log.read_text()[-3000:]
        if killed:
            wait_until(lambda: bool(executors(job.pid)) or job.poll() is not None, log)
            time.sleep(2)  # in the middle of its tasks
            victims = executors(job.pid)
            assert victims, "no executor of the job is running"
            os.kill(victims[0], signal.SIGKILL)
        said = job.communicate(timeout=PATIENCE)[0]
        assert job.returncode == 0, log.read_text()[-3000:]
    finally:
        job.kill()
    answer = json.loads(said.splitlines()[-1])
    assert answer["same"], answer
    assert answer["found"] > 100
    assert answer["places"] == ["shipped"]
