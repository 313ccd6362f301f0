"""Scripts on the command line: one output per query."""

from __future__ import annotations

import json
import re
import time as clock
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from cepheid import CompiledScript
from cepheid.cli.formats import Format, Output, choose_format
from cepheid.cli.progress import following
from cepheid.cli.reporting import say, took
from cepheid.cli.results import summary, write_results
from cepheid.errors import OptionError, list_words, plural
from cepheid.files.output import open_output
from cepheid.visible import visible

if TYPE_CHECKING:
    from cepheid.matches.matches import ScriptMatches

PLACEHOLDER = "{query}"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True)
class Sinks:
    """Where the matches of each query of a script go: to its own file, or all to one or stdout."""

    format: Format
    files: Mapping[str, Path | None]
    are_shared: bool


def choose_sinks(script: CompiledScript, wanted: Format | None, file: Path | None) -> Sinks:
    """The output files: FILE is a folder, has {query} in its name, or is one file for all."""
    if file is None or (file.suffix and PLACEHOLDER not in str(file) and not file.is_dir()):
        chosen = choose_format(wanted, file)
        if chosen in (Format.CSV, Format.PARQUET, Format.ROWS):
            raise typer.BadParameter(
                f"a script has one table per query: {list_words(list(script.queries))}. Name a "
                f"folder with -o, or a file with {PLACEHOLDER} in its name, such as "
                f"found-{PLACEHOLDER}.{'csv' if chosen is Format.ROWS else chosen}",
                param_hint="-o" if file is not None else "--format",
            )
        return Sinks(chosen, dict.fromkeys(script.queries, file), are_shared=True)
    if PLACEHOLDER not in str(file):
        chosen = wanted or Format.JSONL
        suffix = {Format.TABLE: "txt", Format.ROWS: "csv"}.get(chosen, chosen.value)
        file = file / f"{PLACEHOLDER}.{suffix}"
    else:
        chosen = choose_format(wanted, file)
    names = {name: _NOT_IN_FILE_NAMES.sub("_", name) for name in script.queries}
    if len(set(map(str.casefold, names.values()))) < len(names):
        raise OptionError(
            f"the queries {list_words(list(names))} would be written to the same file"
        )
    files = {name: Path(str(file).replace(PLACEHOLDER, plain)) for name, plain in names.items()}
    return Sinks(chosen, files, are_shared=False)


def match_script(
    script: CompiledScript,
    source: object,
    keywords: Mapping[str, Any],
    wanted: Format | None,
    file: Path | None,
    limit: int | None,
    metrics: bool,
    spreadsheet: bool = False,
) -> None:
    """Find all matches of each query of a script, write them, and report their number."""
    sinks = choose_sinks(script, wanted, file)
    output = Output(sinks.format, limit, (keywords["time"], keywords["type"]), spreadsheet)
    started = clock.perf_counter()
    with following("Matching", is_script=True):
        results = script.match(source, **keywords)
    seconds = clock.perf_counter() - started
    say(f"{write_script_results(results, script, sinks, output)} in {took(seconds)}")
    if metrics:
        say(json.dumps({name: matches.metrics.to_dict() for name, matches in results.items()}))


def write_script_results(
    results: ScriptMatches,
    script: CompiledScript,
    sinks: Sinks,
    output: Output,
) -> str:
    """Write the matches of each query, and return a line with their numbers."""
    counts: list[str] = []
    with ExitStack() as stack:
        opened: dict[Path | None, BinaryIO] = {}
        for name, query in script.queries.items():
            file, matches = sinks.files[name], results[name]
            if file not in opened:
                if file is not None and not sinks.are_shared:
                    _make_folder(file.parent)
                opened[file] = stack.enter_context(open_output(file))
            if sinks.are_shared and sinks.format is Format.TABLE:
                gap = "\n" if counts else ""
                heading = f"{gap}{visible(name)}: {plural(len(matches), 'match', 'matches')}\n"
                opened[file].write(heading.encode("utf-8", "backslashreplace"))
                opened[file].flush()
            shown_name = name if sinks.are_shared else None
            written = write_results(
                matches, query, replace(output, file=file), opened[file], shown_name
            )
            counts.append(f"{name}: {written}")
    return "; ".join(counts)


def script_summary(script: CompiledScript) -> str:
    """A script in a few lines: the number of queries, and each query in one line.

    >>> import cepheid as cep
    >>> print(script_summary(cep.script("PATTERN A a RETURN X(v = a.v); PATTERN SEQ(X x, B b)")))
    2 queries
      X: 1 component, skip_till_any_match, no window, returns v
      query_2: 2 components, skip_till_any_match, no window, returns x and b; reads X
    """
    lines = [plural(len(script.queries), "query", "queries")]
    for name, query in script.queries.items():
        read = script.reads[name]
        reads = f"; reads {list_words(read)}" if read else ""
        lines.append(f"  {name}: {summary(query)}{reads}")
    return "\n".join(lines)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot create the folder {str(folder)!r}: {error.strerror}") from None
