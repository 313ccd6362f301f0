"""A rule: a query with a name, and what people need to know about it.

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from typing import Any

from cepheid.errors import OptionError, did_you_mean, list_words
from cepheid.language.builder import duration
from cepheid.language.naming import ParameterValue
from cepheid.visible import LONE_SURROGATE, said


@dataclass(frozen=True, slots=True)
class Rule:
    """A query with a name.

    ``query`` is the text of a SASE+ query or of ``MATCH_RECOGNIZE``. ``severity``,
    ``description`` and ``tags`` are for people, and do not change the matches. A rule that is not
    ``enabled`` does not run. ``parameters`` are the values of bare names in the query. ``output``,
    ``at_most_once_per`` and ``timed_out`` say which matches are reported, as the keywords of
    :meth:`cepheid.CompiledQuery.match` do. ``source`` is the name of the query text in messages.

    >>> Rule("theft", "PATTERN SEQ(Shelf a, Exit c)", severity="high", tags=("retail",)).severity
    'high'
    """

    name: str
    query: str
    severity: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    enabled: bool = True
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    output: str | None = None
    at_most_once_per: float | str | timedelta | None = None
    timed_out: bool | None = None
    source: str = ""

    @classmethod
    def of_fields(cls, name: str, given: Mapping[str, Any], source: str = "") -> Rule:
        """The rule with these fields, which are checked.

        Raises:
            OptionError: a field is unknown, missing or has the wrong type.
        """
        faults = list(_faults_of(name, given))
        if faults:
            raise OptionError("; ".join(faults))
        known = {key: value for key, value in given.items() if value is not None}
        known["tags"] = tuple(known.get("tags", ()))
        return cls(**{"name": name, "source": source or name, **known})

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, without those that have their default."""
        plain = asdict(self) | {"tags": list(self.tags), "parameters": dict(self.parameters)}
        gap = self.at_most_once_per
        if isinstance(gap, timedelta):
            plain["at_most_once_per"] = f"{gap // timedelta(microseconds=1)} microseconds"
        usual = {"tags": [], "parameters": {}, "enabled": True}
        return {
            key: value
            for key, value in plain.items()
            if value is not None and usual.get(key, ...) != value
        }

    def with_fields(self, given: Mapping[str, Any]) -> Rule:
        """The rule with other values of some fields; parameters that are not given stay.

        >>> Rule("r", "PATTERN A a").with_fields({"severity": "low"}).severity
        'low'
        """
        merged = {**{each: getattr(self, each) for each in FIELDS}, **given}
        if isinstance(given.get("parameters"), Mapping):
            merged["parameters"] = {**self.parameters, **given["parameters"]}
        return Rule.of_fields(self.name, merged, self.source)


FIELDS = tuple(each.name for each in fields(Rule) if each.name != "source")
"""What a user can say about a rule."""
_STRINGS = ("query", "severity", "description", "output")


def _faults_of(name: object, given: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with the fields of a rule, apart from its query."""
    for key in given:
        if key not in FIELDS:
            yield (
                f"there is no field {said(key)} of a rule; there are {list_words(FIELDS)}"
                + did_you_mean(str(key), FIELDS)
            )
    if not isinstance(name, str) or not name.strip():
        yield f"the name of a rule is a string that is not empty, not {said(name)}"
    elif given.get("name", name) != name:
        yield f"it has two names: {said(name)} and {said(given['name'])}"
    for key in _STRINGS:
        value = given.get(key)
        if value is not None and not isinstance(value, str):
            yield f"{key} is a string, not {said(value)}"
    if given.get("query") is None:
        yield "it has no query"
    tags = given.get("tags")
    if tags is not None and not (
        isinstance(tags, Sequence)
        and not isinstance(tags, str)
        and all(isinstance(each, str) for each in tags)
    ):
        yield f"tags is a list of strings, not {said(tags)}"
    strings = [
        name,
        *(given.get(key) for key in _STRINGS),
        *(tags if isinstance(tags, list) else ()),
    ]
    if any(isinstance(each, str) and LONE_SURROGATE.search(each) for each in strings):
        yield "a field has a lone surrogate, which is not a character"
    for key in ("enabled", "timed_out"):
        if not isinstance(given.get(key), bool | None):
            yield f"{key} is true or false, not {said(given[key])}"
    if not isinstance(given.get("parameters"), Mapping | None):
        yield f"parameters maps names to values, not {said(given['parameters'])}"
    gap = given.get("at_most_once_per")
    if gap is not None:
        try:
            duration(gap)
        except OptionError as error:
            yield str(error)
