"""Active instance stacks over a stream: fed with batches, gives the matches of a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from cepheid.codegen.generated import predicate_address
from cepheid.engines.base.engine import Chunk, Engine, EngineTask, StandingStacks
from cepheid.engines.base.event_batch import EventBatch
from cepheid.engines.base.options import BASIC
from cepheid.engines.base.registers import Registers, step_tables
from cepheid.engines.stacks import layout
from cepheid.engines.stacks.kernels import plain_scan as plain_stacks
from cepheid.engines.stacks.kernels import scan as instance_stacks
from cepheid.engines.stacks.kernels.pool import drop_instances
from cepheid.engines.stacks.plan import pushed_key
from cepheid.engines.stacks.tables import InstanceStacks
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, grown, int64s
from cepheid.events.partition_numbers import PartitionNumbers
from cepheid.matches.match_columns import BlockMemory, MatchColumns, width_of
from cepheid.matches.metrics import EngineMetrics, bytes_of
from cepheid.snapshots import Arrays, part, prefixed

_FIRST_INSTANCES = 4_096
_ROOM_MATCHES = 1 << 18
"""How many matches a block has room for."""
_SHARED_ROWS = 2_048
"""How many beginnings of the matches of one event are written once instead of searched for."""


class InstanceStacksEngine(Engine):
    """Holds the stacks between batches.

    ``by_partition`` says that the window counts the events of a partition; the stacks are then
    partitioned as it counts, whatever the options say. Of several equivalence keys the one
    with most values is pushed into the scan; how many they have is given, or counted in the
    first batch.
    """

    def __init__(self, stacks: InstanceStacks, task: EngineTask) -> None:
        window, by_partition, options = task.window, task.by_partition, task.options
        self._compiled = stacks
        self._options = options
        self._steps, self._updates = step_tables(stacks.steps, stacks.columns)
        self._tests = stacks.tests
        attributes = stacks.partition_attributes
        self._shares_partitions = by_partition or (
            len(attributes) == 1 and [{*key} for key in stacks.keys] == [{*attributes}]
        )
        self._keys = [attributes] if by_partition else list(stacks.keys)
        self._is_ordered = len(self._keys) < 2
        self._numbers = [PartitionNumbers() for _ in self._keys]
        self._plan = self._planned(window, by_partition)
        self._state = np.zeros(1, dtype=layout.STATE)
        self._state[0]["level"] = layout.NONE
        self._evaluations = int64s(max(stacks.predicate_count, 1))
        self._registers = Registers(stacks.registers, stacks.columns, stacks.constants, 1)
        self._memory = BlockMemory(len(stacks.steps))
        self._stacks = int64s(0)
        self._other_stacks = np.zeros((self._other_keys, 0), dtype=np.int64)
        self._reached = int64s(0)
        count = len(stacks.steps)
        self._is_plain = (
            count > 1
            and (self._shares_partitions or len({name for key in self._keys for name in key}) < 2)
            and self._tested_keys == 0
            and not len(self._updates)
            and not self._plan[0]["basic"]
            and bool(self._plan[0]["window_in_construction"])
        )
        self._links = np.zeros((3, count), dtype=np.int64)
        self._cursor, self._path = int64s(count), int64s(count)
        shared = _SHARED_ROWS if self._is_plain and count > 2 else 0
        self._older, self._newer = np.empty((2, count, shared), np.int32)
        self._here = int64s(2 * len(self._keys) + 1)
        self._instances = np.zeros(0, dtype=layout.INSTANCE)
        self._kept_ints = np.zeros((0, self._registers.ints.shape[1]), dtype=np.int64)
        self._kept_floats = np.zeros((0, self._registers.floats.shape[1]), dtype=np.float64)
        self._kept_valid = int64s(0)
        self._instance_keys = np.zeros((0, self._tested_keys), dtype=np.int64)
        self._others = np.zeros((0, self._other_keys), dtype=np.int64)
        self._cells = int64s(0)
        self._resize(_FIRST_INSTANCES)
        self._seconds = 0.0
        self._now: int | None = None

    def _planned(self, window: int, by_partition: bool) -> np.ndarray:
        options = self._options
        plan = np.zeros(1, dtype=layout.PLAN)
        row = plan[0]
        row["window"] = window
        row["window_in_scan"] = options.window == "scan"
        row["window_in_construction"] = options.window != "selection"
        row["pushed"] = bool(self._keys) and (options.equivalence != "selection" or by_partition)
        row["keys"] = len(self._keys)
        row["dynamic"] = options.equivalence == "dynamic"
        row["multi"] = options.equivalence == "multi_pais" and len(self._keys) > 1
        row["basic"] = options.construction == BASIC
        row["by_partition"] = by_partition
        row["predicate"] = predicate_address(self._compiled.source)
        return plan

    @property
    def _tested_keys(self) -> int:
        return int(self._plan[0]["keys"] - self._plan[0]["pushed"])

    @property
    def _other_keys(self) -> int:
        return self._tested_keys if self._plan[0]["multi"] else 0

    @property
    def partition_attributes(self) -> tuple[str, ...]:
        """Attributes in which all events of a match agree."""
        return self._compiled.partition_attributes

    @property
    def reads_partitions(self) -> bool:
        """Whether the partitions of the session are those of the stacks."""
        return self._shares_partitions

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[MatchColumns]:
        """Read a chunk; the matches that it completes, in blocks."""
        batch, axis = chunk.events, chunk.axis
        partition_of, partitions = chunk.partition_of, chunk.partitions
        columns = [batch.column(name) for name, _ in self._compiled.columns]
        self._registers.point_at(columns, batch.strings, batch.lists)
        plan, state = self._plan, self._state
        self._now = int(axis[-1]) if len(axis) else self._now
        plan[0]["context"] = self._registers.context.ctypes.data
        marking = self._tests, int(plan[0]["predicate"]), self._registers.context
        places, bits = batch.marked(*marking) if self._is_plain else (None, batch.mask(*marking))
        numbers, term_of = self._key_numbers(batch, partition_of)
        self._grow_stacks(partitions)
        at = int64s(1)
        width = width_of(first_event, batch.first_event + len(batch))
        if self._older.dtype != width:
            self._older, self._newer = self._older.astype(width), self._newer.astype(width)
        while True:
            self._memory.make_room(_ROOM_MATCHES, width)
            begun = perf_counter()
            status: int = self._advance(
                places, bits, numbers, term_of, axis, batch.first_event, first_event, at
            )
            self._seconds += perf_counter() - begun
            if status == layout.NEED_ROOM:
                self._make_room(int(axis[at[0] if places is None else places[at[0]]]))
            elif state[0]["matches"]:
                count, state[0]["matches"] = int(state[0]["matches"]), 0
                components = [step.component for step in self._compiled.steps]
                yield MatchColumns.of_columns(self._memory.taken(count), None, count, components)
            if status == layout.DONE:
                break
        state[0]["peak"] = max(state[0]["peak"], state[0]["used"])

    def _advance(
        self,
        places: Int64s | None,
        bits: Int64s,
        numbers: Int64s,
        term_of: Int64s,
        axis: Int64s,
        base_event: int,
        first_event: int,
        at: Int64s,
    ) -> Any:
        """Read events from ``at[0]`` on, until something is lacking; what it is.

        Where the events that matter are known by their ``places``, this counts these, and there
        are the ``bits`` of these only.
        """
        if places is not None:
            return plain_stacks.advance_plain_stacks(
                self._plan,
                self._state,
                self._instances,
                self._marks,
                self._stacks,
                self._reached,
                self._cursor,
                self._path,
                self._older,
                self._newer,
                numbers[0],
                self._memory.positions,
                places,
                bits,
                axis,
                len(self._steps),
                base_event,
                first_event,
                at[0],
                at,
            )
        return instance_stacks.advance_stacks(
            self._plan,
            self._state,
            self._steps,
            self._updates,
            self._registers.context,
            self._instances,
            self._kept_ints,
            self._kept_floats,
            self._kept_valid,
            self._instance_keys,
            self._others,
            self._cells,
            self._stacks,
            self._other_stacks,
            self._reached,
            self._links,
            self._cursor,
            self._path,
            self._here,
            self._registers.ints,
            self._registers.floats,
            self._registers.valid,
            numbers,
            term_of,
            self._memory.positions,
            self._evaluations,
            bits,
            axis,
            base_event,
            first_event,
            at[0],
            at,
        )

    # --- keys

    def _key_numbers(self, batch: EventBatch, partition_of: Int64s) -> tuple[Int64s, Int64s]:
        """Numbers for the values of all keys, and which of them are those of each component."""
        count = len(self._compiled.steps)
        if self._shares_partitions:
            return partition_of.reshape(1, -1), np.zeros((count, 1), dtype=np.int64)
        if not self._keys:
            return np.zeros((1, 1), dtype=np.int64), np.zeros((count, 1), dtype=np.int64)
        if not self._is_ordered and len(batch):
            self._order_keys(batch)
        rows: list[Int64s] = []
        term_of = np.zeros((count, len(self._keys)), dtype=np.int64)
        for k, key in enumerate(self._keys):
            for attribute in dict.fromkeys(key):
                term_of[[name == attribute for name in key], k] = len(rows)
                rows.append(self._numbers[k].number([batch.column(attribute)], len(batch)))
        return np.stack(rows), term_of

    def _order_keys(self, batch: EventBatch) -> None:
        """Put the key with most values first, now that there are events to count them in."""
        for key, numbers in zip(self._keys, self._numbers, strict=True):
            numbers.number([batch.column(key[0])], len(batch))
        counted = [numbers.count for numbers in self._numbers]
        best = pushed_key(self._keys, self._options.domains, counted)
        self._keys.insert(0, self._keys.pop(best))
        self._numbers.insert(0, self._numbers.pop(best))
        self._is_ordered = True

    # --- room

    def _grow_stacks(self, partitions: int) -> None:
        components = len(self._compiled.steps)
        if not self._plan[0]["pushed"]:
            partitions = 1
        elif not self._shares_partitions:
            partitions = self._numbers[0].count
        if partitions * components > len(self._stacks):
            self._stacks = _more(self._stacks, 2 * partitions * components)
        if self._plan[0]["by_partition"]:
            self._reached = _more(self._reached, len(self._stacks) // components)
        if self._other_keys:
            most = max(numbers.count for numbers in self._numbers[1:]) * components
            if most > self._other_stacks.shape[1]:
                larger = np.full((self._other_keys, 2 * most), layout.NONE, dtype=np.int64)
                larger[:, : self._other_stacks.shape[1]] = self._other_stacks
                self._other_stacks = larger

    def _make_room(self, now: int) -> None:
        state = self._state[0]
        state["peak"] = max(state["peak"], state["used"])
        self._drop(now)
        size = len(self._instances)
        if 3 * state["used"] > size - 2 * len(self._compiled.steps):
            limit = self._options.max_runs
            if limit is not None and state["used"] >= limit:
                raise LimitError(
                    f"there are more than {limit} instances in the stacks; a shorter window, an "
                    "equivalence test such as [id] or a condition on a component makes them "
                    "fewer, and max_runs allows more"
                )
            self._resize(2 * size + 2 * len(self._compiled.steps))

    def _straighten(self) -> None:
        """Bring the instances of a ring, and all that points to them, into the order they came."""
        head, size = int(self._state[0]["head"]), len(self._instances)
        self._instances = np.roll(self._instances, -head)
        for name in ("previous", "rip"):
            links = self._instances[name]
            links[links >= 0] = (links[links >= 0] - head) % size
            # What came later than that which points to it is in the place of one that is gone.
            links[links >= np.arange(size)] = layout.NONE
        tops = self._stacks
        tops[tops >= 0] = (tops[tops >= 0] - head) % size
        self._state[0]["head"] = size

    def _drop(self, now: int) -> None:
        if self._is_plain and self._state[0]["head"] != self._state[0]["used"]:
            self._straighten()
        drop_instances(
            self._plan,
            self._state,
            self._instances,
            self._kept_ints,
            self._kept_floats,
            self._kept_valid,
            self._instance_keys,
            self._others,
            self._cells,
            self._stacks,
            self._other_stacks,
            self._reached,
            self._marks,
            len(self._compiled.steps),
            now,
        )

    def _resize(self, size: int) -> None:
        known = len(self._instances)
        if size > layout.MOST_INSTANCES:
            raise LimitError(
                f"there are more than {layout.MOST_INSTANCES // 2} instances in the stacks; a "
                "shorter window or a condition on a component makes them fewer"
            )
        self._instances = grown(self._instances, size)
        self._instances["start"][known:] = layout.UNUSED
        # A number for each instance, of no use from one call of a kernel to the next.
        self._marks = np.empty(size, np.int32)
        for name in ("_kept_ints", "_kept_floats", "_kept_valid", "_instance_keys", "_others"):
            old = getattr(self, name)
            new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        if self._plan[0]["basic"]:
            self._cells = _more(self._cells, size)

    def standing(self, now: int) -> StandingStacks:
        """The stacks as they are at a time, without what has left the window by then."""
        self._drop(now)
        keys: tuple[tuple[str, ...], ...] = ((),) * len(self._compiled.steps)
        if self._plan[0]["by_partition"]:
            keys = (self._keys[0],) * len(keys)
        elif self._plan[0]["pushed"]:
            keys = tuple((name,) for name in self._keys[0])
        return StandingStacks(self._instances[: self._state[0]["used"]].copy(), keys)

    # --- partitions that have other numbers from now on

    def used_partitions(self, now: int) -> Int64s:
        """For each partition of the session 1 if it has instances."""
        components = len(self._compiled.steps)
        count = len(self._stacks) // components
        if self._plan[0]["basic"] or not self._plan[0]["pushed"]:
            return np.ones(count, dtype=np.int64)
        self._drop(now)
        used = int64s(count)
        used[self._instances["stack"][: self._state[0]["used"]] // components] = 1
        return used

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the stacks of partition p to partition ``numbers[p]``."""
        if self._plan[0]["basic"] or not self._plan[0]["pushed"]:
            return
        components = len(self._compiled.steps)
        stacks = self._instances["stack"][: self._state[0]["used"]]
        stacks[:] = numbers[stacks // components] * components + stacks % components
        kept = np.flatnonzero(numbers[: len(self._stacks) // components] >= 0)
        self._stacks = self._stacks.reshape(-1, components)[kept].ravel()
        if len(self._reached):
            self._reached = self._reached[kept]

    # --- snapshots

    def state(self) -> Arrays:
        """The stacks as arrays, for a snapshot, without what has left the window."""
        if self._now is not None:
            self._drop(self._now)
        used = int(self._state[0]["used"])
        kept = {
            "state": self._state,
            "evaluations": self._evaluations,
            "instances": self._instances[:used],
            "kept_ints": self._kept_ints[:used],
            "kept_floats": self._kept_floats[:used],
            "kept_valid": self._kept_valid[:used],
            "instance_keys": self._instance_keys[:used],
            "others": self._others[:used],
            "cells": self._cells[:used],
            "stacks": self._stacks,
            "other_stacks": self._other_stacks,
            "reached": self._reached,
            "order": np.array([self._compiled_order(key) for key in self._keys], dtype=np.int64),
            "is_ordered": np.array([self._is_ordered]),
        }
        for k, numbers in enumerate(self._numbers):
            kept |= prefixed(f"numbers{k}", numbers.state())
        return kept

    def _compiled_order(self, key: tuple[str, ...]) -> int:
        return 0 if self._shares_partitions else self._compiled.keys.index(key)

    def load(self, state: Arrays) -> None:
        """Take the state of a snapshot; addresses in it are those of this process."""
        self._state, self._evaluations = state["state"], state["evaluations"]
        if not self._shares_partitions:
            self._keys = [self._compiled.keys[ix] for ix in state["order"]]
        self._is_ordered = bool(state["is_ordered"][0])
        for name in ("instances", "kept_ints", "kept_floats", "kept_valid", "instance_keys"):
            setattr(self, f"_{name}", state[name])
        self._others, self._cells = state["others"], state["cells"]
        self._stacks, self._other_stacks = state["stacks"], state["other_stacks"]
        self._reached = state["reached"]
        # As many again and again: a batch may be as long as the window, or longer.
        self._resize(max(3 * len(self._instances), _FIRST_INSTANCES))
        for k, numbers in enumerate(self._numbers):
            numbers.load(part(f"numbers{k}", state))

    @property
    def metrics(self) -> EngineMetrics:
        """What the stacks have done so far."""
        state = self._state[0]
        matches = int(state["matches_found"])
        return EngineMetrics(
            runs_created=0,
            runs_merged=0,
            runs_expired=0,
            runs_peak=int(max(state["peak"], state["used"])),
            nodes_created=int(state["pushed"]),
            matches=matches,
            events_in_matches=matches * len(self._compiled.steps),
            evaluations={edge: int(self._evaluations[ix]) for ix, edge in self._compiled.edges},
            seconds_matching=self._seconds,
            seconds_construction=0.0,
            sequences=int(state["constructed"]),
            memory=bytes_of(
                self._instances,
                self._marks,
                self._older,
                self._newer,
                self._kept_ints,
                self._kept_floats,
                self._kept_valid,
                self._instance_keys,
                self._others,
                self._cells,
                self._stacks,
                self._other_stacks,
            ),
        )


def _more(tops: Int64s, size: int) -> Int64s:
    """The array with room for ``size`` numbers, of which the new ones are NONE."""
    larger = np.full(max(size, len(tops)), layout.NONE, dtype=np.int64)
    larger[: len(tops)] = tops
    return larger
