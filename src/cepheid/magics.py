"""``%%sase`` and ``%%match_recognize``: queries in the cells of a notebook."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError

from cepheid.errors import CepheidError
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.scripts import any_query

_HELP = """\
%%sase [NAME] --on EVENTS: run the query in this cell, show its matches and assign them to NAME.

EVENTS is an expression, such as the name of a frame, or the path of a file.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}")


def register(shell: Any) -> None:
    """Add the magics to a shell."""
    for name in ("sase", "match_recognize"):
        shell.register_magic_function(_magic(shell), "cell", name)


def _magic(shell: Any) -> Any:
    def run(line: str, cell: str) -> Any:
        try:
            return _run(shell, _arguments(line), cell)
        except CepheidError as error:
            raise UsageError(f"\n{error}") from None

    run.__doc__ = _HELP + _parser().format_help()
    return run


def _parser() -> _Parser:
    parser = _Parser(prog="%%sase", add_help=False)
    parser.add_argument("name", nargs="?", help="the variable for the result")
    parser.add_argument("--on", metavar="EVENTS", help="the events; without it, assign the query")
    parser.add_argument("--time", help="the time column, or two: lower,upper")
    parser.add_argument("--type", help="the type column")
    parser.add_argument("--tie-break", help="the columns that order events of equal time")
    parser.add_argument("--time-unit", help="the unit of a time column of numbers")
    parser.add_argument("--output", help="which matches are reported")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a parameter of the query; without a value, that of the notebook's variable",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="a keyword of match()"
    )
    return parser


def _arguments(line: str) -> argparse.Namespace:
    return _parser().parse_args(shlex.split(line))


def _run(shell: Any, said: argparse.Namespace, text: str) -> Any:
    if said.name is not None and not said.name.isidentifier():
        raise UsageError(f"{said.name!r} is not the name of a variable")
    parameters = dict(_setting(shell, each) for each in said.set)
    compiled: Any = any_query(text, parameters=parameters, source="cell")
    result = compiled
    if said.on is not None:
        events = _events(shell, said.on)
        result = compiled.match(events, **_keywords(shell, said))
        if are_spark_frames(result):
            result.show(truncate=False)
            shell.push({said.name: result} if said.name else {})
            return None
    if said.name:
        shell.push({said.name: result})
    return result


def _events(shell: Any, said: str) -> Any:
    """The value of an expression, or a path if it is no expression of the notebook's variables."""
    if re.fullmatch(r"[^\W\d][\w.]*(\[.*\]|\(.*\))*|\{.*\}", said):
        try:
            return shell.ev(said)
        except (NameError, AttributeError):
            if "." not in said and "/" not in said:
                raise UsageError(f"there is no variable {said!r}") from None
    return said


def _keywords(shell: Any, said: argparse.Namespace) -> dict[str, Any]:
    keywords = {
        "time": _columns(said.time),
        "type": said.type,
        "tie_break": _columns(said.tie_break),
        "time_unit": said.time_unit,
        "output": said.output,
    }
    given = {name: value for name, value in keywords.items() if value is not None}
    return given | dict(_setting(shell, each) for each in said.option)


def _columns(said: str | None) -> Any:
    if said is None:
        return None
    names = said.split(",")
    return names[0] if len(names) == 1 else tuple(names)


def _setting(shell: Any, said: str) -> tuple[str, Any]:
    name, equals, text = said.partition("=")
    if not equals:
        if name not in shell.user_ns:
            raise UsageError(f"there is no variable {name!r}; write {name}=VALUE")
        return name, shell.user_ns[name]
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
