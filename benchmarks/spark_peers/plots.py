"""Seconds of each way over the length of the sequence, the window, and the number of ids."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.spark_peers.ways import WAYS


def draw(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """A panel for what was varied: the length, the window, and the number of ids."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ids = max(row["ids"] for row in rows)
    in_window = statistics.mode(row["events_in_window"] for row in rows)
    usual = [row for row in rows if row["events_in_window"] == in_window]
    panels = [
        ("length", "components", [row for row in usual if row["ids"] == ids]),
        (
            "events_in_window",
            "events of an id in a window (SEQ of 3)",
            [row for row in rows if row["length"] == 3 and row["ids"] == ids],
        ),
        ("ids", "ids (SEQ of 3)", [row for row in usual if row["length"] == 3]),
    ]
    panels = [panel for panel in panels if len(panel[2]) > 1] or panels[:1]
    figure, (axes,) = pyplot.subplots(
        1, len(panels), figsize=(5 * len(panels), 4), layout="constrained", squeeze=False
    )
    for axis, (column, label, chosen) in zip(axes, panels, strict=True):
        ordered = sorted(chosen, key=itemgetter(column))
        for name in WAYS:
            points = [(row[column], row[name]) for row in ordered if name in row]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set(xlabel=label, ylabel="seconds of the whole job", yscale="log")
        if column == "length":
            axis.set_xticks([row["length"] for row in ordered])
        else:
            axis.set_xscale("log")
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(file)
    pyplot.close(figure)
