"""Active instance stacks over a stream: fed with chunks, they find the matches of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from cepheid.codegen.generated import predicate_address
from cepheid.codegen.steps import step_tables
from cepheid.engines.base.engine import Chunk, Engine, EngineTask, Restored, StandingStacks
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.registers import Registers
from cepheid.engines.stacks.kernels.plain_scan import advance_plain_stacks
from cepheid.engines.stacks.kernels.pool import drop_instances
from cepheid.engines.stacks.kernels.scan import advance_stacks
from cepheid.engines.stacks.keys import Keys
from cepheid.engines.stacks.layout import (
    INSTANCE,
    MOST_INSTANCES,
    NEED_OUTPUT,
    NEED_ROOM,
    NONE,
    PLAN,
    SPAN,
    STATE,
    UNUSED,
    Batch,
    Pool,
    Search,
    State,
    Tables,
    VariantState,
)
from cepheid.engines.stacks.stored import check_links
from cepheid.engines.stacks.tables import InstanceStacks
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, address_of, grown, int64s
from cepheid.jit.drive import Drive
from cepheid.matches.bindings import Bindings
from cepheid.matches.match_columns import BlockMemory, width_of
from cepheid.matches.metrics import EngineMetrics, bytes_of
from cepheid.snapshot_checks import FAR, ROW, Expected, check_arrays, expected, require
from cepheid.snapshots import Arrays
from cepheid.tuning import tuning


class InstanceStacksEngine(Engine):
    """Keeps the stacks between chunks.

    The first equivalence key is pushed into the scan and partitions the stacks; the search tests
    the others (dynamic filtering) [Wu06 §4.2]. If the window counts the events of a partition, the
    stacks are partitioned as it counts.
    """

    def __init__(self, stacks: InstanceStacks, task: EngineTask) -> None:
        self._compiled = stacks
        self._task = task
        self._components = count = len(stacks.steps)
        self._keys = Keys(stacks, task.by_partition, task.options.domains)
        super().__init__(stacks.partition_attributes, reads_partitions=self._keys.are_partitions)
        # All instances of a stack are in the same partition of the negated components.
        is_default = type(self) is InstanceStacksEngine
        same = self._keys.are_partitions or not stacks.partition_attributes
        self.closes_edges = is_default and same
        self._registers = Registers(stacks, 1)
        self._predicate = predicate_address(stacks.source)
        self._tables = Tables(
            self._planned(), *step_tables(stacks.steps, stacks.columns), self._registers.context
        )
        self._plan["context"] = address_of(self._registers.context)
        self._is_plain = self._can_be_plain()
        self._span = np.zeros(1, dtype=SPAN)
        self._state = State(
            np.zeros(1, dtype=STATE), int64s(max(stacks.predicate_count, 1)), int64s(0), int64s(0)
        )
        self._control["level"] = NONE
        registers = self._registers.arrays
        self._search = Search(
            int64s(count), int64s(count), int64s(2 * len(self._keys) + 1), registers
        )
        shared = tuning().shared_rows if self._is_plain and count > 2 else 0
        self._older, self._newer = np.empty((2, count, shared), np.int32)
        self._pool = Pool(
            np.zeros(0, dtype=INSTANCE),
            registers.ints[:0],
            registers.floats[:0],
            int64s(0),
            np.zeros((0, self._tested_keys), dtype=np.int64),
        )
        self._variant = VariantState()
        self._resize(tuning().first_instances)
        self._memory = BlockMemory(count)
        self._drive = Drive()
        self._now: int | None = None

    def _planned(self) -> Rows:
        plan = np.zeros(1, dtype=PLAN)
        row = plan[0]
        row["window"] = self._task.window
        row["window_in_scan"] = row["window_in_construction"] = row["dynamic"] = True
        row["keys"] = len(self._keys)
        row["pushed"] = len(self._keys) > 0
        row["by_partition"] = self._task.by_partition
        row["predicate"] = self._predicate
        return plan

    def _can_be_plain(self) -> bool:
        """Whether the search tests only the window."""
        return (
            self._components > 1
            and self._keys.have_one_term
            and self._tested_keys == 0
            and not len(self._tables.updates)
        )

    @property
    def _plan(self) -> np.void:
        row: np.void = self._tables.plan[0]
        return row

    @property
    def _control(self) -> np.void:
        row: np.void = self._state.control[0]
        return row

    @property
    def _tested_keys(self) -> int:
        return int(self._plan["keys"] - self._plan["pushed"])

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; the matches that it completes, in blocks."""
        events, axis = chunk.events, chunk.axis
        self._now = int(axis[-1]) if len(axis) else self._now
        self._registers.read(events)
        self._span[0] = (events.first_event, first_event, 0)
        tests = self._compiled.tests, self._predicate, self._registers.context
        numbers, term_of = self._keys.read(events, chunk.partition_of)
        if self._is_plain:
            places, mask = events.marked(*tests)
        else:
            places, mask = int64s(0), events.mask(*tests)
        pace, closing = self._drive.pace, chunk.closing
        batch = Batch(self._span, axis, mask, places, numbers, term_of, pace, closing)
        self._grow_stacks(chunk.partitions)
        width = width_of(first_event, events.first_event + len(events))
        if self._older.dtype != width:
            self._older, self._newer = self._older.astype(width), self._newer.astype(width)
        provide: dict[int, Callable[[], Iterator[Bindings] | None]]
        provide = {NEED_OUTPUT: self._drain, NEED_ROOM: partial(self._make_room, batch)}
        yield from self._drive(partial(self._advance, batch, width), provide)
        yield from self._drain()
        self._note_peak()

    def _advance(self, batch: Batch, width: np.dtype[np.signedinteger]) -> int:
        """Read events until something is lacking; the status of the kernel."""
        self._memory.make_room(tuning().sequence_block_matches, width)
        found = self._memory.positions
        moving = self._tables, self._state, self._pool, self._search
        status: int = (
            advance_plain_stacks(*moving, batch, self._older, self._newer, found)
            if self._is_plain
            else advance_stacks(*moving, self._variant, batch, found)
        )
        return status

    def _drain(self) -> Iterator[Bindings]:
        count = int(self._control["matches"])
        if count:
            self._control["matches"] = 0
            components = [step.component for step in self._compiled.steps]
            yield Bindings.of_columns(self._memory.taken(count), None, count, components)

    # --- room

    def _grow_stacks(self, partitions: int) -> None:
        """Make room for the stacks of all partitions."""
        if not self._plan["pushed"]:
            partitions = 1
        elif not self._keys.are_partitions:
            partitions = self._keys.counts[0]
        tops, reached = self._state.tops, self._state.reached
        if partitions * self._components <= len(tops):
            return
        tops = _more(tops, 2 * partitions * self._components)
        if self._plan["by_partition"]:
            reached = _more(reached, len(tops) // self._components)
        self._state = self._state._replace(tops=tops, reached=reached)

    def _note_peak(self) -> None:
        control = self._control
        used = control["used"]
        if used > control["peak"]:
            control["peak"] = used

    def _make_room(self, batch: Batch) -> None:
        """Drop the instances that have left the window, and grow the pool if many are left."""
        self._note_peak()
        event = batch.span[0]["next"]
        self._drop(int(batch.axis[batch.places[event] if self._is_plain else event]))
        used, size = self._control["used"], len(self._pool.instances)
        if 3 * used > size - 2 * self._components:
            limit = self._task.options.max_runs
            if limit is not None and used >= limit:
                raise LimitError(
                    f"there are more than {limit} instances in the stacks; a shorter window, an "
                    "equivalence test such as [id] or a condition on a component makes them "
                    "fewer, and max_runs allows more"
                )
            self._resize(2 * size + 2 * self._components)

    def _straighten(self) -> None:
        """Bring the instances of a ring, and all links to them, into stream order."""
        head, size = int(self._control["head"]), len(self._pool.instances)
        instances, tops = np.roll(self._pool.instances, -head), self._state.tops
        for name in ("previous", "rip"):
            links = instances[name]
            links[links >= 0] = (links[links >= 0] - head) % size
            # A link to a younger instance is to a row that was overwritten.
            links[links >= np.arange(size)] = NONE
        tops[tops >= 0] = (tops[tops >= 0] - head) % size
        self._pool = self._pool._replace(instances=instances)
        self._control["head"] = size

    def _drop(self, now: int) -> None:
        if self._is_plain and self._control["head"] != self._control["used"]:
            self._straighten()
        drop_instances(
            self._tables, self._state, self._pool, self._variant, self._search.marks, now
        )

    def _resize(self, size: int) -> None:
        """Make room for this many instances."""
        if size > MOST_INSTANCES:
            raise LimitError(
                f"there are more than {MOST_INSTANCES // 2} instances in the stacks; a "
                "shorter window or a condition on a component makes them fewer"
            )
        known = len(self._pool.instances)
        self._pool = Pool(*(grown(array, size) for array in self._pool))
        self._pool.instances["start"][known:] = UNUSED
        self._search = self._search._replace(marks=np.empty(size, np.int32))

    def standing(self, now: int) -> StandingStacks:
        """The stacks at a time, without the instances that have left the window by then."""
        self._drop(now)
        keys: tuple[tuple[str, ...], ...] = ((),) * self._components
        if self._plan["by_partition"]:
            keys = (self._keys.first,) * self._components
        elif self._plan["pushed"]:
            keys = tuple((name,) for name in self._keys.first)
        return StandingStacks(self._pool.instances[: self._control["used"]].copy(), keys)

    # --- renumbered partitions

    @property
    def _has_movable_partitions(self) -> bool:
        """Whether the stacks of one partition can get the number of another."""
        return bool(self._plan["pushed"])

    def used_partitions(self, now: int) -> Int64s:
        """For each partition of the session 1 if it has instances."""
        count = len(self._state.tops) // self._components
        if not self._has_movable_partitions:
            return np.ones(count, dtype=np.int64)
        self._drop(now)
        used = int64s(count)
        used[self._pool.instances["stack"][: self._control["used"]] // self._components] = 1
        return used

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the stacks of partition p to partition ``numbers[p]``."""
        if not self._has_movable_partitions:
            return
        components, state = self._components, self._state
        stacks = self._pool.instances["stack"][: self._control["used"]]
        stacks[:] = numbers[stacks // components] * components + stacks % components
        kept = np.flatnonzero(numbers[: len(state.tops) // components] >= 0)
        tops = state.tops.reshape(-1, components)[kept].ravel()
        reached = state.reached[kept] if len(state.reached) else state.reached
        self._state = state._replace(tops=tops, reached=reached)

    # --- snapshots

    def state(self) -> Arrays:
        """The stacks as arrays, for a snapshot, without the instances outside the window."""
        if self._now is not None:
            self._drop(self._now)
        used = int(self._control["used"])
        return {
            "state": self._state.control,
            "evaluations": self._state.evaluations,
            "stacks": self._state.tops,
            "reached": self._state.reached,
            **{name: array[:used] for name, array in self._pool._asdict().items()},
            **self._keys.state(),
        }

    def _expected(self) -> dict[str, Expected]:
        """The arrays of a snapshot, without those of the keys."""
        kept = self._registers.expected("used")
        return {
            "state": expected(STATE, 1, level=(NONE, 0), matches=(0, 1)),
            "evaluations": expected(np.int64, len(self._state.evaluations)),
            "stacks": expected(np.int64, "stacks", each=(NONE, "used")),
            "reached": expected(np.int64, "reached"),
            "instances": expected(
                INSTANCE,
                "used",
                event=(0, "next"),
                previous=(NONE, ROW),
                rip=(NONE, ROW),
                stack=(0, "stacks"),
            ),
            **{f"kept_{name}": each for name, each in kept.items()},
            "instance_keys": expected(np.int64, "used", self._tested_keys, each=(0, FAR)),
        }

    def _check(self, state: Arrays, restored: Restored) -> None:
        """Refuse a state that no engine can have stored."""
        described = self._expected() | self._keys.expected()
        # Version 0.1.0 stored the arrays of variants for all engines.
        older = VariantState._fields if type(self) is InstanceStacksEngine else ()
        state = {name: array for name, array in state.items() if name not in older}
        sizes = check_arrays(state, described, self._keys.parts, next=restored.events.stop)
        control, instances, used = state["state"][0], state["instances"], sizes["used"]
        require(control["used"] == control["head"] == used, "instances are missing")
        partitions, rest = divmod(sizes["stacks"], self._components)
        require(rest == 0, "stacks are missing")
        reached = partitions if self._plan["by_partition"] else 0
        require(sizes["reached"] == reached, "partitions are missing")
        counts = [restored.partitions] if self._keys.are_partitions else self._keys.counts
        known = counts[0] if self._plan["pushed"] else 1
        require((instances["stack"] < known * self._components).all(), "a stack has no partition")
        # The events of mere cells are unknown, and not read.
        is_cell = instances["stack"] % self._components == self._components - 1
        is_unknown = (instances["event"] < restored.events.start) & ~is_cell
        is_unknown &= instances["start"] > restored.edge
        require(not is_unknown.any(), "an instance has an unknown event")
        if not self._plan["basic"]:
            tops, starts_follow = state["stacks"], not self._plan["multi"]
            is_cut = self.closes_edges and bool(self._task.alternative.negations)
            check_links(instances, tops, self._components, starts_follow, is_cut)

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot."""
        self._keys.load(state)
        self._check(state, restored)
        self._state = State(
            *(state[name] for name in ("state", "evaluations", "stacks", "reached"))
        )
        self._pool = Pool(*(state[name] for name in Pool._fields))
        # Room for as many again, twice: a chunk may be as long as the window, or longer.
        self._resize(max(3 * len(self._pool.instances), tuning().first_instances))

    @property
    def metrics(self) -> EngineMetrics:
        """The counters of the stacks so far."""
        control = self._control
        matches = int(control["matches_found"])
        counts = self._state.evaluations
        return EngineMetrics(
            runs_peak=int(max(control["peak"], control["used"])),
            nodes_created=int(control["pushed"]),
            matches=matches,
            events_in_matches=matches * self._components,
            evaluations={edge: int(counts[ix]) for ix, edge in self._compiled.edges},
            seconds_matching=self._drive.seconds,
            sequences=int(control["constructed"]),
            memory=bytes_of(
                *self._pool,
                *self._variant,
                self._search.marks,
                self._older,
                self._newer,
                self._state.tops,
            ),
        )


def _more(tops: Int64s, size: int) -> Int64s:
    """The array with room for at least ``size`` numbers; the new ones are NONE."""
    if size <= len(tops):
        return tops
    larger = np.full(size, NONE, dtype=np.int64)
    larger[: len(tops)] = tops
    return larger
