"""A folder with a query and its events, and a way to run commands in it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cepheid.cli.app import app

THEFT = """\
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id]
WITHIN 12 hours
RETURN a.tag_id AS item, c.ts - a.ts AS after
"""
PAIRS = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]"
EVENTS = """\
ts,type,tag_id,zone
2024-03-01 09:00:00,Shelf,7,aisle 1
2024-03-01 09:05:00,Shelf,8,aisle 2
2024-03-01 09:20:00,Register,8,register 1
2024-03-01 09:30:00.5,Exit,7,north door
2024-03-01 09:40:00,Exit,8,
"""


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def bindings(self) -> list[dict[str, Any]]:
        """The bindings of the matches that were printed."""
        return [line["bindings"] for line in self.lines]


Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: ``theft.sase`` and the ``events.csv`` that it is about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "theft.sase").write_text(THEFT)
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:  # noqa: ARG001 - commands run in it
    """Run a command: its arguments, and the text of its standard input."""

    def run_command(*arguments: object, text: str | None = None) -> Outcome:
        result = CliRunner().invoke(app, list(map(str, arguments)), input=text)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run_command
