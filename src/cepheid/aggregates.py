"""The registry of aggregates over the events of a Kleene variable.

An entry describes all that cepheid needs to know about an aggregate: which values it takes, its
definition, the running values that native code keeps for it, and how results are computed from
columns. To add one, write an entry and put it into ``AGGREGATES``.

Nulls are left out before an aggregate sees the values. Over no values it is null, unless the entry
says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.schema import ORDERED, Kind, with_article

FIRST, LAST, MIN, MAX, SUM, TOTAL, COUNT = "first", "last", "min", "max", "sum", "total", "count"
DEVIATIONS = "deviations"
"""The folds: the running values that native code keeps while a list grows.

``total`` is the sum as a float, also where a sum of integers does not fit into 64 bits.
``deviations`` is the sum of the squared deviations from the mean.
"""

COUNT_DISTINCT = "count distinct"
"""The name of ``count(DISTINCT …)``."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate: what it takes, what it is, and how it is computed.

    Args:
        name: what a query calls it.
        python: its definition, over a list of values that is not empty.
        refusal: why it does not take values of a kind, or None.
        kind: the kind of its result, for values of a kind.
        folds: the running values that it is computed from in native code; none if it needs all
            values together.
        native: the generated expression of its value, from those of the folds, as floats; None
            where it is the value of its only fold.
        arrow: the name of the aggregate in Arrow, or None where ``columns`` computes it.
        columns: its values for many lists, from the columns of the folds, as floats.
        lists: its values for many lists, from their lengths and values, without nulls, as floats.
        of_nothing: its value over no values.
    """

    name: str
    python: Callable[[list[Any]], Any]
    refusal: Callable[[Kind], str | None]
    kind: Callable[[Kind], Kind]
    folds: tuple[str, ...]
    native: Callable[..., str] | None = None
    arrow: str | None = None
    columns: Callable[[Mapping[str, Any]], Any] | None = None
    lists: Callable[[Any, Any], Any] | None = None
    of_nothing: Any = None

    @property
    def compares(self) -> bool:
        """Whether its running values depend on the order of values."""
        return bool({MIN, MAX} & set(self.folds))


def _any_kind(_kind: Kind) -> str | None:
    return None


def _same(kind: Kind) -> Kind:
    return kind


def _ordered(name: str) -> Callable[[Kind], str | None]:
    def refusal(kind: Kind) -> str | None:
        if kind.is_number or kind in ORDERED:
            return None
        return f"{with_article(kind)} has no order, and so no {name}"

    return refusal


def numbers_only(name: str) -> Callable[[Kind], str | None]:
    """The refusal of an aggregate that takes numbers."""

    def refusal(kind: Kind) -> str | None:
        if kind.is_number or kind is Kind.UNKNOWN:
            return None
        return f"{name} is over numbers, and this is {with_article(kind)}"

    return refusal


def _variance(values: list[Any]) -> float | None:
    """The variance of a sample, in one pass as native code computes it."""
    mean, deviations = float(values[0]), 0.0
    for number, value in enumerate(values[1:], start=2):
        before, mean = mean, mean + (float(value) - mean) / number
        deviations += (float(value) - before) * (float(value) - mean)
    return deviations / (len(values) - 1) if len(values) > 1 else None


def _stddev(values: list[Any]) -> float | None:
    variance = _variance(values)
    return None if variance is None else math.sqrt(variance)


def _native_variance(deviations: str, count: str) -> str:
    return f"({deviations} / max({count} - 1.0, 1.0) if {count} > 1.0 else math.nan)"


def _median(values: list[Any]) -> float:
    ordered, middle = sorted(map(float, values)), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _medians(lengths: Any, values: Any) -> Any:
    import numpy as np

    ends = np.cumsum(lengths)
    values = values[np.lexsort((values, np.repeat(np.arange(len(lengths)), lengths)))]
    low, high = ends - lengths + (lengths - 1) // 2, ends - lengths + lengths // 2
    some = lengths > 0
    found = np.full(len(lengths), np.nan)
    is_odd = lengths[some] % 2 == 1
    sums = (values[low[some]] + values[high[some]]) / 2
    found[some] = np.where(is_odd, values[low[some]], sums)
    return found


AGGREGATES: dict[str, Aggregate] = {
    each.name: each
    for each in (
        Aggregate("min", min, _ordered("min"), _same, (MIN,), arrow="min"),
        Aggregate("max", max, _ordered("max"), _same, (MAX,), arrow="max"),
        Aggregate("sum", sum, numbers_only("sum"), _same, (SUM,), arrow="sum"),
        Aggregate(
            "avg",
            lambda values: sum(values) / len(values),
            numbers_only("avg"),
            lambda _: Kind.FLOAT,
            (TOTAL, COUNT),
            # The count is positive if there is a total.
            lambda total, count: f"{total} / max({count}, 1.0)",
            arrow="mean",
        ),
        Aggregate(
            "count", len, _any_kind, lambda _: Kind.INTEGER, (COUNT,), arrow="count", of_nothing=0
        ),
        Aggregate(
            COUNT_DISTINCT,
            lambda values: len({*values}),
            _any_kind,
            lambda _: Kind.INTEGER,
            (),
            arrow="count_distinct",
            of_nothing=0,
        ),
        Aggregate(
            "variance",
            _variance,
            numbers_only("variance"),
            lambda _: Kind.FLOAT,
            (DEVIATIONS, COUNT),
            _native_variance,
            arrow="variance",
        ),
        Aggregate(
            "stddev",
            _stddev,
            numbers_only("stddev"),
            lambda _: Kind.FLOAT,
            (DEVIATIONS, COUNT),
            lambda *folds: f"math.sqrt({_native_variance(*folds)})",
            arrow="stddev",
        ),
        Aggregate(
            "median",
            _median,
            numbers_only("median"),
            lambda _: Kind.FLOAT,
            (),
            lists=_medians,
        ),
        Aggregate("first", lambda values: values[0], _any_kind, _same, (FIRST,)),
        Aggregate("last", lambda values: values[-1], _any_kind, _same, (LAST,)),
    )
}
"""All aggregates, by name."""

BUILT_IN = frozenset(AGGREGATES)
