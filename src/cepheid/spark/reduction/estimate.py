"""How many events a reduction keeps, estimated from the first rows of the input.

The sample has the rows that Spark reads first, of one file or a few. Times tell whether these rows
are in time order: if so, their density in time is that of all events. Otherwise they are some rows
of a folder, such as of a day, and the density follows from the size of the folder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name wherever Spark is used

from cepheid.spark.batch.frames import without_pandas_warning
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.batch.slices import ticks_of
from cepheid.spark.reduction.input_plans import input_bytes
from cepheid.tuning import tuning

_COLUMN_BYTES = 3
"""The average size of a value in a compressed column."""
_IN_ORDER = 0.9
"""The least share of rows that are not before their predecessor in rows in time order."""


@dataclass(frozen=True)
class Estimate:
    """What a sample says: shares of relevant rows that are rare, and that are kept."""

    sampled: int
    relevant: int
    rare: float
    kept: float
    rare_rows: float

    @property
    def refusal(self) -> str | None:
        """Why a reduction does not pay off, or None."""
        if self.relevant < tuning().reduce_sample_least:
            return f"a sample of {self.sampled:,} rows has only {self.relevant:,} relevant ones"
        if self.rare > tuning().reduce_rare:
            return f"no component is rare: the rarest has {self.rare:.1%} of the relevant rows"
        if self.kept > tuning().reduce_kept:
            return f"about {self.kept:.0%} of the relevant rows are near rare ones"
        return None

    def __str__(self) -> str:
        return (
            f"about {self.rare:.2g} of the relevant rows are rare and {self.kept:.2g} are kept "
            f"(sample of {self.sampled:,} rows, {self.relevant:,} relevant)"
        )


@dataclass(frozen=True)
class Sample:
    """Rows of a sample that are relevant: for each condition whether it holds, keys and times.

    ``total`` is the estimated number of relevant rows, ``folders`` the number of folders of files.
    """

    sampled: int
    holds: npt.NDArray[np.bool_]
    keys: npt.NDArray[np.int64]
    ticks: npt.NDArray[np.int64]
    total: float
    folders: int

    @property
    def counts(self) -> list[int]:
        """For each condition the number of relevant rows for which it holds."""
        return [int(count) for count in self.holds.sum(axis=1)]

    def estimate(self, rarest: Sequence[int], extent: int | None, has_key: bool) -> Estimate:
        """The estimate for a reduction by events that satisfy one of the ``rarest`` conditions.

        A rare event keeps ``extent`` ticks of events, or all events of its key.
        """
        relevant = self.holds.shape[1]
        found = int(self.holds[list(rarest)].any(axis=0).sum())
        rare = min(1.0, (found + 1) / (relevant + 1))  # There may be one where none was found.
        keys = distinct_values(self.keys, self.total) if has_key else 1.0
        near = rare * self.total / keys
        if extent is not None and relevant:
            length = int(self.ticks.max()) - int(self.ticks.min()) + 1
            steps = np.diff(self.ticks)
            in_order = float((steps >= 0).mean()) >= _IN_ORDER if len(steps) else True
            rows = relevant if in_order else self.total / self.folders
            near = min(near, rare * rows / keys * min(1.0, extent / length))
        kept = max(rare, 1 - math.exp(-near))
        return Estimate(self.sampled, relevant, rare, kept, rare * self.total)


def read_sample(prepared: Prepared, events: DataFrame, conditions: Sequence[Column]) -> Sample:
    """The first rows of the input, and for each whether it is relevant and fits a condition."""
    rows = prepared.rows
    assert rows is not None
    read = {
        "relevant": rows,
        "key": F.xxhash64(*prepared.key) if prepared.key else F.lit(0).cast("long"),
        "ticks": ticks_of(prepared.axis),
        **{f"c{ix}": condition for ix, condition in enumerate(conditions)},
    }
    first = events.limit(tuning().reduce_sample)
    with without_pandas_warning():
        table = first.select(*(each.alias(name) for name, each in read.items())).toArrow()
    sampled, columns = len(table), len(events.columns)
    kept = table.filter(table["relevant"].fill_null(False)).filter(pc.field("ticks").is_valid())
    share = len(kept) / max(1, sampled)
    holds = [kept[f"c{ix}"].fill_null(False).to_numpy() for ix in range(len(conditions))]
    folders = {file.rpartition("/")[0] for file in events.inputFiles()}
    return Sample(
        sampled,
        np.array(holds, bool).reshape(len(conditions), len(kept)),
        kept["key"].to_numpy(),
        kept["ticks"].to_numpy(),
        max(1.0, share * input_bytes(events) / (_COLUMN_BYTES * columns)),
        max(1, len(folders)),
    )


def distinct_values(sample: npt.NDArray[np.int64], most: float) -> float:
    """The number of distinct values among all rows, of which a random sample is known.

    Of n values, all equally frequent, a sample of m rows has n (1 - exp(-m / n)).

    >>> round(distinct_values(np.arange(1_000) % 10, 1e6))
    10
    """
    rows, seen = len(sample), len(np.unique(sample))
    if seen == rows:
        return max(1.0, most)
    low, high = float(seen), max(float(seen), most)
    for _ in range(50):
        middle = (low + high) / 2
        if middle * -math.expm1(-rows / middle) < seen:
            low = middle
        else:
            high = middle
    return low
