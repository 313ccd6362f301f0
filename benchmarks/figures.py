"""``python -m benchmarks.figures [NAME …] [--full]``: the figures and tables of the papers.

Each name is a benchmark with the arguments of its size: a laptop's, or with ``--full`` as near to
the paper's as it goes. All write CSV, JSON (with versions, seed and machine) and a plot.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from benchmarks.timing import print_table


@dataclass(frozen=True, slots=True)
class Figure:
    """What a benchmark shows, and how it is called at both sizes."""

    shows: str
    module: str
    laptop: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    needs: str | None = None


def _lazy(shows: str, experiment: str) -> Figure:
    only = ("--only", experiment)
    return Figure(f"Kolchinsky17 {shows}", "kolchinsky17", only, (*only, "--full"))


FIGURES = {
    "wu06": Figure(
        "Wu06 experiments 1 to 5, figures 8 to 11",
        "wu06",
        ("--events", "1000000", "--rounds", "1"),
    ),
    "agrawal08": Figure(
        "Agrawal08 figures 8a to 8c, 8f and 8g, tables 2 and 3",
        "agrawal08",
        ("--full", "--windows-long", "10", "--rounds", "1"),
        ("--full",),
    ),
    "buffers": Figure(
        "Agrawal08 figure 8d, and the versioned buffer of section 5",
        "buffers",
        ("--windows-long", "40", "--rounds", "3"),
    ),
    "non_overlapping": Figure(
        "Agrawal08 figure 8e",
        "non_overlapping",
        ("--windows-long", "40", "--rounds", "3"),
    ),
    "kolchinsky17_window": _lazy("figures 10 to 16: windows", "window"),
    "kolchinsky17_ratio": _lazy("figure 17: ratios", "ratio"),
    "kolchinsky17_change": _lazy("figure 18: a stream that changes", "change"),
    "auto_choice": Figure("what auto takes, beside every evaluation", "auto_choice", ()),
    "zhang10": Figure(
        "Zhang10 figure 4",
        "zhang10",
        ("--events", "5000", "--point-events", "150"),
        ("--full",),
    ),
    "spark_peers": Figure(
        "Wu06 experiments 5 and 6, figures 11 and 12, with Spark as the relational system",
        "spark_peers",
        ("--count", "500000", "--rounds", "1", "--patience", "20"),
        ("--full",),
        needs="pyspark",
    ),
    "scale": Figure("more events, keys, matches and longer windows", "scale", (), ("--full",)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the figures that the arguments name, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones; see --list")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--full", action="store_true", help="the larger size; takes hours")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"))
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in FIGURES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    if given.list:
        print_table("Figures", [{"name": n, "shows": each.shows} for n, each in FIGURES.items()])
        return

    done, failed = [], []
    for name in given.names or FIGURES:
        figure = FIGURES[name]
        if figure.needs and find_spec(figure.needs) is None:
            print(f"\n{name} is left out: it needs {figure.needs}")
            continue
        sizes = figure.full if given.full else figure.laptop
        command = ["-m", f"benchmarks.{figure.module}", *sizes, "--output", str(given.output)]
        print(f"\n== {name}: {figure.shows}\npython {' '.join(command)}", flush=True)
        begun, spent = perf_counter(), _processor_seconds()
        if subprocess.run([sys.executable, *command], check=False).returncode:
            failed.append(name)
        row = {"name": name, "seconds": round(perf_counter() - begun)}
        done.append({**row, "of processor": round(_processor_seconds() - spent)})
    if done:
        print_table(f"Made in {given.output}", done)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _processor_seconds() -> float:
    """What all benchmarks so far have taken, however busy the machine was."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
