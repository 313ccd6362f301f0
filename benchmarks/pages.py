"""``python -m benchmarks.pages``: the tables of the documentation, written from stored results.

A table stands in a page between ``<!-- results: name -->`` and ``<!-- end -->``. Its function is in
``TABLES`` under that name. A test compares the pages with the results, so that no figure in such a
table is typed.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import page as peers_page
from benchmarks.timing import digits

RESULTS = Path("benchmarks/results")
PAGES = (
    Path("README.md"),
    Path("docs/results/benchmarks.md"),
    Path("docs/results/papers.md"),
    Path("docs/results/scale.md"),
    Path("docs/guides/rules.md"),
)
BLOCK = re.compile(r"<!-- results: (?P<name>\w+) -->\n.*?<!-- end -->", re.DOTALL)
QUERIES = ("p1s3", "p2s2", "p2s3", "p3s2", "p3s3")
DELTAS = (1, 10, 20, 30, 50)
METHODS = ("point", "any_state", "query_order", "selectivity")

Row = Mapping[str, Any]
Column = tuple[str, Callable[[Row], str]]


def settings_of(name: str) -> dict[str, Any]:
    """The settings of a stored result."""
    document = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return dict(document["settings"])


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a stored result."""
    document = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return list(document["rows"])


def number(key: str, count: int = 2, scale: float = 1.0) -> Callable[[Row], str]:
    """A cell with a number of the row; empty if there is none."""
    return lambda row: digits(row[key] * scale, count) if row.get(key) not in (None, "") else ""


def places(key: str, count: int, scale: float = 1.0, unit: str = "") -> Callable[[Row], str]:
    """A cell with so many digits after the point."""
    return lambda row: f"{row[key] * scale:,.{count}f}{unit}"


def plain(key: str) -> Callable[[Row], str]:
    """A cell with a text or a whole number."""
    return lambda row: f"{row[key]:,}" if isinstance(row[key], int) else str(row[key])


def table(columns: Sequence[Column], rows: Iterable[Row], texts: int = 1) -> str:
    """A table in Markdown; all columns but the first ``texts`` are aligned to the right."""
    alignments = ["---" if place < texts else "---:" for place in range(len(columns))]
    cells = [
        [header for header, _ in columns],
        *([c(row).replace("|", r"\|") for _, c in columns] for row in rows),
    ]
    lines = ["|" + "|".join(f" {each} " if each else " " for each in line) + "|" for line in cells]
    return "\n".join([lines[0], f"|{'|'.join(alignments)}|", *lines[1:]])


def beside(rows: Iterable[Row], key: str, of: Sequence[str]) -> list[dict[str, Any]]:
    """Rows with the same ``key`` as one, whose columns are ``(value of one of ``of``, column)``."""
    found: dict[Any, dict[Any, Any]] = {}
    for row in rows:
        name = "/".join(str(row[each]) for each in of)
        own = found.setdefault(row[key], {key: row[key]})
        own.update({f"{name}:{column}": value for column, value in row.items()})
    return list(found.values())


def agrawal08_queries() -> str:
    """Figures 8a and 8f, table 2."""
    rows = [r for r in rows_of("agrawal08") if (r["window"], r["rises"]) == (500, 0.7)]
    return table(
        [
            ("query", plain("query")),
            ("basic", number("basic_enumerating_events_per_s", 3, 1e-6)),
            ("merging", number("merging_enumerating_events_per_s", 3, 1e-6)),
            ("gain", places("gain_enumerating", 2)),
            ("gain, runs only", places("gain_in_runs", 2)),
            ("match length", number("match_length", 3)),
            ("runs visited per event", places("runs_per_event", 3)),
            ("share of time in matching", places("matching_cost_percent", 0, unit=" %")),
        ],
        rows,
    )


def agrawal08_windows() -> str:
    """Figure 8b."""
    rows = beside([r for r in rows_of("agrawal08") if r["rises"] == 0.7], "window", ["query"])
    columns: list[Column] = [("W", lambda row: str(row["window"]))]
    columns += [(q, number(f"{q}:basic_enumerating_events_per_s", 2, 1e-6)) for q in QUERIES]
    return table(columns, rows)


def agrawal08_gains() -> str:
    """Figure 8g and table 3."""
    found = []
    for rises in (0.7, 0.55):
        own = [r for r in rows_of("agrawal08") if r["rises"] == rises]
        found += [{**row, "rises": rises} for row in beside(own, "window", ["query"])]
    shown = ("p1s3", "p2s3", "p3s3")
    columns: list[Column] = [
        ("W", lambda row: str(row["window"])),
        ("rises", lambda row: str(row["rises"])),
        *((q, places(f"{q}:gain_matching", 2)) for q in shown),
        *((f"merged {q}", places(f"{q}:runs_merged_percent", 0, unit=" %")) for q in shown),
    ]
    return table(columns, found, 2)


def buffers() -> str:
    """Processor time beside basic."""
    ways = ("basic", "basic_versioned", "merging", "merging_versioned", "backtrack")
    columns: list[Column] = [("query", plain("query"))]
    columns += [(way.replace("_", "/"), places(f"{way}_ratio", 2)) for way in ways]
    columns.append(("reads per event, backtrack", number("reads_per_event", 2)))
    return table(columns, rows_of("buffers"))


def buffers_nodes() -> str:
    """Nodes and memory of the buffers."""

    def cell(way: str) -> Callable[[Row], str]:
        return lambda row: f"{row[f'{way}_nodes']:,}, {row[f'{way}_bytes'] / 1024:.0f} KiB"

    ways = ("basic", "basic_versioned", "merging", "merging_versioned")
    rows = [r for r in rows_of("buffers") if r["query"] in ("p1s3", "p2s3", "p3s3", "any")]
    columns: list[Column] = [("query", plain("query"))]
    return table([*columns, *((way.replace("_", "/"), cell(way)) for way in ways)], rows)


def kolchinsky17_window() -> str:
    """Eager and lazy automata, and instance stacks."""

    def memory(key: str) -> Callable[[Row], str]:
        def cell(row: Row) -> str:
            kib = row.get(key, 0)
            return f"{kib / 1024:.1f} MiB" if kib >= 1024 else f"{kib:.0f} KiB" if kib else ""

        return cell

    rows = [r for r in rows_of("kolchinsky17_window") if r["window"] == 30]
    return table(
        [
            ("pattern", plain("pattern")),
            ("nfa_b events/s", number("nfa_b:events_per_s", 3)),
            ("lazy_chain events/s", number("lazy_chain:events_per_s", 3)),
            ("gain", number("lazy_chain:gain", 3)),
            ("tests nfa_b", number("nfa_b:tests_per_event", 3)),
            ("tests lazy_chain", number("lazy_chain:tests_per_event")),
            ("gain of instance_stacks", number("instance_stacks:gain", 3)),
            ("memory nfa_b", memory("nfa_b:memory_KiB")),
            ("memory lazy_chain", memory("lazy_chain:memory_KiB")),
        ],
        beside(rows, "pattern", ["evaluation"]),
    )


def kolchinsky17_ratio() -> str:
    """The ratio of frequencies."""
    lazy = ("lazy_chain", "lazy_tree")
    columns: list[Column] = [
        ("r", lambda row: str(row["ratio"])),
        ("nfa_b events/s", number("nfa_b:events_per_s", 3)),
    ]
    for name in lazy:
        columns += [(name, number(f"{name}:events_per_s", 3)), ("gain", number(f"{name}:gain"))]
    return table(columns, beside(rows_of("kolchinsky17_ratio"), "ratio", ["evaluation"]), 0)


def c_bound() -> str:
    """The queries in C and in cepheid."""
    columns: list[Column] = [("query", plain("query"))]
    for how in ("enumerating", "counting"):

        def better(row: Row, how: str = how) -> str:
            return digits(max(row[f"{way}_{how}_M/s"] for way in ("basic", "merging")), 3)

        columns.append((f"C {how}", number(f"c_{how}_M/s", 3)))
        columns += [("cepheid", better), ("ratio", places(f"{how}_cepheid/c", 2))]
    return table(columns, rows_of("c_bound"))


def wu06_c() -> str:
    """Instance stacks in C and in cepheid."""
    (row,) = rows_of("wu06_c")
    lines = (
        ("C, given id numbers", "c_M/s", ""),
        ("the stacks alone, given id numbers", "stacks_M/s", "stacks/c"),
        ("C, numbering the ids", "numbering_c_M/s", ""),
        ("a whole session, which also numbers the ids and retains the events", "session_M/s",
         "session/numbering_c"),
    )  # fmt: skip
    rows = [
        {"who": who, "speed": row[speed], "ratio": f"{row[ratio]:.2f} of it" if ratio else ""}
        for who, speed, ratio in lines
    ]
    columns: list[Column] = [("", plain("who")), ("million events/s", number("speed", 3))]
    return table([*columns, ("", plain("ratio"))], rows)


def trends() -> str:
    """Aggregates beside listing."""
    columns: list[Column] = [
        ("events in a window", plain("events_in_window")),
        ("matches", lambda row: f"{row['count:matches']:.2g}"),
    ]
    rows = beside(rows_of("trends"), "events_in_window", ["way"])
    ways = dict.fromkeys(row["way"] for row in rows_of("trends"))
    columns += [(way, number(f"{way}:us_per_event")) for way in ways]
    return table(columns, rows, 0)


def scale() -> str:
    """Speed and memory over events, keys and window."""
    titles = {
        "events": "**events** (10,000 keys, W = 10,000, 20 types)",
        "keys": "**keys** (20 events of each in the window, 6 types)",
        "window": "**window** (10,000 keys, 20 types)",
    }
    rows = []
    for series, title in titles.items():
        for row in rows_of("scale"):
            if row["series"] == series:
                rows.append({**row, "title": title, "value": row[series]})
                title = ""
    return table(
        [
            ("what varies", plain("title")),
            ("value", plain("value")),
            ("million events/s", number("M_events_per_s")),
            ("peak process memory", places("peak_MiB", 0, unit=" MiB")),
            ("state", lambda row: f"{digits(row['snapshot_KiB'] / 1024)} MiB"),
        ],
        rows,
        2,
    )


def scale_matches() -> str:
    """Speed and memory over matches."""
    rows = [row for row in rows_of("scale") if row["series"] == "matches"]
    return table(
        [
            ("matches per event (1 key, W = 200)", number("matches_per_event", 3)),
            ("million events/s", number("M_events_per_s")),
            ("million matches/s", number("M_matches_per_s")),
            ("peak process memory", places("peak_MiB", 0, unit=" MiB")),
        ],
        rows,
        0,
    )


def spark_streaming() -> str:
    """A stream in Spark beside an idle operator."""
    return table(
        [
            ("window", places("window_s", 0, unit=" s")),
            ("idle", places("nothing_cpu_s", 2, unit=" s")),
            ("query", places("query_cpu_s", 2, unit=" s")),
            ("rows per second of CPU time, relative to idle", places("cpu_ratio", 0, 100, " %")),
            ("least and best round", lambda row: f"{row['least_round'] * 100:.0f} %, "
             f"{row['best_round'] * 100:.0f} %"),
            ("rows per second of wall-clock time, relative to idle",
             places("wall_ratio", 0, 100, " %")),
            ("state written", places("state_written_MiB", 1, unit=" MiB")),
        ],
        rows_of("spark_streaming"),
        0,
    )  # fmt: skip


def zhang10() -> str:
    """Uncertain times, by strategy and interval."""
    kept = [
        {**row, "strategy": strategy}
        for strategy in ("any", "next")
        for row in rows_of("zhang10")
        if row["experiment"] == f"delta, skip_till_{strategy}_match"
    ]
    rows = beside(kept, "case", ["strategy", "method"])
    columns: list[Column] = [("δ", lambda row: str(row["case"]))]
    for strategy in ("any", "next"):
        for method in METHODS:
            title = f"`{method}`" if method != "point" else f"{strategy}: `point`"
            columns.append((title, number(f"{strategy}/{method}:events_per_s", 3)))
        columns.append(("matches", number(f"{strategy}/query_order:matches_per_event")))
        columns.append(("µs/match", number(f"{strategy}/query_order:us_per_match")))
    return table(columns, rows, 0)


def zhang10_few() -> str:
    """Uncertain times with few matches."""
    rows = [row for row in rows_of("zhang10") if row["experiment"] == "delta, few matches"]
    columns: list[Column] = [("δ", lambda row: str(row["case"]))]
    columns += [(f"`{each}`", number(f"{each}:events_per_s", 3)) for each in METHODS]
    return table(columns, beside(rows, "case", ["method"]), 0)


def parquet_file() -> str:
    """A file through the command line."""
    return table(
        [
            ("events", plain("events")),
            ("file", places("file_MB", 0, unit=" MB")),
            ("time", places("seconds", 2, unit=" s")),
            ("CPU time", places("processor_seconds", 2, unit=" s")),
            ("million events/s", number("M_events/s")),
            ("peak memory", places("peak_MB", 0, unit=" MB")),
        ],
        rows_of("parquet_file"),
        0,
    )


def feed_latency() -> str:
    """A session fed with few events at a time."""
    columns: list[Column] = [
        ("query", plain("query")),
        ("events in a batch", plain("events")),
        ("mean", places("mean_us", 0)),
        ("median", places("p50_us", 0)),
        ("95 %", places("p95_us", 0)),
        ("99 %", places("p99_us", 0)),
    ]
    return table(columns, rows_of("feed_latency"))


def row_patterns() -> str:
    """Workloads of MATCH_RECOGNIZE."""
    columns: list[Column] = [
        ("workload", plain("workload")),
        ("rows", plain("rows")),
        ("matches", plain("matches")),
        *((each, number(each, 3)) for each in ("search", "engine", "measures", "call")),
    ]
    rows = [row for row in rows_of("row_patterns") if isinstance(row["matches"], int)]
    return table(columns, rows)


def rules() -> str:
    """Events per second by the number of rules and the size of batches."""
    rows = beside(rows_of("rules"), "rules", ["batch"])
    batches = dict.fromkeys(row["batch"] for row in rows_of("rules"))
    columns: list[Column] = [("rules", plain("rules"))]
    columns += [(f"batches of {each:,}", number(f"{each}:events_per_s")) for each in batches]
    return table(columns, rows, 0)


def workers() -> str:
    """One thread and two."""
    return table(
        [
            ("query", plain("query")),
            ("", plain("way")),
            ("matches", plain("matches")),
            ("one thread", places("seconds_1", 2, unit=" s")),
            ("two threads", places("seconds_2", 2, unit=" s")),
            ("ratio", places("gain", 2)),
        ],
        rows_of("workers"),
        2,
    )


def spark_latency() -> str:
    """From one event to its match in a Spark stream."""
    return table(
        [
            ("stream", plain("stream")),
            ("end to end", places("end_to_end_ms", 0, unit=" ms")),
            ("trigger", places("trigger_ms", 0, unit=" ms")),
        ],
        rows_of("spark_latency"),
    )


def cluster_checks() -> str:
    """The simulation of a cluster beside runs."""
    checks = settings_of("cluster_model")["checks"]
    errors = [abs(row["error"]) for row in checks]
    shown = table(
        [
            ("Spark master", lambda row: f"`{row['master']}`"),
            ("events", plain("events")),
            ("measured", places("measured_s", 1, unit=" s")),
            ("predicted", places("predicted_s", 1, unit=" s")),
            ("error", lambda row: f"{row['error'] * 100:+.0f} %"),
        ],
        checks,
    )
    median, worst = statistics.median(errors) * 100, max(errors) * 100
    return f"{shown}\n\nThe median error is {median:.0f} %, the greatest {worst:.0f} %."


def cluster_predictions() -> str:
    """Jobs of each size on clusters of each size."""
    rows = [row for row in rows_of("cluster_model") if not row["heaviest_key"]]
    return table(
        [
            ("events", lambda row: f"{row['events']:,.0f}"),
            ("cores", plain("cores")),
            ("time", lambda row: _duration(row["seconds"])),
            ("worker memory", places("worker_bytes", 1, 2**-30, " GiB")),
            ("money", lambda row: f"${digits(row['money'])}"),
        ],
        rows,
        0,
    )


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds)} s"


def cluster_streams() -> str:
    """The cores that streams need to keep up."""
    return table(
        [
            ("events per second", lambda row: f"{row['events_per_s']:,.0f}"),
            ("window", lambda row: _duration(row["window_s"])),
            ("cores", lambda row: f"{row['cores']:,}" if row["cores"] else "more than 5,000"),
            ("state", lambda row: f"{digits(row['GiB'])} GiB"),
        ],
        settings_of("cluster_model")["streams"],
        0,
    )


def readme_speed() -> str:
    """The short table of the README."""
    benchmarks, papers = "[benchmarks](docs/results/benchmarks.md)", "docs/results/papers.md"
    (stacks,), (file,), keys = rows_of("wu06_c"), rows_of("parquet_file"), rows_of("scale")
    (many,) = (row for row in keys if (row["series"], row["keys"]) == ("keys", 1_000_000))
    sequences = rows_of("spark_peers_10m")
    batch = max(rows_of("spark_batch"), key=lambda row: (row["events"], "ratio" in row))
    shares = sorted(row["cpu_ratio"] for row in rows_of("spark_streaming"))
    lines = (
        (
            "`SEQ` of three with `[id]`, 10,000 ids, in a session on one core",
            f"{stacks['session_M/s']:.0f} million events/s, {stacks['session/numbering_c']:.2f} "
            "times the speed of a C program written for this query",
            benchmarks,
        ),
        (
            "the same with a million ids, each with 20 events in the window",
            f"{many['M_events_per_s']:.1f} million events/s, "
            f"peak memory {many['peak_MiB']:,.0f} MiB",
            "[scale](docs/results/scale.md)",
        ),
        (
            "`cepheid match` on a Parquet file of 10 million events, including startup",
            f"{file['seconds']:.1f} s",
            benchmarks,
        ),
        (
            f"Spark, {batch['events'] // 10**6} million events",
            f"{batch['ratio']:.2f} times the CPU time of the same plan with idle workers",
            "[Spark](docs/guides/spark.md#what-it-costs)",
        ),
        (
            "Spark, sequences over 10 million events in Parquet files that workers read directly",
            f"{_from_to(sequences, 'cepheid gains', 0)} times as fast as the better of joins and "
            "window functions",
            f"[results]({papers})",
        ),
        (
            "Spark stream, micro-batches of a million events",
            f"{shares[0]:.0%} to {shares[-1]:.0%} of the throughput of an idle operator".replace(
                "%", " %"
            ),
            benchmarks,
        ),
    )
    rows = [dict(zip(("workload", "measured", "details"), line, strict=True)) for line in lines]
    return table([(name, plain(name)) for name in rows[0]], rows, 3)


def _from_to(rows: Sequence[Row], key: str, places: int) -> str:
    values = [row[key] for row in rows]
    return f"{min(values):.{places}f} to {max(values):.{places}f}"


TABLES: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        agrawal08_queries,
        agrawal08_windows,
        agrawal08_gains,
        buffers,
        buffers_nodes,
        kolchinsky17_window,
        kolchinsky17_ratio,
        c_bound,
        wu06_c,
        trends,
        scale,
        scale_matches,
        spark_streaming,
        zhang10,
        zhang10_few,
        readme_speed,
        workers,
        parquet_file,
        row_patterns,
        rules,
        feed_latency,
        spark_latency,
        cluster_checks,
        cluster_predictions,
        cluster_streams,
    )
}


def filled(text: str) -> str:
    """A page with its tables written anew."""

    def anew(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- results: {name} -->\n{TABLES[name]()}\n<!-- end -->"

    return BLOCK.sub(anew, text)


def main() -> None:
    """Write the tables of all pages, and the page about peers."""
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    peers_page.main()


if __name__ == "__main__":
    main()
