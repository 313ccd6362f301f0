"""A set of rules in a Python worker of Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from cepheid.errors import CepheidWarning
from cepheid.language.limits import NO_LIMITS
from cepheid.rule_sets.rule import Rule
from cepheid.rule_sets.rule_set import RuleSet
from cepheid.spark.worker.alerts import alerts
from cepheid.spark.worker.partition_run import pieces
from cepheid.spark.worker.worker_settings import Additions, begin_worker, memory_here

GROUP = "cepheid group"
"""The column with the number of the key by which a copy of an event is partitioned."""


@dataclass(frozen=True)
class RuleGroup:
    """Rules that are partitioned by the same key, and the columns that they need."""

    rules: tuple[Rule, ...]
    columns: tuple[str, ...]
    additions: tuple[Additions, ...]

    def compiled(self) -> RuleSet:
        """The rules, compiled in this process."""
        begin_worker(self.additions)
        # The driver has checked the limits that the user gave.
        return RuleSet(self.rules, NO_LIMITS)


@dataclass(frozen=True)
class RuleTask:
    """What a worker runs: groups of rules, the keywords of ``match``, and the columns it sends."""

    groups: Sequence[RuleGroup]
    keywords: Mapping[str, Any]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches among the events of a partition: group by group, in time order within."""
        keywords = {**self.keywords, "max_memory": memory_here(self.keywords.get("max_memory"))}
        for number, parts in groupby(pieces(batches, GROUP), key=itemgetter(0)):
            group = self.groups[number]
            table = pa.Table.from_batches([part for _, part in parts]).select(group.columns)
            rules = group.compiled()
            with quietly():
                found = rules.match(table, **keywords)
            yield from alerts(found, self.schema)


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of faults, which are rows of the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        yield
