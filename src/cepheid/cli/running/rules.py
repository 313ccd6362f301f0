"""Sets of rules on the command line: read, run quietly, and their matches and faults written."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from cepheid import RuleSet, rules
from cepheid.cli.formats import Format, Output
from cepheid.cli.named_options import LIMITS, READING, Groups, named_values
from cepheid.cli.reporting import EXIT_FAULT, say
from cepheid.cli.request import Request
from cepheid.cli.results import MOST_TABLE_ROWS, write_rows
from cepheid.errors import CepheidWarning, OptionError, RuleFault, RuleSetError, fault_report

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.rule_sets.results import RuleMatches

OF_RULES: Groups = {"Events": READING, "Limits of each rule": LIMITS}
Strict = Annotated[bool, typer.Option("--strict", help="Run no rule if one of them cannot run.")]


def read_rules(request: Request, strict: bool = False) -> RuleSet:
    """The rules of the folder that a command names; faults are reported by the command."""
    if request.query_file is None:
        raise typer.BadParameter("name a folder with rules", param_hint="FOLDER")
    with quietly():
        found = rules(request.query_file)
    if not found and not found.faults:
        raise OptionError(f"{request.query_file!r} has no rules: no .sase or .sql files")
    if strict and found.faults:
        raise RuleSetError(found.faults)
    return found


def run_keywords(request: Request) -> dict[str, Any]:
    """The keywords of ``match`` for a set of rules."""
    return {**request.keywords(), **named_values(request.option or (), OF_RULES)}


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings of rules that cannot run: their faults are reported at the end."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\d+ rules? cannot run", CepheidWarning)
        yield


def report_faults(known: RuleSet, more: Sequence[RuleFault] = ()) -> None:
    """Show the faults of rules, if there are any, and end with the exit code for faults."""
    faults = [*known.faults, *more]
    if faults:
        say(fault_report(faults))
        raise typer.Exit(EXIT_FAULT)


def write_rule_matches(matches: RuleMatches, output: Output, sink: BinaryIO) -> int:
    """Write matches, and return how many."""
    from cepheid.matches.shapes.flat import plain

    limit = output.limit
    if limit is None and output.format is Format.TABLE:
        limit = MOST_TABLE_ROWS
    if output.format is Format.JSONL:
        rows = [plain(row) for row in matches.to_dicts()[:limit]]
        for row in rows:
            line = json.dumps(row, ensure_ascii=False)
            sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return len(rows)
    table = matches.to_arrow() if output.format is Format.PARQUET else _flat(matches)
    table = table if limit is None else table.slice(0, limit)
    write_rows(table, output, sink)
    return int(table.num_rows)


def _flat(matches: RuleMatches) -> pa.Table:
    """The matches with the key, the values and the tags as JSON."""
    import pyarrow as pa

    from cepheid.matches.shapes.flat import plain

    table = matches.to_arrow()
    rows = matches.to_dicts()
    for name in ("key", "values", "tags"):
        texts = [json.dumps(plain(row[name]), ensure_ascii=False) for row in rows]
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table
