"""Sigma rules as a set of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError, SigmaRuleLocation
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule
from sigma.rule.attributes import SigmaStatus

from cepheid.errors import CepheidError, OptionError, RuleFault
from cepheid.files.yaml_text import load_all, read_documents
from cepheid.rule_sets.rule import Rule
from cepheid.rule_sets.rule_set import RuleSet, rule_set
from cepheid.sigma.correlation_parts import AnyRule, Step
from cepheid.sigma.correlations import correlation_query
from cepheid.sigma.mapping import LogMapping

_SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class _Unread:
    """A document that cannot be read; ``references`` are the rules to which it refers."""

    fault: RuleFault
    references: tuple[str, ...] = ()


_Read = SigmaRule | SigmaCorrelationRule | SigmaFilter | _Unread


def rules(
    source: str | Path | SigmaCollection,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
    *,
    strict: bool = False,
    limits: Mapping[str, int] | None = None,
) -> RuleSet:
    """The Sigma rules of a source, as a set of rules.

    A rule that cannot be said in the language is a fault with the reason, and does not stop the
    others. Rules to which a correlation refers do not run alone, unless it says ``generate: true``.

    Args:
        source: a folder of YAML files, one such file, YAML text (a string with line
            breaks), or a
            collection of pySigma, for example one to which a pipeline was applied.
        mapping: which columns and events the fields and log sources of the rules are: a mapping
            with the entries of :class:`LogMapping`, or a YAML file with them.
        strict: raise an error with all faults of all rules, instead of a warning.
        limits: other limits for queries than the defaults, as for :func:`~cepheid.query`.

    Raises:
        RuleSetError: ``strict``, and at least one rule cannot run.
        OptionError: the source or the mapping cannot be read.

    >>> from cepheid import sigma
    >>> found = sigma.rules('''
    ...     title: Many failed logons
    ...     name: many
    ...     correlation:
    ...         type: event_count
    ...         rules: failed
    ...         group-by: [User]
    ...         timespan: 5m
    ...         condition: {gte: 3}
    ...     ---
    ...     title: Failed logon
    ...     name: failed
    ...     logsource: {product: windows, service: security}
    ...     detection: {selection: {EventID: 4625}, condition: selection}
    ... ''').match({
    ...     "ts": ["2024-03-01 09:00", "2024-03-01 09:01", "2024-03-01 09:02"],
    ...     "type": ["windows-security"] * 3, "EventID": [4625] * 3, "User": ["eve"] * 3,
    ... })
    >>> [(match.rule, match.key) for match in found]
    [('Many failed logons', {'User': 'eve'})]
    """
    return set_of(list(convert(source, mapping)), strict=strict, limits=limits)


@dataclass(frozen=True, slots=True)
class Converted:
    """A rule, and the file of Sigma from which it is."""

    rule: Rule
    file: Path | None


def set_of(
    converted: Sequence[Converted | RuleFault],
    *,
    strict: bool = False,
    limits: Mapping[str, int] | None = None,
) -> RuleSet:
    """The set of these rules, as :func:`rules` returns it."""
    read = (each.rule if isinstance(each, Converted) else each for each in converted)
    return rule_set(read, strict=strict, limits=limits)


def convert(
    source: str | Path | SigmaCollection,
    mapping: LogMapping | Mapping[str, Any] | str | Path | None = None,
) -> Iterator[Converted | RuleFault]:
    """The rules of a source, and why others have none."""
    known = LogMapping.of(mapping)
    if isinstance(source, SigmaCollection):
        collection = source
    else:
        read = list(_read(source))
        unread = [each for each in read if isinstance(each, _Unread)]
        yield from (each.fault for each in unread)
        collection = SigmaCollection(
            [each for each in read if not isinstance(each, _Unread)], resolve_references=False
        )
        _resolve(collection)
        for each in unread:
            _silence(collection, each.references)
    names: Counter[str] = Counter()
    for rule in collection.rules:
        name = _name(rule)
        names[name] += 1
        if names[name] > 1:  # documents of an ``action: global`` have the same title
            name = f"{name} ({names[name]})"
        if rule.errors:
            yield RuleFault(name, "; ".join(map(_message, rule.errors)))
        elif rule._output:
            try:
                yield Converted(_rule(name, rule, known), _file(rule))
            except CepheidError as error:
                yield RuleFault.of(name, error)
            except SigmaError as error:
                yield RuleFault(name, _message(error))


def _read(source: str | Path) -> Iterator[_Read]:
    """What the documents of files or of a text are."""
    if isinstance(source, str) and "\n" in source:
        yield from _parsed(load_all(dedent(source), "the text is"), None)
        return
    path = Path(source)
    if not path.exists():
        raise OptionError(f"cannot read the Sigma rules {str(source)!r}: there is no such folder")
    files = [each for each in sorted(path.rglob("*")) if each.suffix in _SUFFIXES]
    for file in files if path.is_dir() else [path]:
        try:
            yield from _parsed(read_documents(file), file)
        except CepheidError as error:
            yield _Unread(RuleFault.of(file.stem, error))


def _parsed(read: list[Any], file: Path | None) -> Iterator[_Read]:
    """The rules and filters of documents; one that cannot be read does not stop the others."""
    for each in read:
        if not isinstance(each, dict):
            name = file.stem if file else "text"
            yield _Unread(RuleFault(name, f"a document is a mapping, not {type(each).__name__}"))
    found = [each for each in read if isinstance(each, dict)]
    has_actions = any("action" in each for each in found)  # documents that change those after them
    for group in [found] if has_actions else [[each] for each in found]:
        try:
            collection = SigmaCollection.from_dicts(
                group,
                collect_errors=True,
                source=SigmaRuleLocation(file) if file else None,
                collect_filters=True,
                resolve_references=False,
            )
            yield from (*collection.rules, *collection.filters)
        except (SigmaError, AttributeError, KeyError, TypeError, ValueError) as error:
            name = str(group[0].get("title") or (file.stem if file else "text"))
            fault = RuleFault(name, f"pySigma cannot read it: {_message(error)}")
            yield _Unread(fault, tuple(_references(group)))


def _references(documents: list[dict[str, Any]]) -> Iterator[str]:
    """The rules to which correlations refer that cannot be read."""
    for each in documents:
        correlation = each.get("correlation")
        if isinstance(correlation, dict) and correlation.get("generate") is not True:
            given = correlation.get("rules")
            listed = given if isinstance(given, list) else [given]
            yield from (name for name in listed if isinstance(name, str))


def _silence(collection: SigmaCollection, references: Iterable[str]) -> None:
    """Let rules not run alone: they are made for a correlation, which cannot run."""
    for name in references:
        with suppress(SigmaError):
            collection[name].disable_output()


def _resolve(collection: SigmaCollection) -> None:
    """Find the rules to which correlations refer; what is not found is an error of its rule."""
    for rule in collection.rules:
        if isinstance(rule, SigmaCorrelationRule) and not rule.errors:
            try:
                rule.resolve_rule_references(collection)
            except SigmaError as error:
                rule.errors.append(error)
        if isinstance(rule, SigmaCorrelationRule) and rule.errors and not rule.generate:
            _silence(collection, [each.reference for each in rule.rules or ()])


def _rule(name: str, rule: AnyRule, mapping: LogMapping) -> Rule:
    """The rule of a Sigma rule.

    Raises:
        CepheidError: it has no query.
        SigmaError: pySigma rejects it.
    """
    if isinstance(rule, SigmaCorrelationRule):
        query = correlation_query(rule, mapping)
    else:
        step = Step("e", (rule,))
        conditions = "\n  AND ".join(step.conditions(mapping, "e"))
        where = f"\nWHERE {conditions}" if conditions else ""
        query = f"PATTERN {step.component(mapping)}{where}"
    tags = [str(each) for each in rule.tags]
    return Rule.of_fields(
        name,
        {
            "query": query,
            "severity": rule.level.name.lower() if rule.level else None,
            "description": rule.description,
            "tags": [*tags, *([f"sigma.{rule.id}"] if rule.id else [])],
            "enabled": rule.status not in (SigmaStatus.DEPRECATED, SigmaStatus.UNSUPPORTED),
        },
    )


def _name(rule: AnyRule) -> str:
    file = _file(rule)
    return rule.title or rule.name or (file.stem if file else "text")


def _file(rule: AnyRule) -> Path | None:
    return rule.source.path if rule.source else None


def _message(error: Exception) -> str:
    """The message of an error of pySigma, without the path of the file."""
    return str(error.args[0]) if error.args else type(error).__name__
