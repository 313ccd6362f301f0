"""How frequent events are and how often conditions hold: counted, or given by the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cepheid.errors import OptionError, list_words
from cepheid.language import syntax as ast

HALF_LIFE = 4_096
"""After this many events, an event counts half in a running count."""


class RunningCounts:
    """Exponentially decaying counts of the events that fit each component."""

    def __init__(self, components: int) -> None:
        self.counts = [0.0] * components
        self.seen = 0.0

    def add(self, counts: Sequence[int], events: int) -> None:
        """Add the number of new events that fit each component.

        >>> running = RunningCounts(2)
        >>> running.add([3, 1], 4)
        >>> running.rates()
        [0.75, 0.25]
        """
        kept = 0.5 ** (events / HALF_LIFE)
        self.counts = [kept * old + new for old, new in zip(self.counts, counts, strict=True)]
        self.seen = kept * self.seen + events

    def rates(self) -> list[float]:
        """The fraction of all events that fit each component."""
        return [count / max(self.seen, 1.0) for count in self.counts]


def given_rates(
    statistics: Mapping[str, float], components: Sequence[ast.Component]
) -> list[float]:
    """The number of events of each component in a window, from statistics by name or type.

    >>> from cepheid.language.parser import parse
    >>> parts = [part for part, _ in ast.components(parse("PATTERN SEQ(A a, B b)").pattern)]
    >>> given_rates({"A": 0.1, "b": 0.9}, parts)
    [0.1, 0.9]
    """
    rates = []
    for component in components:
        names = [component.variable] if component.variable in statistics else component.types
        lacking = [name for name in names if name not in statistics]
        if lacking:
            raise OptionError(
                f"statistics do not say how many events of {list_words(lacking)} a window has; "
                "give a number for every type or variable of the pattern"
            )
        rates.append(float(sum(statistics[name] for name in names)))
    return rates


def is_condition(name: str) -> bool:
    """Whether a name in statistics is a condition: a condition has an attribute, a type does not.

    >>> is_condition("a.x < b.x"), is_condition("SHELF-READING")
    (True, False)
    """
    return "." in name


def given_part(statistics: Mapping[str, float], condition: str) -> float | None:
    """The given fraction of pairs of events that satisfy a condition, or None.

    >>> given_part({"a.x  <  b.x": 0.2}, "a.x < b.x")
    0.2
    """
    for name, part in statistics.items():
        if is_condition(name) and " ".join(name.split()) == condition:
            return float(part)
    return None


def check_conditions(statistics: Mapping[str, float], conditions: Iterable[str]) -> None:
    """Refuse statistics about a condition that the query does not have.

    >>> check_conditions({"a.x < b.y": 0.2}, ["a.x < b.x"])
    Traceback (most recent call last):
        ...
    cepheid.errors.OptionError: statistics are about 'a.x < b.y', which is no condition of ...
    """
    known = list(dict.fromkeys(conditions))
    for name in filter(is_condition, statistics):
        if " ".join(name.split()) not in known:
            among = list_words([repr(each) for each in known])
            has = f"; there {'is' if len(known) == 1 else 'are'} {among}" if known else ""
            raise OptionError(
                f"statistics are about {name!r}, which is no condition of the query{has}"
            )


def check_statistics(given: Any) -> None:
    """Refuse statistics that are not a mapping of names to numbers."""
    if not isinstance(given, Mapping):
        raise OptionError(
            "statistics are a mapping of types or variables to how many events of them a window "
            f"has, and of conditions to how often they hold, not {type(given).__name__}"
        )
    for name, rate in given.items():
        is_number = isinstance(rate, int | float) and not isinstance(rate, bool)
        if isinstance(name, str) and is_condition(name):
            if not is_number or not 0 <= rate <= 1:
                raise OptionError(
                    f"how many pairs of events satisfy {name!r} is a number from 0 to 1, "
                    f"not {rate!r}"
                )
            continue
        if not isinstance(name, str) or not is_number or not 0 <= rate < float("inf"):
            raise OptionError(
                f"how many events of {name!r} a window has is a number of 0 or more, not {rate!r}"
            )
