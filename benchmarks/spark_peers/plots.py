"""Seconds of each way over the length of the sequence and the width of the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.spark_peers.ways import WAYS


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Two panels: length at the least window, window at a sequence of three."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    least = min(row["window"] for row in rows)
    panels = [
        ("length", "components", [row for row in rows if row["window"] == least]),
        ("window", "window, ticks (SEQ of 3)", [row for row in rows if row["length"] == 3]),
    ]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, (column, label, chosen) in zip(axes, panels, strict=True):
        for name in WAYS:
            points = [(row[column], row[name]) for row in chosen if name in row]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set(xlabel=label, ylabel="seconds of the whole job", yscale="log")
        if column == "length":
            axis.set_xticks([row["length"] for row in chosen])
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(file)
    pyplot.close(figure)
