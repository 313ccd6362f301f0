"""The results as figures, after figures 8 to 11 of [Wu06]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]


def draw(rows: Rows, path: Path) -> bool:
    """Draw the experiments into an SVG or PNG file; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    of = {number: [row for row in rows if row["experiment"] == number] for number in range(1, 6)}
    figure, axes = pyplot.subplots(2, 3, figsize=(15, 8), layout="constrained")
    figure.suptitle("Active instance stacks")
    (domain, window, second), (sequences, conditions, length) = axes

    for axis, number, column, title in (
        (domain, 1, "domain", "Expt 1 (fig. 8): domain size V1"),
        (window, 2, "window", "Expt 2 (fig. 9): window W"),
    ):
        axis.set_title(title)
        for name, label in (("ais", "AIS"), ("basic", "Basic")):
            speeds = [row[f"{name}_events_per_s"] for row in of[number]]
            axis.plot([row[column] for row in of[number]], speeds, marker="o", label=label)
        axis.set_yscale("log")
        axis.set_ylabel("events/s")
        axis.legend()
    domain.set_xscale("log")

    largest = max(row["second_domain"] for row in of[3])
    two_tests = [row for row in of[3] if row["second_domain"] == largest]
    second.set_title(f"Expt 3 (fig. 10a): two tests, V2 = {largest}")
    sequences.set_title("Expt 3 (fig. 10b): sequences constructed")
    for name in ("dynamic", "selection", "multi_pais"):
        places = [row["domain"] for row in two_tests]
        second.plot(places, [row[f"{name}_events_per_s"] for row in two_tests], marker="o")
        counts = [row[f"{name}_sequences_per_10000"] + 0.01 for row in two_tests]
        sequences.plot(places, counts, marker="o", label=name)
    for axis in (second, sequences):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("V1")
    second.set_ylabel("events/s")
    sequences.set_ylabel("per 10,000 events")
    sequences.legend()

    conditions.set_title("Expt 4: more predicates")
    names = [row["conditions"] for row in of[4]]
    conditions.barh(names, [row["events_per_s"] for row in of[4]])
    conditions.set_xlabel("events/s")

    length.set_title("Expt 5 (fig. 11): length L")
    length.plot([row["length"] for row in of[5]], [row["normalised"] for row in of[5]], marker="o")
    length.set_ylim(0, 1.1)
    length.set_ylabel("throughput, L = 2 is 1")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)
    return True
