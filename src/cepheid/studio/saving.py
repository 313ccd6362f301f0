"""Saves what was written on the page: a rule in a folder, and tests beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from cepheid.errors import OptionError
from cepheid.files.output import open_output
from cepheid.row_patterns.parser import is_row_pattern
from cepheid.rule_sets.reading import SUFFIXES, split_front_matter
from cepheid.rule_sets.testing import SUFFIX, Case, read_cases, write_cases

_NAME = re.compile(r"[\w][\w .-]*(?:/[\w][\w .-]*)*")


def rule_names(folder: Path) -> list[str]:
    """The names of the rules in a folder."""
    if not folder.is_dir():
        return []
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    return [path.relative_to(folder).with_suffix("").as_posix() for path in files]


def rule_file(folder: Path, name: str, text: str = "") -> Path:
    """The file of a rule, which is inside the folder.

    >>> rule_file(Path("rules"), "doors/busy").as_posix()
    'rules/doors/busy.sase'

    Raises:
        OptionError: the name is not that of a file in the folder.
    """
    if not _NAME.fullmatch(name) or name != name.strip() or ".." in name:
        raise OptionError(
            f"{name!r} is not a name for a rule: use letters, digits, spaces, '_', '-' and '/'"
        )
    for suffix in SUFFIXES:
        if (folder / f"{name}{suffix}").exists():
            return folder / f"{name}{suffix}"
    body = split_front_matter(text)[1]
    return folder / f"{name}{'.sql' if is_row_pattern(body) else '.sase'}"


def save_rule(folder: Path, name: str, text: str, *, replaces: bool = False) -> Path:
    """Write a rule into the folder, and return its file.

    Raises:
        OptionError: there is such a rule, and it is not to be replaced.
    """
    file = rule_file(folder, name, text)
    if file.exists() and not replaces:
        raise OptionError(f"there is a rule {name!r} already")
    file.parent.mkdir(parents=True, exist_ok=True)
    with open_output(file) as sink:
        sink.write((text if text.endswith("\n") else f"{text}\n").encode())
    return file


def case_of(rule: Path, events: Path, options: dict[str, str]) -> Case:
    """A test of a rule over a file of events, which does not say yet what to expect."""
    file = rule.with_name(rule.stem + SUFFIX)
    path = os.path.relpath(events.resolve(), file.parent.resolve())
    name = f"recorded from {events.name}"
    taken = (
        [each.name for each in read_cases(file) if isinstance(each, Case)] if file.exists() else []
    )
    number = 2
    while name in taken:
        name = f"recorded from {events.name} ({number})"
        number += 1
    return Case(rule, file, name, path, None, options)


def save_case(case: Case) -> Path:
    """Add a case to the tests of its rule, and return their file."""
    with TemporaryDirectory() as folder:
        alone = Path(folder, case.file.name)
        write_cases(alone, [case])
        written = alone.read_text("utf-8")
    before = case.file.read_text("utf-8").rstrip("\n") + "\n\n" if case.file.exists() else ""
    with open_output(case.file) as sink:
        sink.write((before + written).encode())
    return case.file
