"""The end of ``cepheid demo``: a clause of SQL, rules that change while they run, a report page."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from rich.rule import Rule
from rich.table import Table

import cepheid as cep
from cepheid.api import sase_query
from cepheid.errors import plural
from cepheid.report import report_query
from cepheid.samples import scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

CLAUSE = """\
MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES A.ts AS began, COUNT(D.*) AS ticks_down,
             A.price AS high, LAST(D.price) AS low, R.price AS recovered
    PATTERN (A D{4,} U* R)
    DEFINE D AS price < PREV(price),
           U AS price > PREV(price),
           R AS price > A.price
)"""

RULES = {
    "theft": """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id] WITHIN 12 hours""",
    "busy_door": """\
PATTERN SEQ(Exit a, Exit b, Exit c)
WHERE [zone] WITHIN 2 minutes OUTPUT NON_OVERLAPPING""",
}
CHANGE = {"busy_door": RULES["busy_door"].replace("2 minutes", "10 minutes")}


def show_clause(console: Console, spark: SparkSession | None) -> None:
    """A MATCH_RECOGNIZE clause, in this process or as a statement of Spark SQL."""
    console.print(Rule("SQL: the same stocks with MATCH_RECOGNIZE", align="left"))
    console.print(
        "\nWhich stocks fell four times in a row or more, and then recovered?\n", style="bold"
    )
    console.print(CLAUSE, markup=False)
    ticks = scenario("stock_trend").events()
    if spark is None:
        found = cep.query(CLAUSE).match(ticks).to_arrow()
    else:
        from cepheid.spark import sql

        spark.createDataFrame(ticks).createOrReplaceTempView("ticks")
        found = sql(spark, f"SELECT * FROM ticks {CLAUSE} AS m ORDER BY symbol, began").toArrow()
    table = Table(*found.column_names, box=None, pad_edge=False)
    for row in found.to_pylist():
        table.add_row(
            *(f"{value:%H:%M:%S}" if name == "began" else str(value) for name, value in row.items())
        )
    console.print()
    console.print(table)
    console.print(f"\n{plural(len(found), 'match', 'matches')} among {plural(len(ticks), 'row')}")


def show_rules(console: Console) -> None:
    """A set of rules over a short stream, with a rule that changes between two batches."""
    console.print(Rule("Rules: two questions about one stream", align="left"))
    console.print("\nWhat does each rule find as the events of a store arrive?\n", style="bold")
    for name, query in RULES.items():
        console.print(f"{name}\n{indent(query, '    ')}\n", markup=False)
    events, session = scenario("retail_theft").events(), cep.rules(RULES).session()
    third = len(events) // 3 + 1
    for low in range(0, len(events), third):
        if low == 2 * third:
            session.apply(CHANGE)
            console.print("Now busy_door looks at 10 minutes; theft keeps its state.", style="bold")
        counts = Counter(match.rule for match in session.feed(events.slice(low, third)))
        found = ", ".join(f"{name} {counts[name]}" for name in RULES)
        console.print(f"events {low + 1:,} to {min(low + third, len(events)):,}: {found}")


def write_report(console: Console) -> None:
    """A page with the matches of the first scenario."""
    theft = scenario("retail_theft")
    path = Path(tempfile.mkdtemp(prefix="cepheid-")) / "cepheid-demo.html"
    page = report_query(sase_query(theft.query), theft.events(), title=theft.title)
    path.write_text(page.to_html(), encoding="utf-8")
    console.print(Rule("A page with the matches on a timeline", align="left"))
    console.print(f"\n{path}\n", soft_wrap=True)
    console.print("Open it in any browser; cepheid report makes such a page of your own events.")
