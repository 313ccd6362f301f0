"""Aggregates over the rows of matches, up to each of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.engines.row_pattern.kernels.running_folds import (
    fold_labels,
    middle_ranks,
    use_first,
)
from cepheid.events.arrays import Int64s

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RunningFolds:
    """The value of a fold with each label: of a minimum or maximum, the label that has it.

    ``extras`` are not 0 where a sum of integers does not fit, and ``counts`` is how many values
    there are.
    """

    is_float: bool
    ints: Int64s
    floats: npt.NDArray[np.float64]
    extras: Int64s
    counts: Int64s

    def at(self, labels: Int64s, is_there: Bools) -> RunningFolds:
        """The values with these labels; nothing where there is none."""
        if not len(self.counts):
            nothing = np.zeros(len(labels), np.int64)
            no_floats = np.zeros(len(labels), np.float64)
            return RunningFolds(self.is_float, nothing, no_floats, nothing, nothing)
        at = np.where(is_there, labels, 0)
        return RunningFolds(
            self.is_float, self.ints[at], self.floats[at], self.extras[at],
            np.where(is_there, self.counts[at], 0),
        )  # fmt: skip


def running_folds(
    numbers: npt.NDArray[Any], use: Bools, ends: Int64s, operation: int
) -> RunningFolds:
    """Fold the numbers of each match that are used, in order."""
    is_float, count = numbers.dtype == np.float64, len(numbers)
    nothing = np.zeros(0, np.int64)
    out = [np.zeros(count, np.int64) for _ in range(3)]
    floats = np.zeros(count)
    fold_labels(
        nothing if is_float else numbers,
        numbers if is_float else nothing.view(np.float64),
        use,
        ends,
        operation,
        (out[0], floats, out[1], out[2]),
    )
    return RunningFolds(is_float, out[0], floats, out[1], out[2])


def first_uses(numbers: npt.NDArray[Any], use: Bools, ends: Int64s) -> Bools:
    """Of the labels of a match that have the same number, the first that is used."""
    codes = np.zeros(len(numbers), np.int32)
    unique, codes[use] = np.unique(numbers[use], return_inverse=True)
    first = use.copy()
    use_first(codes, first, ends, np.full(len(unique), -1, np.int64))
    return first


def running_medians(numbers: npt.NDArray[Any], use: Bools, ends: Int64s) -> RunningFolds:
    """The median of the numbers of each match that are used, up to each label."""
    count = len(numbers)
    ranks = np.zeros(count, np.int64)
    unique, ranks[use] = np.unique(numbers[use].astype(np.float64), return_inverse=True)
    lower, upper, counts = (np.zeros(count, np.int64) for _ in range(3))
    tree = np.zeros((1 << (len(unique) + 1).bit_length()) + 1, np.int64)
    middle_ranks(ranks, use, ends, tree, (lower, upper, counts))
    medians = np.zeros(count)
    some = counts > 0
    low, high = unique[lower[some]], unique[upper[some]]
    with np.errstate(invalid="ignore", over="ignore"):
        medians[some] = np.where(lower[some] == upper[some], low, (low + high) / 2)
    return RunningFolds(True, lower, medians, upper, counts)
