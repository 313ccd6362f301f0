"""The results as figures, in the spirit of figure 4 of [Zhang10]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[dict[str, Any]]

_SPEED, _PER_MATCH = "events_per_s", "us_per_match"

_FIGURES = (
    ("delta, skip_till_any_match", "skip_till_any_match (4a)", "δ", _SPEED),
    ("delta, equal selectivity", "components that are equally frequent (4b)", "δ", _SPEED),
    ("delta, few matches", "the same with rare events, few matches", "δ", _SPEED),
    ("delta, skip_till_any_match", "skip_till_any_match: time per match", "δ", _PER_MATCH),
    ("delta, skip_till_next_match", "skip_till_next_match (4e)", "δ", _SPEED),
    ("delta, skip_till_next_match", "skip_till_next_match: time per match", "δ", _PER_MATCH),
    ("length", "length of the pattern (4c)", "components", _SPEED),
    ("cluster", "generated traces of a cluster (4f)", "", _SPEED),
    ("skew", "ever more of the first, less of the last (4d)", "share of events", _SPEED),
)
_COLOURS = {
    "point": "tab:blue",
    "any_state": "tab:orange",
    "query_order": "tab:green",
    "selectivity": "tab:red",
}
_LABELS = {_SPEED: "events/s", _PER_MATCH: "µs/match"}


def draw(rows: Rows, path: Path) -> bool:
    """Draw the experiments into an SVG or PNG file; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 3, figsize=(17, 12), layout="constrained")
    figure.suptitle("Uncertain times: events per second, with confidences")
    for axis, (experiment, title, label, measured) in zip(axes.flat, _FIGURES, strict=True):
        here = [row for row in rows if row["experiment"] == experiment]
        axis.set_title(title)
        axis.set_xlabel(label)
        axis.set_ylabel(_LABELS[measured])
        axis.set_yscale("log")
        for method in dict.fromkeys(row["method"] for row in here):
            of_method = [row for row in here if row["method"] == method]
            cases = [row["case"] for row in of_method]
            values = [row[measured] for row in of_method]
            axis.plot(cases, values, marker="o", label=method, color=_COLOURS[method])
        axis.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True
