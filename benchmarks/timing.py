"""Contestants timed in turn, and results written down with where they were measured."""

from __future__ import annotations

import csv
import gc
import json
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numba
import numpy as np
import pyarrow as pa

import cepheid

Contestants = Mapping[Any, Callable[[], object]]


def time_in_turn(contestants: Contestants, rounds: int) -> dict[Any, list[float]]:
    """Seconds of processor time of each contestant in each round.

    Processor time, of all threads, is what other programs on the machine disturb least. In a
    round all run one after another, so that what slows the machine down for a while slows
    all of them down; the first round, in which caches are filled, is not counted.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        gc.collect()
        for name, run in contestants.items():
            begun = process_time()
            run()
            if number:
                seconds[name].append(process_time() - begun)
    return seconds


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios within a round.

    >>> median_ratio([2.0, 9.0, 4.0], [1.0, 1.0, 2.0])
    2.0
    """
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))


def machine() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "cpu": _cpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "cepheid": cepheid.__version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else platform.processor()


def write_results(
    folder: Path, name: str, rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> None:
    """The rows as ``name.csv``, and with settings and machine as ``name.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    document = {"machine": machine(), "settings": dict(settings), "rows": list(rows)}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def digits(value: float, count: int = 2) -> str:
    """A number with so many digits that matter, and commas.

    >>> digits(0.01234), digits(15.86), digits(1234567.0, 3), digits(847.0, 3)
    ('0.012', '16', '1,230,000', '847')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.{count - 1}e}")
    whole = len(f"{abs(rounded):.0f}") if abs(rounded) >= 1 else 0
    if whole >= count:
        return f"{rounded:,.0f}"
    places = count - whole
    if whole == 0:
        places = count - 1 - int(f"{rounded:e}".partition("e")[2])
    return f"{rounded:,.{places}f}"


def print_table(title: str, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> None:
    """Print rows as a table in Markdown, floats with three digits that matter."""
    names = list(columns) or list(rows[0])
    cells = [names, *([_cell(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(len(line[ix]) for line in cells) for ix in range(len(names))]
    print(f"\n{title}\n")
    for number, line in enumerate(cells):
        padded = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print(f"| {' | '.join(padded)} |")
        if number == 0:
            print(f"|{'|'.join('-' * (width + 1) + ':' for width in widths)}|")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
