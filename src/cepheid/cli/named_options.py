"""Options that are given by name: ``--option NAME=VALUE``, or ``--NAME VALUE`` for short.

They are rarely needed. A command lists them in groups at the end of its help and has no separate
parameter for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand

from cepheid.cli.inputs import read_json, split_columns, split_setting
from cepheid.cli.reporting import say
from cepheid.engines.base.options import CHOICES
from cepheid.errors import OptionError, list_words, unknown_name
from cepheid.visible import message_text

_REDUCE: dict[str, bool | str] = {"yes": True, "no": False, "auto": "auto"}


def read_domains(text: str) -> dict[str, int]:
    """The number of distinct values of attributes.

    >>> read_domains("tag_id=10000,zone=12")
    {'tag_id': 10000, 'zone': 12}
    """
    domains = {}
    for setting in text.split(","):
        name, _, size = setting.partition("=")
        if not name or not size.isdecimal():
            raise OptionError(f"--domain needs NAME=N, such as tag_id=10000, not {setting!r}")
        domains[name] = int(size)
    return domains


def read_statistics(text: str) -> dict[str, Any]:
    """Statistics of types, variables and conditions, from a JSON file."""
    statistics = read_json("statistics", text)
    if not isinstance(statistics, dict):
        raise OptionError(
            f"the statistics {text!r} are not a JSON object, such as "
            '{"A": 250, "B": 0.5, "a.x < b.x": 0.1}'
        )
    return statistics


def read_slices(text: str) -> int | str:
    """The number of time slices.

    >>> read_slices("8"), read_slices("auto")
    (8, 'auto')
    """
    return text if text == "auto" else _read_whole(text, "neither a number nor auto")


def read_reduce(text: str) -> bool | str:
    """Whether only events near rare ones go to the workers.

    >>> read_reduce("yes"), read_reduce("no"), read_reduce("auto")
    (True, False, 'auto')
    """
    if text not in _REDUCE:
        raise typer.BadParameter(f"{text!r} is none of {list_words(list(_REDUCE))}")
    return _REDUCE[text]


def read_uncertainty(text: str) -> str | dict[str, str]:
    """The uncertainty of times: one duration, or one for each type.

    >>> read_uncertainty("5 s"), read_uncertainty("Task=0.5 s, Load=7.5 s")
    ('5 s', {'Task': '0.5 s', 'Load': '7.5 s'})
    """
    if "=" not in text:
        return text
    pairs = (each.partition("=") for each in text.split(","))
    return {name.strip(): extent.strip() for name, _, extent in pairs}


@dataclass(frozen=True, slots=True)
class NamedOption:
    """An option that is given by name.

    ``read`` parses its value. ``flag`` is the short form if it is not ``--name``. An option without
    a ``metavar`` is a switch. Variants are the papers' alternative algorithms, and their short
    forms are deprecated.
    """

    name: str
    metavar: str
    help: str
    read: Callable[[str], Any] = str
    flag: str | None = None

    @property
    def flags(self) -> str:
        """The short form."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def is_variant(self) -> bool:
        """Whether it chooses one of a paper's algorithms."""
        return self.name in CHOICES


def _read_whole(text: str, otherwise: str = "not a positive integer") -> int:
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is {otherwise}")
    return int(text)


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def _variant(name: str, meaning: str) -> NamedOption:
    return NamedOption(name, "NAME", f"{meaning}: {list_words(CHOICES[name], 'or')}")


def _read_columns(text: str) -> list[str]:
    return split_columns([text])


def _read_aggregate(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"\s*(\w+)\s*\(\s*([^()]+?)\s*\)\s*", text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not an aggregate, such as avg(b.price)")
    return found[1].lower(), found[2]


def _read_sep(text: str) -> str:
    return {r"\t": "\t", "tab": "\t"}.get(text, text)


def _read_switch(text: str) -> bool:
    return text.lower() in ("", "true", "1", "yes")


READING = (
    NamedOption("sep", "CHARACTER", "CSV: the character between columns, such as ';'", _read_sep),
    NamedOption(
        "time_format", "FORMAT", "times as strings: '%d/%m/%Y %H:%M:%S'; default: ISO 8601"
    ),
)
RESULT = (
    NamedOption(
        "at_most_once_per",
        "DURATION",
        "leave out matches that end less than this after the last one: '10 minutes'",
    ),
    NamedOption(
        "timed_out",
        "",
        "also report partial matches whose window has passed: for each first event without a match",
        _read_switch,
    ),
    NamedOption(
        "aggregate",
        "TEXT",
        "write only an aggregate over all matches, without building them: 'avg(b.price)'",
        _read_aggregate,
    ),
    NamedOption(
        "by_partition", "", "--aggregate for each partition of the equivalence tests", _read_switch
    ),
    NamedOption(
        "every",
        "DURATION",
        "--aggregate for each sliding window as long as WITHIN that begins at a multiple of this",
    ),
    NamedOption(
        "count_by",
        "COLUMNS",
        "write the number of matches for each value of columns: a.zone, or an item of RETURN",
        _read_columns,
    ),
    NamedOption(
        "spreadsheet",
        "",
        "csv: an apostrophe before strings that a spreadsheet would run as formulas",
        _read_switch,
    ),
)
LIMITS = (
    NamedOption("max_matches", "N", "stop with an error at more than N matches", _read_whole),
    NamedOption("max_runs", "N", "stop with an error at more than N runs", _read_whole),
    NamedOption("max_memory", "SIZE", "stop with an error before more is used: '2 GiB'"),
)
THREADS = (
    NamedOption(
        "workers",
        "N",
        "run the query in N threads, which divide its events by time or by key",
        _read_whole,
    ),
)
PLANNING = (
    NamedOption(
        "domains",
        "NAME=N",
        "the number of distinct values of an attribute",
        read_domains,
        "--domain",
    ),
    NamedOption("statistics", "FILE", "JSON: event frequencies and selectivities", read_statistics),
)
UNCERTAIN_TIMES = (
    NamedOption(
        "uncertainty",
        "EXTENT",
        "how far a time can be off: '7 s', or 'Task=0.5 s,Load=7 s'",
        read_uncertainty,
    ),
    NamedOption("probabilities", "COLUMN", "the probability of each instant"),
    NamedOption("granularity", "EXTENT", "the length of an instant, such as '100 ms'"),
    NamedOption("min_confidence", "P", "only matches with at least this confidence", _read_number),
    NamedOption("top_k", "N", "only the N matches with the highest confidence", _read_whole),
)
ON_SPARK = (
    NamedOption(
        "slices",
        "N",
        "divide the events into N time slices; auto: only if one key has too many events",
        read_slices,
    ),
    NamedOption(
        "reduce",
        "WHEN",
        "send only events near those of a rare component to the workers: yes, no or auto",
        read_reduce,
    ),
    NamedOption(
        "in_place",
        "",
        "workers read time-ordered Parquet files directly",
        _read_switch,
    ),
)
STACKS_VARIANTS = (
    _variant("construction", "instance_stacks: how sequences are constructed"),
    _variant("equivalence", "instance_stacks: where equivalence tests run"),
    _variant("window", "instance_stacks: where the window is tested"),
)
VARIANTS = (
    _variant("algorithm", "nfa_b"),
    _variant("buffer", "nfa_b"),
    *STACKS_VARIANTS,
    _variant("negation", "lazy_chain and lazy_tree"),
    _variant("method", "imprecise"),
)

# Typer does not export it.
_UsageError: Any = typer.BadParameter.__base__

Groups = Mapping[str, tuple[NamedOption, ...]]

OF_EVENTS: Groups = {"Events": READING}
OF_MATCH: Groups = {
    **OF_EVENTS,
    "Result": RESULT,
    "Limits": LIMITS,
    "Threads": THREADS,
    "Planning": PLANNING,
    "Uncertain times": UNCERTAIN_TIMES,
    "On Spark": ON_SPARK,
    "Alternative algorithms of the papers (same matches)": VARIANTS,
}
OF_EXPLAIN: Groups = {
    **OF_EVENTS,
    "Planning": PLANNING,
    "Alternative algorithms of the papers (same matches)": STACKS_VARIANTS,
}


def named_values(settings: Iterable[str], groups: Groups) -> dict[str, Any]:
    """The keywords of ``match`` for ``--option NAME=VALUE`` settings; variants in ``options``."""
    known = {option.name: option for options in groups.values() for option in options}
    values: dict[str, Any] = {}
    variants: dict[str, Any] = {}
    for setting in settings:
        option = known.get(setting.replace("-", "_"))
        is_switch = option is not None and not option.metavar
        name, text = (setting, "") if is_switch else split_setting(setting, "--option")
        name = name.replace("-", "_")
        if name not in known:
            raise typer.BadParameter(unknown_name("option", name, [*known]), param_hint="--option")
        try:
            value = known[name].read(text)
        except typer.BadParameter as error:
            error.param_hint = known[name].flags
            raise
        if known[name].is_variant:
            variants[name] = value
        elif isinstance(value, dict) and isinstance(values.get(name), dict):
            values[name] |= value
        else:
            values[name] = value
    return {**values, **({"options": variants} if variants else {})}


def reading_values(settings: Iterable[str]) -> dict[str, Any]:
    """The settings that say how events are read.

    >>> reading_values(["sep=;", "max_runs=3"])
    {'sep': ';'}
    """
    names = {option.name for option in READING}
    chosen = [each for each in settings if each.partition("=")[0].replace("-", "_") in names]
    return named_values(chosen, OF_EVENTS)


def command_with(groups: Groups, arguments: str | None = None) -> type[TyperCommand]:
    """A command that takes the short forms of these options and lists the options in its help.

    ``arguments`` is how its usage names the arguments, if not by their metavars.
    """
    options = [option for each in groups.values() for option in each]

    class Command(TyperCommand):
        def collect_usage_pieces(self, ctx: Any) -> list[str]:
            if arguments is not None:
                return ["[OPTIONS]", arguments]
            pieces = super().collect_usage_pieces(ctx)
            # Typer writes an argument that is needed in braces.
            return [re.sub(r"^\{(.*)\}", r"\1", each) for each in pieces]

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            try:
                plain: list[str] = super().parse_args(
                    ctx, list(_without_short_forms(args, options))
                )
            except _UsageError as error:
                error.message = message_text(error.message)
                raise
            return plain

        def format_options(self, ctx: Any, formatter: Any) -> None:
            _write_panels(self, ctx, formatter)
            for title, each in groups.items():
                with formatter.section(f"{title}, by --option NAME=VALUE"):
                    formatter.write_dl(
                        [(f"{o.name}={o.metavar}" if o.metavar else o.name, o.help) for o in each]
                    )

    return Command


def _without_short_forms(args: Sequence[str], options: Sequence[NamedOption]) -> Iterator[str]:
    """The arguments, with each ``--name value`` as ``--option name=value``."""
    by_flag = {option.flags: option for option in options}
    rest = iter(args)
    for argument in rest:
        if argument == "--":
            yield argument
            yield from rest
            return
        flag, equals, text = argument.partition("=")
        option = by_flag.get(flag)
        if option is None:
            yield argument
            continue
        if option.metavar and not equals:
            try:
                text = next(rest)
            except StopIteration:
                raise typer.BadParameter("requires an argument", param_hint=flag) from None
        if option.is_variant:
            say(f"warning: {flag} is deprecated; use --option {option.name}={text}")
        yield "--option"
        yield f"{option.name}={text}"


def _write_panels(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the options of a command, with a section for each help panel."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            panel = getattr(parameter, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append(record)
    for panel, records in panels.items():
        with formatter.section(panel):
            formatter.write_dl(records)
