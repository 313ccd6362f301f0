"""Sigma rules as files of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sigma.collection import SigmaCollection

from cepheid.errors import OptionError
from cepheid.files.output import open_output
from cepheid.rule_sets.reading import rule_text
from cepheid.rule_sets.rule_set import RuleSet
from cepheid.sigma.mapping import LogMapping
from cepheid.sigma.naming import slug
from cepheid.sigma.rules import Converted, convert, set_of


def write(
    source: str | Path | SigmaCollection,
    folder: str | Path,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
    *,
    strict: bool = False,
) -> RuleSet:
    """Write each Sigma rule as a ``.sase`` file with its fields and its query, and return the set.

    A file has the path of the Sigma file in its folder. If this has several rules, their titles are
    added to the name. Files that exist are replaced.

    Args:
        source: as for :func:`~cepheid.sigma.rules`.
        folder: where to write; it is made if there is none.
        mapping: as for :func:`~cepheid.sigma.rules`.
        strict: write nothing if there is a fault, and raise an error with all faults.

    Raises:
        RuleSetError: ``strict``, and at least one rule cannot run.
        OptionError: the source or the mapping cannot be read, or a file cannot be written.

    >>> import tempfile
    >>> from cepheid import sigma
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sigma.write('''
    ...         title: Cleared log
    ...         logsource: {product: windows, service: security}
    ...         detection: {selection: {EventID: 1102}, condition: selection}
    ...     ''', folder)
    ...     print((Path(folder) / "cleared_log.sase").read_text())
    +++
    name = "Cleared log"
    +++
    PATTERN windows-security e
    WHERE e.EventID = 1102
    """
    converted = list(convert(source, mapping))
    found = set_of(converted, strict=strict)
    kept = [
        each
        for each in converted
        if isinstance(each, Converted) and found.get(each.rule.name) is each.rule
    ]
    of_file = Counter(each.file for each in kept)
    base = Path(source) if isinstance(source, str | Path) else None
    used: set[Path] = set()
    for each in kept:
        path = _path(each, base, of_file[each.file] == 1)
        while path in used:
            path = path.with_name(path.name + "_")
        used.add(path)
        target = Path(folder) / path.with_name(path.name + ".sase")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"cannot write {str(target)!r}: {error.strerror}") from None
        with open_output(target) as sink:
            sink.write(rule_text(each.rule).encode())
    return found


def _path(each: Converted, base: Path | None, is_alone: bool) -> Path:
    """Where the rule goes, without the suffix."""
    title = slug(each.rule.name) or "rule"
    if each.file is None:
        return Path(title)
    is_below = base is not None and each.file.is_relative_to(base) and each.file != base
    within = each.file.relative_to(base) if is_below and base else Path(each.file.name)
    return within.with_name(within.stem if is_alone else f"{within.stem}-{title}")
