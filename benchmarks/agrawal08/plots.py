"""The results as figures, in the spirit of figure 8 of [Agrawal08]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]

VARIED = ("p1s3", "p2s2", "p2s3", "p3s2", "p3s3")
MERGED = ("p1s3", "p2s3", "p3s3")
LEAST_SPEED = 100_000
"""Where the bars begin: on a logarithmic axis they have to begin somewhere."""


def draw(rows: Rows, path: Path) -> bool:
    """Draw the experiments into an SVG or PNG file; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rises = max(row["rises"] for row in rows)
    rows = [row for row in rows if row["rises"] == rises]
    smallest = min(row["window"] for row in rows)
    one_window = [row for row in rows if row["window"] == smallest]
    figure, axes = pyplot.subplots(2, 3, figsize=(15, 8), layout="constrained")
    figure.suptitle(f"NFAᵇ, price rises with probability {rises}")
    (predicates, windows, complexity), (merging, gain, unused) = axes
    unused.set_axis_off()

    names = [row["query"] for row in one_window]
    predicates.set_title(f"Expt 1 (8a): basic, W = {smallest}")
    predicates.bar(names, [row["basic_enumerating_events_per_s"] for row in one_window])
    predicates.set_yscale("log")
    predicates.set_ylim(bottom=LEAST_SPEED)
    predicates.set_ylabel("events/s")

    windows.set_title("Expt 2 (8b): basic")
    windows.set_yscale("log")
    windows.set_ylabel("events/s")
    windows.set_xlabel("W (events of a partition)")
    complexity.set_title("Expt 2 (8c): basic")
    complexity.set_xlabel("output complexity of the stream")
    complexity.set_ylabel("seconds")
    for name in VARIED:
        of_query = [row for row in rows if row["query"] == name]
        sizes = [row["window"] for row in of_query]
        speeds = [row["basic_enumerating_events_per_s"] for row in of_query]
        seconds = [row["events"] / speed for row, speed in zip(of_query, speeds, strict=True)]
        windows.plot(sizes, speeds, marker="o", label=name)
        complexity.plot(
            [row["output_complexity"] for row in of_query], seconds, marker="o", label=name
        )
    windows.legend()
    complexity.legend()

    merging.set_title(f"Expt 5 (8f): W = {smallest}")
    places = range(len(names))
    for shift, algorithm in ((-0.2, "basic"), (0.2, "merging")):
        speeds = [row[f"{algorithm}_enumerating_events_per_s"] for row in one_window]
        merging.bar([place + shift for place in places], speeds, width=0.4, label=algorithm)
    merging.set_xticks(list(places), names)
    merging.set_yscale("log")
    merging.set_ylim(bottom=LEAST_SPEED)
    merging.set_ylabel("events/s")
    merging.legend(loc="lower right")

    gain.set_title("Expt 6 (8g): merging, matching only")
    gain.set_xlabel("W (events of a partition)")
    gain.set_ylabel("throughput merging / basic")
    gain.axhline(1, color="grey", linewidth=0.8)
    for name in MERGED:
        of_query = [row for row in rows if row["query"] == name]
        gains = [row["gain_matching"] for row in of_query]
        gain.plot([row["window"] for row in of_query], gains, marker="o", label=name)
    gain.legend()

    figure.savefig(path)
    pyplot.close(figure)
    return True
