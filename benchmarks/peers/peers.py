"""The questions, and the peers: how each is installed in its own environment, and how it is run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ENVIRONMENTS = Path("build/peers")
INSTALL_SECONDS = 900
WORKLOADS = {
    "sequence": "after an A the next B and then the next C of the same id",
    "any_match": "every A, B and C of an id in this order",
    "negation": "after an A the next C of the same id, with no B between",
    "contiguous": "an A, one or more B's and a C, next to each other among the events of an id",
    "relaxed": "after an A all B's of the same id until the next C, at least one",
    "subsets": "an A, any one or more of the B's after it, and a later C: only their number and "
    "the sum of a column are asked, and need not be listed",
    "absence": "an A without a B of the same id in the quarter of a window after it",
    "rules_1": "a set of one rule, which is the sequence",
    "rules_10": "a set of ten rules, which are sequences of three other types",
    "rules_100": "a set of a hundred such rules",
}


class CannotBeHad(Exception):
    """A peer that cannot be installed here; the message is a word about the reason."""


@dataclass(frozen=True, slots=True)
class Peer(ABC):
    """Something that answers the questions, run as a process of its own."""

    name: str

    @abstractmethod
    def command(self) -> list[str]:
        """The command to which the file, the workload and the window are appended.

        Raises:
            CannotBeHad: it cannot be installed.
        """


@dataclass(frozen=True, slots=True)
class PythonPeer(Peer):
    """A script and the packages that it needs; without packages, it runs in this environment."""

    script: str
    packages: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The script in its environment, which is created if there is none."""
        script = str(FOLDER / self.script)
        if not self.packages:
            return [sys.executable, script]
        environment = (ENVIRONMENTS / Path(self.script).stem).absolute()
        python = environment / "bin" / "python"
        done = environment / "installed"
        if not done.exists():
            _run([sys.executable, "-m", "venv", str(environment)])
            _run([str(python), "-m", "pip", "install", "-q", *self.packages])
            done.touch()
        return [str(python), script]


@dataclass(frozen=True, slots=True)
class JavaPeer(Peer):
    """A class and the file with its dependencies in Maven Central."""

    main: str
    dependencies: str
    reads: tuple[str, ...] = ("Event", "Answer")
    """The other classes that it needs."""

    def command(self) -> list[str]:
        """The class, which is compiled if it has not been yet."""
        for tool in ("mvn", "javac", "java"):
            if shutil.which(tool) is None:
                raise CannotBeHad(f"{tool} is not installed")
        folder = (ENVIRONMENTS / self.main).absolute()
        jars, classes, done = folder / "jars", folder / "classes", folder / "installed"
        java = FOLDER / "java"
        sources = [java / f"{each}.java" for each in (*self.reads, self.main)]
        if not done.exists():
            fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
            where = ["-f", str(java / self.dependencies), f"-DoutputDirectory={jars}"]
            _run([*fetch, *where])
            done.touch()
        _run(["javac", "-nowarn", "-d", str(classes), "-cp", f"{jars}/*", *map(str, sources)])
        # Flink serialises collections of the JDK by reflection.
        opened = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("util", "lang")]
        return ["java", "-Xmx4g", *opened, "-cp", f"{classes}:{jars}/*", self.main]


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = (error.stderr or error.stdout or b"").decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else type(error).__name__
        raise CannotBeHad(f"{Path(command[0]).name} failed: {last[:200]}") from error


CEPHEID = PythonPeer("cepheid", "cepheid_peer.py")
PEERS: tuple[Peer, ...] = (
    CEPHEID,
    JavaPeer("Flink CEP", "FlinkPeer", "flink.xml"),
    JavaPeer("Flink SQL", "FlinkSqlPeer", "flinksql.xml"),
    JavaPeer("Esper", "EsperPeer", "esper.xml"),
    JavaPeer("Siddhi", "SiddhiPeer", "siddhi.xml"),
    PythonPeer("Polars", "polars_peer.py", ("polars",)),
    PythonPeer("DuckDB", "duckdb_peer.py", ("duckdb",)),
    PythonPeer("pandas-match-recognize", "pandas_peer.py", ("pandas-match-recognize",)),
)
ABSENT = {"OpenCEP": "not in a package registry"}
"""Peers that cannot be had from a package registry, and why."""
