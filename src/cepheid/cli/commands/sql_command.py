"""The command that runs SQL statements with ``MATCH_RECOGNIZE``."""

from __future__ import annotations

import os
import time as clock
from typing import Annotated, Any

import typer

import cepheid as cep
from cepheid.api import read_text
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.inputs import parameter, split_columns
from cepheid.cli.reporting import busy, say, took
from cepheid.cli.request import (
    FileOrFolder,
    OutputFormat,
    Request,
    SparkMaster,
    command,
    query_option,
    result_option,
)
from cepheid.cli.results import MOST_TABLE_ROWS, write_rows
from cepheid.errors import DEFAULT_SOURCE, plural
from cepheid.files.output import open_output


@command(
    """\
  cepheid sql "SELECT count(*) FROM ticks" ticks=ticks.parquet
  cepheid sql -f falls.sql ticks=ticks.csv names=names.csv -o falls.parquet
""",
    options={},
    arguments="[STATEMENT] [TABLES]...",
    without=("query_text", "time", "type", "group_by", "limits", "schema", "evaluation", "option"),
)
def sql(
    request: Request,
    statement_file: Annotated[
        str | None,
        query_option("-f", "--file", metavar="FILE", help="The file with the statement."),
    ] = None,
    spark: SparkMaster = None,
    format: OutputFormat = None,
    file: FileOrFolder = None,
    limit: Annotated[
        int | None, result_option(metavar="N", min=0, help="Write the first N rows.")
    ] = None,
    spreadsheet: Annotated[
        bool, result_option("--spreadsheet", help="CSV in which no string is run as a formula.")
    ] = False,
) -> None:
    """Run a SQL statement with MATCH_RECOGNIZE over files.

    \b
    STATEMENT  the statement itself, unless -f names its file
    TABLES     NAME=PATH for each table: Parquet, CSV or JSON Lines
               files, a folder or quoted glob of them

    DuckDB runs the SQL around the clauses; with --spark, Spark does.
    """
    text, arguments = _statement(request, statement_file)
    tables = dict(map(_table, arguments))
    chosen = choose_format(format, file)
    if chosen is Format.ROWS:
        raise typer.BadParameter("rows is for the events of matches", param_hint="--format")
    way = Output(chosen, limit, spreadsheet=spreadsheet, file=file)
    keywords: dict[str, Any] = {
        "parameters": dict(map(parameter, request.settings or ())),
        "source": statement_file or DEFAULT_SOURCE,
        "time_unit": request.time_unit,
    }
    if spark is not None:
        from cepheid.cli.spark.row_frames import sql_on_spark

        ties = split_columns(request.tie_break) or None
        sql_on_spark(spark, text, tables, way, {**keywords, "tie_break": ties})
        return
    if request.tie_break:
        raise typer.BadParameter("rows of files keep their order; name the columns in ORDER BY",
                                 param_hint="--tie-break")  # fmt: skip
    started = clock.perf_counter()
    with busy("Running"):
        found = cep.sql(text, tables, **keywords)
    most = MOST_TABLE_ROWS if limit is None and chosen is Format.TABLE else limit
    shown = found if most is None else found.slice(0, most)
    if found.num_columns:
        with open_output(file) as sink:
            write_rows(shown, way, sink)
    hidden = f", {len(found) - len(shown):,} not shown," if len(shown) < len(found) else ""
    say(f"{plural(len(found), 'row')}{hidden} in {took(clock.perf_counter() - started)}")


def _statement(request: Request, file: str | None) -> tuple[str, list[str]]:
    """The text of the statement, and the arguments that name tables."""
    given = [each for each in (request.query_file, *(request.events or ())) if each is not None]
    if file is not None:
        return read_text(file), given
    if not given:
        raise typer.BadParameter("no statement: give it, or name its file with -f")
    if os.path.isfile(given[0]):  # Path.is_file() raises an error if the statement is too long.
        raise typer.BadParameter(f"{given[0]!r} is a file: name it with -f {given[0]}")
    return given[0], given[1:]


def _table(argument: str) -> tuple[str, str]:
    name, _, path = argument.partition("=")
    if not (name.isidentifier() and path):
        raise typer.BadParameter(
            f"{argument!r} is not NAME=PATH, such as ticks=ticks.parquet", param_hint="TABLES"
        )
    return name, path
