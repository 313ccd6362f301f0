"""Aggregates over all matches of a buffer, computed without building a match.

Every node of the buffer stands for chains of events. A node has as many chains as the nodes before
it, and its event is in all of them; so each aggregate of a node follows from those before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.matches.layout import Chains

AGGREGATIONS = ("sum", "min", "max", "avg", "count")

_VARIABLE = (1 << TAG_SHIFT) - 1


@dataclass(frozen=True, slots=True)
class Totals:
    """The values of the events of a variable in some chains.

    ``values`` is the number of values that are not null, each counted once for every chain.
    """

    chains: int = 0
    values: int = 0
    sum: int | Fraction = 0
    least: Any = None
    most: Any = None

    def __add__(self, other: Totals) -> Totals:
        """The totals of these chains and of others."""
        return Totals(
            self.chains + other.chains,
            self.values + other.values,
            self.sum + other.sum,
            _chosen(min, self.least, other.least),
            _chosen(max, self.most, other.most),
        )

    def followed_by(self, value: Any) -> Totals:
        """The totals of the same chains with one more value at the end."""
        if value is None:
            return self
        number = value if isinstance(value, int | Fraction) else 0
        return Totals(
            self.chains,
            self.values + self.chains,
            self.sum + number * self.chains,
            _chosen(min, self.least, value),
            _chosen(max, self.most, value),
        )

    def result(self, function: str) -> Any:
        """The value of an aggregate; None if there are no values."""
        if function == "count":
            return self.values
        if function in ("min", "max"):
            return _plain(self.least if function == "min" else self.most)
        if not self.values:
            return None
        return _plain(self.sum) if function == "sum" else _plain(Fraction(self.sum) / self.values)


_ONE = Totals(chains=1)


def totals_by(
    buffer: Chains, variable: int, values: Sequence[Any], group: Callable[[int], Hashable]
) -> dict[Hashable, Totals]:
    """The totals of a variable over all matches of a buffer whose nodes are all there.

    ``values`` has a value for each event. ``group`` names the group of a match by its last event.
    """

    def extended(totals: Totals, tag: int) -> Totals:
        is_wanted = tag & _VARIABLE == variable
        return totals.followed_by(values[tag >> TAG_SHIFT]) if is_wanted else totals

    nodes = buffer.nodes
    previous, tags = nodes["previous"].tolist(), nodes["tag"].tolist()
    oldest, youngest = nodes["oldest"].tolist(), nodes["youngest"].tolist()
    known: list[Totals] = []
    for before, tag in zip(previous, tags, strict=True):
        if tag >= 0:
            known.append(extended(known[before] if before >= 0 else _ONE, tag))
        else:
            known.append(known[before] + known[-1 - tag])

    def inside(head: int, after: int) -> Totals:
        """The totals of the chains of a node that start inside the window."""
        total = Totals()
        stack: list[tuple[int, tuple[int, ...]]] = [(head, ())]
        while stack:
            node, later = stack.pop()
            if node >= 0 and youngest[node] <= after:
                continue
            if node >= 0 and oldest[node] <= after:
                tag = tags[node]
                stack.append((previous[node], later if tag < 0 else (tag, *later)))
                if tag < 0:
                    stack.append((-1 - tag, later))
                continue
            found = known[node] if node >= 0 else _ONE
            for tag in later:
                found = extended(found, tag)
            total += found
        return total

    groups: dict[Hashable, Totals] = {}
    for final in buffer.finals.tolist():
        head, tag, after = final
        found = inside(head, after)
        last = tag
        if tag >= 0:
            found = extended(found, tag)
        else:
            node = head
            while tags[node] < 0:
                node = previous[node]
            last = tags[node]
        key = group(last >> TAG_SHIFT)
        groups[key] = groups.get(key, Totals()) + found
    return groups


def exact(value: Any) -> Any:
    """A value as it is added up: floats are fractions, so no digit is lost; NaN is null.

    >>> exact(0.5), exact(3), exact(float("nan"))
    (Fraction(1, 2), 3, None)
    """
    if not isinstance(value, float):
        return value
    return Fraction(value) if math.isfinite(value) else None


def _chosen(choose: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else choose(one, other)


def _plain(value: Any) -> Any:
    if not isinstance(value, Fraction):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
