"""The command that tests rules."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from cepheid.cli.named_options import OF_EVENTS, command_with, named_values
from cepheid.cli.reporting import EXIT_FAULT, reporting, say
from cepheid.cli.root import app
from cepheid.errors import CepheidError, OptionError, RuleFault, plural
from cepheid.files.output import open_output
from cepheid.rule_sets.reading import SUFFIXES
from cepheid.rule_sets.testing import SUFFIX, Case, CaseResult, junit, read_cases, write_cases
from cepheid.visible import visible_lines

_EXAMPLES = """\b
Examples:
  cepheid test rules/
  cepheid test rules/ --junit results.xml
  cepheid test rules/ --record day.csv
  cepheid test rules/ --record log.csv --time at --type kind
"""

_RECORDED = "The events of --record"


def _of_record(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=_RECORDED)


@app.command("test", cls=command_with(OF_EVENTS), epilog=_EXAMPLES)
def run_tests(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", hidden=True)],
    junit_file: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Also write the results as JUnit XML."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="EVENTS",
            help="Write a test file for each rule that has none: what it finds in these events.",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Write what is found now into the cases that failed."),
    ] = False,
    time: Annotated[str | None, _of_record("COLUMN", "The time column.")] = None,
    type: Annotated[str | None, _of_record("COLUMN", "The type column.")] = None,
    time_unit: Annotated[
        str | None, _of_record("UNIT", "The unit of a numeric time column, such as ms.")
    ] = None,
    option: Annotated[
        list[str] | None, _of_record("NAME=VALUE", "Set one of the options below; repeatable.")
    ] = None,
) -> None:
    """Test the rules of a folder with the cases beside them.

    \b
    FOLDER  a folder with rules, such as theft.sase, and their tests,
            such as theft.test.toml; or one rule or test file

    Prints the differences between what a rule finds and what it must find.
    """
    with reporting():
        if not folder.exists():
            raise OptionError(f"there is no folder {str(folder)!r}")
        given = {"time": time, "type": type, "time_unit": time_unit}
        reading = {name: value for name, value in given.items() if value is not None}
        reading |= named_values(option or (), OF_EVENTS)
        if reading and record is None:
            name = next(iter(reading)).replace("_", "-")
            raise OptionError(f"--{name} is for --record: a test file says it in its options")
        recorded, unrecorded = ([], []) if record is None else _record(folder, record, reading)
        read = list(read_cases(folder))
        faults = [*unrecorded, *(each for each in read if isinstance(each, RuleFault))]
        results = [each.run() for each in read if isinstance(each, Case)]
        if update:
            _update(results)
        for each in (*results, *faults):
            is_good = isinstance(each, CaseResult) and each.passed
            if not is_good:
                typer.echo(visible_lines(str(each)))
        if junit_file is not None:
            with open_output(junit_file) as sink:
                sink.write(junit(results, faults).encode())
        failed = sum(not each.passed for each in results)
        said = [plural(len(results), "case"), f"{len(results) - failed} passed", f"{failed} failed"]
        unread = len(faults) - len(unrecorded)
        said += [f"{plural(unread, 'test file')} cannot be read"] if unread else []
        said += [f"{plural(len(recorded), 'test file')} written"] if recorded else []
        untested = len(_untested(folder))
        said += [f"{plural(untested, 'rule')} without tests"] if untested else []
        say(", ".join(said))
        if failed or faults:
            raise typer.Exit(EXIT_FAULT)


def _untested(folder: Path) -> list[Path]:
    """The rules of a folder that have no test file."""
    if not folder.is_dir():
        return []
    rules = [each for each in sorted(folder.rglob("*")) if each.suffix in SUFFIXES]
    return [each for each in rules if not _test_of(each).exists()]


def _test_of(rule: Path) -> Path:
    return rule.with_name(rule.stem + SUFFIX)


def _record(
    folder: Path, events: Path, reading: dict[str, Any]
) -> tuple[list[Path], list[RuleFault]]:
    """Write a test file for each rule without one; the files, and the rules that do not run.

    ``reading`` are the keywords of ``match`` with which the events are read.
    """
    if not events.exists():
        raise OptionError(f"there are no events {str(events)!r}")
    files, faults = [], []
    for rule in _untested(folder):
        file = _test_of(rule)
        path = os.path.relpath(events.resolve(), file.parent.resolve())
        case = Case(rule, file, f"recorded from {events.name}", path, None, reading)
        try:
            write_cases(file, [replace(case, expect=tuple(case.found()))])
            files.append(file)
        except CepheidError as error:
            faults.append(RuleFault(rule.stem, str(error), error))
    return files, faults


def _update(results: list[CaseResult]) -> None:
    """Write what is found now into the cases that failed, if they can be run."""
    for file, of_file in groupby(list(enumerate(results)), lambda each: each[1].case.file):
        cases: list[Case] = []
        changed = 0
        for ix, each in of_file:
            cases.append(each.case)
            with suppress(CepheidError):
                if not each.passed:
                    cases[-1] = replace(each.case, expect=tuple(each.case.found()))
                    results[ix] = CaseResult(cases[-1])
                    changed += 1
        if changed:
            write_cases(file, cases)
            say(f"{file.name}: {plural(changed, 'case')} written")
