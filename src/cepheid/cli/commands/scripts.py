"""Scripts on the command line: one output per query."""

from __future__ import annotations

import json
import re
import sys
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cepheid import CompiledScript
from cepheid.cli.formats import Format, choose_format, open_binary, write_matches
from cepheid.cli.reporting import busy, plural, say, took
from cepheid.cli.results import MOST_TABLE_ROWS, found, summary, write_results, write_table
from cepheid.errors import OptionError, list_words

if TYPE_CHECKING:
    from cepheid.matches.script_matches import ScriptMatches

PLACEHOLDER = "{query}"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True)
class Sinks:
    """Where the matches of a script go: to one file or stdout, or to one file per query."""

    format: Format
    file: Path | None
    file_of: Mapping[str, Path] | None = None


def choose_sinks(script: CompiledScript, wanted: Format | None, file: Path | None) -> Sinks:
    """The output files: FILE is a folder, has {query} in its name, or is one file for all."""
    if file is None or (file.suffix and PLACEHOLDER not in str(file) and not file.is_dir()):
        chosen = choose_format(wanted, file)
        if chosen in (Format.CSV, Format.PARQUET):
            raise typer.BadParameter(
                f"a script has one table per query: {list_words(list(script.queries))}. Name a "
                f"folder with -o, or a file with {PLACEHOLDER} in its name, such as "
                f"found-{PLACEHOLDER}.{chosen}",
                param_hint="-o" if file is not None else "--format",
            )
        return Sinks(chosen, file)
    if PLACEHOLDER not in str(file):
        chosen = wanted or Format.JSONL
        suffix = "txt" if chosen is Format.TABLE else chosen.value
        file = file / f"{PLACEHOLDER}.{suffix}"
    else:
        chosen = choose_format(wanted, file)
    names = {name: _NOT_IN_FILE_NAMES.sub("_", name) for name in script.queries}
    if len(set(map(str.casefold, names.values()))) < len(names):
        raise OptionError(
            f"the queries {list_words(list(names))} would be written to the same file"
        )
    files = {name: Path(str(file).replace(PLACEHOLDER, plain)) for name, plain in names.items()}
    return Sinks(chosen, None, files)


def match_script(
    script: CompiledScript,
    source: object,
    keywords: Mapping[str, Any],
    wanted: Format | None,
    file: Path | None,
    limit: int | None,
    metrics: bool,
) -> None:
    """Find all matches of each query of a script, write them, and report their number."""
    sinks = choose_sinks(script, wanted, file)
    started = clock.perf_counter()
    with busy("Matching"):
        results = script.match(source, **keywords)
    seconds = clock.perf_counter() - started
    hidden = (keywords["time"], keywords["type"])
    say(f"{write_script_results(results, script, sinks, limit, hidden)} in {took(seconds)}")
    if metrics:
        say(json.dumps({name: matches.metrics.to_dict() for name, matches in results.items()}))


def write_script_results(
    results: ScriptMatches,
    script: CompiledScript,
    sinks: Sinks,
    limit: int | None,
    hidden: Sequence[str],
) -> str:
    """Write the matches of each query, and return a line with their numbers."""
    counts = []
    if sinks.file_of is not None:
        for name, query in script.queries.items():
            file = sinks.file_of[name]
            _make_folder(file.parent)
            shown = write_results(results[name], query, sinks.format, file, limit, hidden)
            counts.append(f"{name}: {found(len(results[name]), shown)}")
        return "; ".join(counts)
    with open_binary(sinks.file) as sink:
        for number, (name, query) in enumerate(script.queries.items()):
            matches = results[name]
            most = MOST_TABLE_ROWS if limit is None and sinks.format is Format.TABLE else limit
            shown = len(matches) if most is None else min(most, len(matches))
            counts.append(f"{name}: {found(len(matches), shown)}")
            if sinks.format is not Format.TABLE:
                write_matches(matches, query, sinks.format, sink, limit, name)
                continue
            gap = "\n" if number else ""
            heading = f"{gap}{name}: {plural(len(matches), 'match', 'matches')}\n"
            sink.write(heading.encode())
            sink.flush()
            write_table(matches, query, sinks.file, sink, shown, hidden)
            sys.stdout.flush()
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
