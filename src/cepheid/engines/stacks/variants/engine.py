"""Instance stacks with other options than the default: what [Wu06 §4, §5] compares them with."""

from __future__ import annotations

import numpy as np

from cepheid.engines.base.engine import EngineTask, Restored
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.options import BASIC
from cepheid.engines.stacks.engine import InstanceStacksEngine
from cepheid.engines.stacks.layout import NONE, VariantState
from cepheid.engines.stacks.tables import InstanceStacks
from cepheid.events.arrays import grown, int64s
from cepheid.snapshot_checks import ROW, Expected, check_arrays, expected, require
from cepheid.snapshots import Arrays


class VariantStacksEngine(InstanceStacksEngine):
    """Stacks with the construction, equivalence tests and window of the options.

    ``construction``: ``basic`` finds the stacks in a runtime stack. ``equivalence``:
    ``multi_pais`` partitions the stacks by every key, ``pais`` by the first one, ``selection`` by
    none; all three test the other keys on whole sequences. ``window``: ``construction`` tests it
    in the search only, ``selection`` on whole sequences.
    """

    def __init__(self, stacks: InstanceStacks, task: EngineTask) -> None:
        super().__init__(stacks, task)
        size, keys = len(self._pool.instances), self._other_keys
        self._variant = VariantState(
            np.zeros((size, keys), dtype=np.int64),
            np.zeros((keys, 0), dtype=np.int64),
            int64s(size if self._plan["basic"] else 0),
            np.zeros((3, self._components), dtype=np.int64),
        )

    def _planned(self) -> Rows:
        options = self._task.options
        plan = super()._planned()
        row = plan[0]
        row["window_in_scan"] = options.window == "scan"
        row["window_in_construction"] = options.window != "selection"
        row["pushed"] &= options.equivalence != "selection" or self._task.by_partition
        row["dynamic"] = options.equivalence == "dynamic"
        row["multi"] = options.equivalence == "multi_pais" and len(self._keys) > 1
        row["basic"] = options.construction == BASIC
        return plan

    def _can_be_plain(self) -> bool:
        searches = not self._plan["basic"] and bool(self._plan["window_in_construction"])
        return searches and super()._can_be_plain()

    @property
    def _other_keys(self) -> int:
        """The number of keys after the first that have their own stacks."""
        return self._tested_keys if self._plan["multi"] else 0

    @property
    def _has_movable_partitions(self) -> bool:
        return super()._has_movable_partitions and not self._plan["basic"]

    def _grow_stacks(self, partitions: int) -> None:
        super()._grow_stacks(partitions)
        if self._other_keys:
            known = self._variant.other_stacks
            most = max(self._keys.counts[1:]) * self._components
            if most > known.shape[1]:
                larger = np.full((len(known), 2 * most), NONE, dtype=np.int64)
                larger[:, : known.shape[1]] = known
                self._variant = self._variant._replace(other_stacks=larger)

    def _resize(self, size: int) -> None:
        super()._resize(size)
        self._variant = self._variant._replace(
            others=grown(self._variant.others, size),
            cells=grown(self._variant.cells, size if self._plan["basic"] else 0),
        )

    def state(self) -> Arrays:
        """The stacks as arrays, for a snapshot, without the instances outside the window."""
        kept = super().state()
        used = len(kept["instances"])
        return kept | {
            "others": self._variant.others[:used],
            "cells": self._variant.cells[:used],
            "other_stacks": self._variant.other_stacks,
        }

    def _expected(self) -> dict[str, Expected]:
        keys = self._other_keys
        return super()._expected() | {
            "others": expected(np.int64, "used", keys),
            "cells": expected(np.int64, "used" if self._plan["basic"] else 0, each=(NONE, ROW)),
            "other_stacks": expected(np.int64, keys, "other_stacks", each=(NONE, "used")),
        }

    def _check(self, state: Arrays, restored: Restored) -> None:
        super()._check(state, restored)
        if self._other_keys:
            others, known = state["others"], state["other_stacks"].shape[1]
            # A mere cell is on no stack of a key; its links are those of an earlier instance.
            others[state["instances"]["stack"] % self._components == self._components - 1] = NONE
            check_arrays(
                {"others": others}, {"others": expected(np.int64, *others.shape, each=(NONE, ROW))}
            )
            stacks = (state["instance_keys"] + 1) * self._components
            require((stacks <= known).all(), "the stacks of a key are missing")

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        super().load(state, restored)
        size = len(self._pool.instances)
        self._variant = self._variant._replace(
            others=grown(state["others"], size),
            cells=grown(state["cells"], size if self._plan["basic"] else 0),
            other_stacks=state["other_stacks"],
        )
