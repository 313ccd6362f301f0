"""The results as figures, in the spirit of figures 10 to 18 of [Kolchinsky17]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]


def draw(rows: Rows, folder: Path, format: str) -> list[Path]:
    """Draw each experiment into a file; no files where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    drawn = []
    for experiment, name, drawing in (
        ("window", "window", _windows),
        ("window", "window_work", _work),
        ("ratio", "ratio", _ratios),
        ("change", "change", _changes),
    ):
        of_experiment = [row for row in rows if row["experiment"] == experiment]
        if of_experiment:
            path = folder / f"kolchinsky17_{name}.{format}"
            drawing(of_experiment, path)
            drawn.append(path)
    return drawn


def _lines(axes: Any, rows: Rows, x: str, y: str) -> None:
    for name in dict.fromkeys(row["evaluation"] for row in rows):
        own = [row for row in rows if row["evaluation"] == name]
        marker = "" if len(own) > 10 else "o"
        axes.plot([row[x] for row in own], [row[y] for row in own], marker=marker, label=name)


def _windows(rows: Rows, path: Path) -> None:
    from matplotlib import pyplot

    patterns = list(dict.fromkeys(row["pattern"] for row in rows))
    figure, grid = pyplot.subplots(3, 4, figsize=(16, 10), layout="constrained")
    figure.suptitle("Throughput over the window (§8.1)")
    for axes, pattern in zip(grid.flat, patterns, strict=False):
        _lines(axes, [row for row in rows if row["pattern"] == pattern], "window", "events_per_s")
        axes.set_title(pattern)
        axes.set_yscale("log")
        axes.set_xlabel("window (minutes)")
        axes.set_ylabel("events/s")
        axes.legend(fontsize="small")
    figure.savefig(path)
    pyplot.close(figure)


def _work(rows: Rows, path: Path) -> None:
    """What an evaluation does in the longest window: figures 11 to 16 as bars."""
    from matplotlib import pyplot

    longest = max(row["window"] for row in rows)
    chosen = [row for row in rows if row["window"] == longest]
    patterns = list(dict.fromkeys(row["pattern"] for row in chosen))
    ways = list(dict.fromkeys(row["evaluation"] for row in chosen))
    panels = {
        "KiB of instances and buffers (figure 11)": lambda row: row["memory_KiB"],
        "instances at once (12)": lambda row: row["instances_peak"],
        "tests per event (13)": lambda row: row["tests_per_event"],
        "operations on memory per event (14)": lambda row: row["operations_per_event"],
        "tests per match (15)": lambda row: _per_match(row, "tests_per_event"),
        "operations per match (16)": lambda row: _per_match(row, "operations_per_event"),
    }
    figure, grid = pyplot.subplots(len(panels), 1, figsize=(12, 16), layout="constrained")
    width = 0.8 / len(ways)
    for axes, (title, value) in zip(grid, panels.items(), strict=True):
        for number, way in enumerate(ways):
            own = [row for row in chosen if row["evaluation"] == way]
            places = [patterns.index(row["pattern"]) + number * width for row in own]
            axes.bar(places, [value(row) for row in own], width, label=way)
        axes.set(title=title, yscale="log")
        axes.set_xticks([place + 0.3 for place in range(len(patterns))], patterns)
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(ways))
    figure.savefig(path)
    pyplot.close(figure)


def _per_match(row: dict[str, Any], column: str) -> float:
    """Of a pattern without matches there is no such number."""
    return row[column] * row["events"] / row["matches"] if row["matches"] else 0.0


def _ratios(rows: Rows, path: Path) -> None:
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    figure.suptitle("Rarest to most frequent type 1 : r (§8.2)")
    figures = ("events_per_s", "tests_per_event", "instances_peak")
    for axes, figure_of in zip(grid, figures, strict=True):
        _lines(axes, rows, "ratio", figure_of)
        axes.set_title(figure_of.replace("_", " "))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("r")
        axes.legend()
    figure.savefig(path)
    pyplot.close(figure)


def _changes(rows: Rows, path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
    axes.set_title("Tests while the rarest type changes (§8.3)")
    _lines(axes, rows, "events", "tests_per_event")
    axes.set_yscale("log")
    axes.set_xlabel("events read")
    axes.set_ylabel("tests per event")
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
