"""The command that runs the bundled scenarios."""

from __future__ import annotations

from typing import Annotated

import typer

from cepheid.cli.named_options import command_with
from cepheid.cli.reporting import reporting, usage
from cepheid.cli.request import SparkMaster
from cepheid.cli.root import app


def _check_scenario(name: str) -> None:
    from cepheid.samples import scenario

    scenario(name)


@app.command(
    cls=command_with({}),
    epilog="""\b
Examples:
  cepheid demo
  cepheid demo --scenario stock_trend
""",
)
def demo(
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=usage(_check_scenario),
            help="retail_theft, contaminated_shipments or stock_trend; by default all three.",
        ),
    ] = None,
    spark: SparkMaster = None,
) -> None:
    """Run three bundled scenarios, a clause of SQL and a set of rules.

    For each of them, prints the question, the query and the matches. The last is a page with
    matches on a timeline.
    """
    from cepheid.cli.running.demo import run_demo

    with reporting():
        run_demo(scenario, spark)
