"""``python -m benchmarks.peers.page``: the page about peers, written from the stored results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.peers import ABSENT, CEPHEID, WORKLOADS
from benchmarks.timing import digits

FOLDER = Path("benchmarks/results")
RESULTS = (FOLDER / "peers.json", FOLDER / "peers_larger.json")
PAGE = Path("docs/results/peers.md")
INTRODUCTION = """# Compared with other systems

This page compares cepheid with what one would use instead. Each system reads the same CSV file,
finds the matches of the same questions, and prints how many there are and a sum that depends on all
of them, so that answers can be compared. It runs in one process, with one thread where that can be
set, in an environment of its own from PyPI or Maven Central.

```sh
make peers                          # 12 minutes; needs Maven for the systems in Java
python -m benchmarks.peers --count {events} --limit {limit:.0f} --output benchmarks/results
python -m benchmarks.peers.page     # writes this page from the results
```

There are {events:,} events of six types and {ids:,} ids, one per tick. The window has {window:,}
ticks: twenty events of each id. Every match of every question lies in one window, except in the
contiguous one.

The questions are asked in `MATCH_RECOGNIZE` (Flink SQL, pandas-match-recognize), as patterns (Flink
CEP, Esper, Siddhi), and as joins and window functions (Polars, DuckDB, and in Flink SQL what is no
row pattern). The texts are in `benchmarks/peers`. Other benchmarks compare cepheid with
[joins in Spark](papers.md#joins-and-window-functions-on-spark).

CPU time and peak memory are those of the whole process, with its start: Java's, or the import of
libraries. The start is measured with 100 events and subtracted in the columns *without start*.
Compiled code of cepheid is in its cache. The machine was otherwise idle. The numbers are in
[peers.csv](../../benchmarks/results/peers.csv).

![CPU time and peak memory of each system](../../benchmarks/results/peers.svg)
"""

LARGER = """## With more events

The start hides the differences between the fastest systems. They have {events:,} events here.

```sh
python -m benchmarks.peers --count {events} --ids {ids} --peers Polars DuckDB \\
    --name peers_larger --output benchmarks/results
```
"""


def page(document: Mapping[str, Any], larger: Mapping[str, Any] | None = None) -> str:
    """The page in Markdown; ``larger`` are the results of some systems with more events."""
    rows = document["rows"]
    parts = [INTRODUCTION.format(**document["settings"])]
    parts += _tables(rows)
    parts.append("## Where cepheid loses\n\n" + _losses(rows))
    if larger is not None:
        parts.append(LARGER.format(**larger["settings"]))
        parts += [text.replace("## ", "### ", 1) for text in _tables(larger["rows"])]
        parts.append("### Where cepheid loses with more events\n\n" + _losses(larger["rows"]))
    skipped = [f"{name} was skipped: {why}." for name, why in ABSENT.items()]
    skipped.append("DuckDB 2.0 has no `MATCH_RECOGNIZE`, so its questions are joins.")
    parts.append("## What is not compared\n\n" + " ".join(skipped) + "\n")
    return "\n".join(parts)


def _tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    workloads = dict.fromkeys(row["workload"] for row in rows)
    return [_table(name, [row for row in rows if row["workload"] == name]) for name in workloads]


def _table(workload: str, rows: Sequence[Mapping[str, Any]]) -> str:
    (ours,) = [row for row in rows if row["peer"] == CEPHEID.name]
    lines = [
        f"## {workload.replace('_', ' ').capitalize()}",
        "",
        f"The question: {WORKLOADS[workload]}. There are {ours['matches']:,} matches.",
        "",
        "| system | CPU seconds | without start | relative to cepheid | peak MiB | answer |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        if "seconds" not in row:
            lines.append(f"| {row['peer']} | | | | | {row['said']} |")
            continue
        cells = [
            row["peer"],
            digits(row["seconds"]),
            digits(_net(row)),
            digits(_net(row) / _net(ours)),
            f"{row['peak_MiB']:,.0f}",
            row["said"].removeprefix("the ").removesuffix(" answer"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _net(row: Mapping[str, Any]) -> float:
    """CPU time without the start; at least a hundredth of a second, which is what can be seen."""
    return float(max(row["seconds"] - row["seconds_of_start"], 0.01))


def _losses(rows: Sequence[Mapping[str, Any]]) -> str:
    """In words, where cepheid is slower or needs more memory."""
    ours = {row["workload"]: row for row in rows if row["peer"] == CEPHEID.name}
    lost: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        own = ours[row["workload"]]
        if row is own or "seconds" not in row:
            continue
        ratios = {
            "CPU time without the start": _net(row) / _net(own),
            "CPU time with the start": row["seconds"] / own["seconds"],
            "memory": row["peak_MiB"] / own["peak_MiB"],
        }
        for what, ratio in ratios.items():
            if ratio < 1:
                place = f"{row['workload'].replace('_', ' ')} {digits(ratio)}"
                lost.setdefault((row["peer"], what), []).append(place)
    lines = [
        f"- **{peer}** takes less {what}, as a share of that of cepheid: {', '.join(places)}."
        for (peer, what), places in lost.items()
    ]
    return "\n".join(lines or ["Nowhere in these results."]) + "\n"


def main() -> None:
    """Write the page."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS]
    PAGE.write_text(page(*documents), encoding="utf-8")


if __name__ == "__main__":
    main()
