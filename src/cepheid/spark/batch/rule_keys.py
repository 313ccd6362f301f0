"""Rules that can be partitioned by the same key, so that events are shuffled once for all of them.

A rule whose events agree on several columns can be partitioned by any of them. So rules with the
tests ``[id]`` and ``[id, door]`` have one key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used
from pyspark.sql.types import StructType

from cepheid.sessions.division.keys import common_keys, depends_on_others, equivalence_keys
from cepheid.spark.batch.frames import column
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.batch.row_patterns import comparable

Member = TypeVar("Member")


@dataclass(frozen=True)
class RuleKey:
    """The columns by which the events of a rule can be partitioned.

    ``columns`` are the columns that all events of a match have in common. If there are none,
    ``by_type`` may have the column of each event type that has a common value. A rule that
    ``has_any`` partition looks at each event alone.
    """

    columns: frozenset[str] = frozenset()
    by_type: tuple[tuple[str, str], ...] = ()
    has_any: bool = False

    def values(self, schema: StructType, time: str, type: str) -> list[Column]:
        """What Spark partitions by; events that are equal in it are in the same partition."""
        if self.has_any:
            # Equal events of a rule, which their ids tell apart, stay together.
            return [column(time), column(type)]
        if self.columns:
            return [comparable(schema, name) for name in sorted(self.columns)]
        tests = [
            F.when(column(type).cast("string") == F.lit(name), comparable(schema, attribute))
            for name, attribute in self.by_type
        ]
        return [F.coalesce(*tests)] if tests else []


def key_of_query(prepared: Prepared) -> RuleKey:
    """The key of a SASE+ rule."""
    query, rule = prepared.query, prepared.planned[0].rule
    tests = equivalence_keys(query)
    if tests:
        return RuleKey(frozenset(tests))
    if depends_on_others(query.query, rule):
        return RuleKey()
    if all(
        not each.negations and [part.bounds for part in each.components] == [None]
        for each in query.alternatives
    ):
        return RuleKey(has_any=True)
    for key in common_keys(query):
        if len({*key.values()}) == 1:
            return RuleKey(frozenset(key.values()))
        return RuleKey(by_type=tuple(sorted(key.items())))
    return RuleKey()


def grouped(keys: Mapping[Member, RuleKey]) -> list[tuple[RuleKey, list[Member]]]:
    """The members that share a key: as few keys as a greedy choice finds.

    >>> one, two = frozenset(["id", "door"]), frozenset(["id"])
    >>> grouped({"p": RuleKey(one), "q": RuleKey(two), "r": RuleKey()})
    [(RuleKey(columns=frozenset({'id'}), by_type=(), has_any=False), ['p', 'q']),
     (RuleKey(columns=frozenset(), by_type=(), has_any=False), ['r'])]
    """
    found: list[tuple[RuleKey, list[Member]]] = []
    rest = {member: key for member, key in keys.items() if key.columns}
    while rest:
        counts = Counter(name for key in rest.values() for name in key.columns)
        _, chosen = min((-count, name) for name, count in counts.items())
        members = [member for member, key in rest.items() if chosen in key.columns]
        common = frozenset.intersection(*(rest[member].columns for member in members))
        found.append((RuleKey(common), members))
        rest = {member: key for member, key in rest.items() if chosen not in key.columns}
    others: dict[RuleKey, list[Member]] = {}
    for member, key in keys.items():
        if not key.columns:
            others.setdefault(key, []).append(member)
    return [*found, *others.items()]
