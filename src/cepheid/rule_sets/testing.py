"""Tests of rules: a file beside a rule has events, and the matches that the rule must find.

``theft.test.toml`` tests the rule in ``theft.sase`` or ``theft.sql``::

    [[case]]
    name = "an item that is not paid for"
    events = '''
    ts,type,tag_id
    1,Shelf,7
    5,Exit,7
    '''
    expect = [{ start = 1, end = 5, values = { item = 7 } }]

``events`` is CSV or JSON Lines, or the path of a file. A match has what ``expect`` says about it:
``start``, ``end``, ``key`` and ``values``, each of them complete if it is given. TOML has no null:
a value that is left out is null. ``options`` are keywords of ``match``, for one case or, at the
top, for all.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cepheid.api import read_text
from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    OptionError,
    RuleFault,
    did_you_mean,
    list_words,
)
from cepheid.files import toml_text
from cepheid.files.output import open_output
from cepheid.rule_sets.reading import SUFFIXES, read_rule_file, toml
from cepheid.rule_sets.rule_set import RuleSet
from cepheid.visible import said, visible, visible_lines

SUFFIX = ".test.toml"
COMPARED = ("start", "end", "key", "values")
"""What a test may say about a match."""
_FIELDS = ("name", "events", "expect", "options")


@dataclass(frozen=True, slots=True)
class Case:
    """Events for a rule, and the matches that it must find in them.

    ``events`` is text or the path of a file. ``expect`` is None if nothing is said yet.
    """

    rule: Path
    file: Path
    name: str
    events: str
    expect: tuple[Mapping[str, Any], ...] | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> CaseResult:
        """The differences between what the rule finds and what it must find."""
        try:
            found = self.found()
        except CepheidError as error:
            return CaseResult(self, error=str(error))
        if self.expect is None:
            return CaseResult(self, error="it does not say what to expect: record it, or write it")
        missing, unexpected = differences(self.expect, found)
        return CaseResult(self, tuple(missing), tuple(unexpected))

    def found(self) -> list[dict[str, Any]]:
        """What the rule finds in the events.

        Raises:
            CepheidError: the rule or the events are wrong.
        """
        from cepheid.matches.shapes.flat import plain

        # A rule is tested before it is enabled.
        rules = RuleSet([replace(read_rule_file(self.rule), enabled=True)])
        if rules.faults:
            raise OptionError(rules.faults[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CepheidWarning)
            found = rules.match(self._source(), **self.options)
        if found.faults:
            raise OptionError(found.faults[0].message)
        return [{name: plain(row[name]) for name in COMPARED} for row in found.to_dicts()]

    def _source(self) -> Any:
        """The events, as ``match`` takes them."""
        if "\n" not in self.events.strip():
            return str(self.file.parent / self.events.strip())
        from io import BytesIO

        import pyarrow as pa

        from cepheid.events.sources.text_stream import TextStream

        text = BytesIO(self.events.lstrip().encode())
        tables = TextStream(text, self.options.get("sep"), {}, None, set()).tables()
        return pa.concat_tables(tables, promote_options="default")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a case found: nothing but its case if it passed."""

    case: Case
    missing: tuple[Mapping[str, Any], ...] = ()
    unexpected: tuple[Mapping[str, Any], ...] = ()
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the rule found what it must find."""
        return not (self.missing or self.unexpected or self.error)

    def __str__(self) -> str:
        lines = [f"{self.case.file.name}: {self.case.name}: {'ok' if self.passed else 'FAILED'}"]
        if self.error is not None:
            lines += [f"  {line}" for line in self.error.splitlines()]
        unexpected = list(self.unexpected)
        for each in self.missing:
            similar = _most_similar(each, unexpected)
            if similar is None:
                lines.append(f"  - expected, not found: {_shown(each)}")
            else:
                unexpected.remove(similar)
                lines.append(f"  ~ the match from {similar['start']} to {similar['end']} differs")
                lines += [f"      {line}" for line in _changes(each, similar)]
        lines += [f"  + found, not expected: {_shown(each)}" for each in unexpected]
        return "\n".join(lines)


def read_cases(path: Path) -> Iterator[Case | RuleFault]:
    """The cases of a test file, of a rule, or of all test files below a folder."""
    files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if path.suffix in SUFFIXES:
        files = [path.with_name(path.stem + SUFFIX)]
        if not files[0].exists():
            raise OptionError(f"there is no test {files[0].name} beside the rule {path.name}")
    for file in files:
        try:
            yield from _cases_of(file)
        except CepheidError as error:
            yield RuleFault(file.name, str(error), error)


def rule_beside(file: Path) -> Path:
    """The file of the rule that a test file is about.

    Raises:
        OptionError: there is none.
    """
    stem = file.name.removesuffix(SUFFIX)
    for suffix in SUFFIXES:
        rule = file.with_name(stem + suffix)
        if rule.exists():
            return rule
    raise OptionError(f"there is no rule {stem}.sase or {stem}.sql beside it")


def _cases_of(file: Path) -> Iterator[Case]:
    content = toml_text.load(read_text(file), "it is")
    _refuse_unknown(content, ("case", "options"))
    rule, shared, given = rule_beside(file), content.get("options", {}), content.get("case")
    for each in (shared, *(case.get("options", {}) for case in _tables(given))):
        if not isinstance(each, dict):
            raise OptionError(f"options are a table of keywords of match, not {said(each)}")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise OptionError("it has no [[case]]")
    for number, each in enumerate(given, start=1):
        _refuse_unknown(each, _FIELDS)
        events, expect = each.get("events"), each.get("expect")
        if not isinstance(events, str):
            raise OptionError(f"case {number}: events is CSV, JSON Lines or the path of a file")
        if expect is not None and not (
            isinstance(expect, list) and all(isinstance(match, dict) for match in expect)
        ):
            raise OptionError(f"case {number}: expect is a list of matches")
        for match in expect or ():
            _refuse_unknown(match, COMPARED)
        options = {**shared, **each.get("options", {})}
        name = str(each.get("name", f"case {number}"))
        yield Case(rule, file, name, events, None if expect is None else tuple(expect), options)


def _tables(given: object) -> list[dict[str, Any]]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise OptionError(
                f"there is no field {name!r}; there are {list_words(known)}"
                + did_you_mean(name, known)
            )


def differences(
    expected: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The expected matches that were not found, and the found ones that were not expected.

    >>> differences([{"end": 2}, {"end": 9}], [{"start": 1, "end": 2}, {"start": 1, "end": 3}])
    ([{'end': 9}], [{'start': 1, 'end': 3}])
    """
    left = list(found)
    missing: dict[int, Mapping[str, Any]] = {}
    # A match about which more is said has less choice.
    for number in sorted(range(len(expected)), key=lambda ix: -len(expected[ix])):
        wanted = expected[number]
        fitting = next((each for each in left if _fits(wanted, each)), None)
        if fitting is None:
            missing[number] = wanted
        else:
            left.remove(fitting)
    return [missing[number] for number in sorted(missing)], left


def _fits(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    from cepheid.matches.shapes.flat import plain

    return all(
        _comparable(plain(value)) == _comparable(found[key]) for key, value in wanted.items()
    )


def _comparable(value: Any) -> Any:
    """A value without what is null, which TOML cannot say."""
    if isinstance(value, Mapping):
        return {key: _comparable(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return value


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The values inside of a match, by their paths.

    >>> _leaves({"end": 2, "values": {"a": {"x": 1}}})
    {'end': 2, 'values.a.x': 1}
    """
    if not isinstance(value, Mapping):
        return {path: value}
    inside = ((f"{path}.{key}" if path else str(key), each) for key, each in value.items())
    return {name: leaf for key, each in inside for name, leaf in _leaves(each, key).items()}


def _compared(
    wanted: Mapping[str, Any], found: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the two, as far as the first one speaks of them."""
    from cepheid.matches.shapes.flat import plain

    of_both = (plain(dict(wanted)), {key: found[key] for key in wanted})
    left, right = (_leaves(_comparable(each)) for each in of_both)
    return left, right


def _most_similar(
    wanted: Mapping[str, Any], found: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The match that agrees with the expected one in most values, and in one at least."""

    def agreement(each: Mapping[str, Any]) -> int:
        left, right = _compared(wanted, each)
        return sum(right.get(path, ...) == value for path, value in left.items())

    best = max(found, key=agreement, default=None)
    return best if best is not None and agreement(best) else None


def _changes(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """The values in which a match differs from the expected one."""
    left, right = _compared(wanted, found)
    for path in dict.fromkeys((*left, *right)):
        if left.get(path, ...) != right.get(path, ...):
            values = (json.dumps(each.get(path), ensure_ascii=False) for each in (left, right))
            yield "{}: expected {}, found {}".format(path, *values)


def _shown(match: Mapping[str, Any]) -> str:
    from cepheid.matches.shapes.flat import plain

    return json.dumps(_comparable(plain(dict(match))), ensure_ascii=False)


def write_cases(file: Path, cases: Sequence[Case]) -> None:
    """Write a test file with these cases.

    Raises:
        OptionError: it cannot be written; it is then as before.
    """
    texts = []
    for case in cases:
        lines = ["[[case]]", f"name = {toml(case.name)}"]
        if "\n" in case.events.strip() and "'''" not in case.events:
            lines.append(f"events = '''\n{case.events.lstrip()}'''")
        else:
            lines.append(f"events = {toml(case.events)}")
        if case.options:
            lines.append(f"options = {toml(dict(case.options))}")
        expect = [f"    {toml(_comparable(dict(match)))},\n" for match in case.expect or ()]
        lines.append(f"expect = [\n{''.join(expect)}]" if expect else "expect = []")
        texts.append("\n".join(lines) + "\n")
    with open_output(file) as sink:
        sink.write("\n".join(texts).encode())


def junit(results: Sequence[CaseResult], faults: Sequence[RuleFault]) -> str:
    """The results in the format of JUnit, for continuous integration."""
    from xml.etree.ElementTree import Element, SubElement, tostring

    failed = sum(not each.passed for each in results)
    counts = {"tests": len(results) + len(faults), "failures": failed, "errors": len(faults)}
    suite = Element("testsuite", {"name": "rules", **{k: str(v) for k, v in counts.items()}})

    def case(classname: str, name: str) -> Element:
        place = {"classname": visible(classname), "name": visible(name)}
        return SubElement(suite, "testcase", place)

    def add(element: Element, kind: str, said: str, text: str) -> None:
        # XML has no control characters.
        message = {"message": visible(said.splitlines()[0])}
        SubElement(element, kind, message).text = visible_lines(text)

    for each in results:
        element = case(each.case.rule.stem, each.case.name)
        if not each.passed:
            said = each.error or f"{len(each.missing)} not found, {len(each.unexpected)} unexpected"
            add(element, "failure", said, str(each))
    for fault in faults:
        add(case(fault.rule, fault.rule), "error", fault.message, fault.message)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
