"""The runs of one automaton: fed with batches, gives the matches of the positive components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.codegen.generated import predicate_address
from cepheid.codegen.layout import ANY, NONE, TAG_SHIFT, UNBOUNDED
from cepheid.codegen.steps import NfaB, step_tables
from cepheid.engines.base.engine import Chunk, Engine, EngineTask, Restored
from cepheid.engines.base.kernels import links
from cepheid.engines.base.layout import Rows
from cepheid.engines.base.options import MERGING
from cepheid.engines.base.registers import Registers
from cepheid.engines.nfa_b import layout
from cepheid.engines.nfa_b.kernels import advance, memory, stored
from cepheid.engines.nfa_b.layout import Batch, Merging, Output, State, Tables
from cepheid.errors import LimitError
from cepheid.events.arrays import Int64s, address_of, grown, int64s, lent_numbers
from cepheid.jit.drive import Drive
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.matches.bindings import Bindings
from cepheid.matches.layout import (
    FINAL,
    LAST_OF_RUN,
    NO_PRUNING,
    NODE,
    ONE_OF_PARTITION,
    Chains,
    Counting,
)
from cepheid.matches.match_columns import MatchLister
from cepheid.matches.metrics import EngineMetrics, bytes_of
from cepheid.snapshot_checks import FAR, Expected, check_arrays, expected, require
from cepheid.snapshots import Arrays, part, prefixed
from cepheid.tuning import tuning


class NfaBEngine(Engine):
    """Holds the state of all runs between batches.

    With the algorithm ``merging``, runs that have become equivalent are merged
    [Agrawal08 §5.2.2]. An engine can prune: a match ends all runs of its partition, or its own run,
    or replaces the match that its run has found before.
    """

    closes_edges = True

    def __init__(self, automaton: NfaB, task: EngineTask) -> None:
        by_partition = automaton.lists_by_partition
        super().__init__(automaton.partition_attributes, reads_partitions=by_partition)
        max_runs = task.options.max_runs
        # A match prunes the runs of its partition if runs are listed by what must not overlap.
        tests = tuple(test.attribute for test in task.query.equivalences)
        listed_by = automaton.partition_attributes if by_partition else ()
        self.automaton = automaton
        self._lister = MatchLister([step.component for step in automaton.steps])
        self._drive = Drive()
        self._keeps_all = task.keeps_all
        self._by_partition = task.by_partition
        self._max_runs = max_runs
        self._next_event = 0
        self._registers = Registers(automaton, tuning().first_runs)
        self._tests = [
            test for step in automaton.steps for test in (step.begin_test, step.take_test)
        ]
        steps = step_tables(automaton.steps, automaton.columns)
        self._tables = Tables(*steps, self._registers.context)
        few = UNBOUNDED if task.keeps_all else layout.FEW_RUNS
        until = np.array(automaton.read_until, dtype=np.int64)
        self._merging = Merging(until=until, few=few)
        control = np.zeros(1, dtype=layout.CONTROL)
        control["strategy"] = automaton.strategy
        control["window"] = task.window
        control["counts"] = task.counts
        prunes_all = task.prunes != ONE_OF_PARTITION or tests == listed_by
        control["prunes"] = task.prunes if prunes_all else NO_PRUNING
        control["max_runs"] = UNBOUNDED if max_runs is None else max_runs
        control["merging"] = task.options.algorithm == MERGING
        control["free"] = NONE
        control["predicate"] = predicate_address(automaton.source)
        control["context"] = address_of(self._registers.context)
        self._state = State(
            control=control,
            # Memory that was used before has its pages; nodes are written before they are read.
            nodes=lent_numbers(tuning().first_nodes * NODE.itemsize // 8).view(NODE),
        )
        self._out = Output(
            finals=np.zeros(tuning().final_nodes, dtype=FINAL),
            evaluations=int64s(max(automaton.predicate_count, 1)),
            counting=Counting.of(tuning().first_nodes) if task.counts else Counting(),
            pace=self._drive.pace,
        )
        self._grow_runs(tuning().first_runs)

    @property
    def _control(self) -> npt.NDArray[np.void]:
        return self._state.control

    @property
    def counted(self) -> float:
        """The number of matches, for an engine that counts; exact below 2 ** 53."""
        return float(self._control[0]["counted"])

    def feed(self, chunk: Chunk, first_event: int) -> Iterator[Bindings]:
        """Read a chunk; the matches that it completes, in blocks."""
        batch, at = self._begin_batch(chunk), int64s(layout.AT_FIELDS)
        self._merging = self._merging._replace(closing=chunk.closing, at=at)
        yield from self._drive(
            lambda: advance.advance_runs(
                self._tables, self._state, self._merging, batch, at, self._out
            ),
            {
                layout.NEED_RUNS: lambda: self._make_room_for_runs(
                    None if at[layout.AT_RUN] else int(batch.axis[at[layout.AT_EVENT]])
                ),
                layout.NEED_NODES: lambda: self._make_room_for_nodes(first_event),
                layout.NEED_FINALS: lambda: self._make_room_for_finals(first_event),
                layout.TOO_MANY_RUNS: lambda: self._expire_or_fail(int(batch.axis[at[0] - 1])),
            },
        )
        yield from self._listed(first_event)

    def _begin_batch(self, chunk: Chunk) -> Batch:
        """Let predicates read a chunk; its events as kernels read them."""
        self._grow_partitions(chunk.partitions)
        events, registers = chunk.events, self._registers
        registers.read(events)
        control = self._control[0]
        control["base_event"] = events.first_event
        self._next_event = events.first_event + len(events)
        mask = events.mask(self._tests, int(control["predicate"]), registers.context)
        return Batch(mask, chunk.partition_of, chunk.axis, chunk.closing)

    def _listed(self, first_event: int) -> Iterator[Bindings]:
        """The matches of the finals that the runs have written, in blocks."""
        chains, control = self.buffer, self._control[0]
        if not len(chains.finals) or self._keeps_all:
            return
        control["finals"] = 0
        if control["prunes"] == LAST_OF_RUN:
            self._state.latest.fill(NONE)
        for block in self._lister.blocks(chains, first_event, self._next_event):
            control["matches_found"] += len(block)
            control["ids_found"] += block.events
            yield block

    def _longest(self, kept: int) -> int:
        """The most events that a match can have, where this many events are kept.

        Runs that merge forever get ever longer, with events that have left the window.
        """
        return min(int(self._control[0]["longest"]), kept) + 1

    @property
    def buffer(self) -> Chains:
        """The nodes and finals of the runs."""
        control = self._control[0]
        base = int(control["base_node"])
        nodes = self._state.nodes[: int(control["top_node"]) - base]
        finals = self._out.finals[: int(control["finals"])]
        return Chains(nodes, finals, base, self._longest(len(nodes)))

    def used_partitions(self, now: int) -> Int64s:
        """For each partition 1 if it has runs."""
        memory.expire_runs(self._state, now, self._by_partition)
        return np.asarray(self._state.partitions["first"] >= 0, dtype=np.int64)

    def renumber_partitions(self, numbers: Int64s) -> None:
        """Give the runs of partition p to partition ``numbers[p]``."""
        partitions = self._state.partitions
        kept = partitions[: len(numbers)][numbers[: len(partitions)] >= 0]
        self._state = self._state._replace(partitions=kept)

    def state(self) -> Arrays:
        """All runs and what they share as arrays, for a snapshot; dead nodes are left out."""
        self._drop_nodes()
        kept = self._control.copy()
        kept["predicate"] = kept["context"] = 0  # an address means nothing elsewhere
        return {
            "control": kept,
            "runs": self._state.runs,
            "nodes": self.buffer.nodes,
            "partitions": self._state.partitions,
            "evaluations": self._out.evaluations,
            **prefixed("registers", self._registers.state()),
        }

    def load(self, state: Arrays, restored: Restored) -> None:
        """Take the state of a snapshot; addresses in it are those of this process."""
        self._check(state, restored)
        control, runs = state["control"], state["runs"]
        for name in ("predicate", "context", "max_runs"):
            control[name] = self._control[name]
        control["stamp"] = 0
        self._registers.load(part("registers", state))
        self._state = self._state._replace(
            control=control,
            runs=runs,
            latest=np.full(len(runs), NONE),
            registers=self._registers.arrays,
            partitions=state["partitions"],
            nodes=grown(state["nodes"], max(2 * len(state["nodes"]), tuning().first_nodes)),
        )
        self._out = self._out._replace(evaluations=state["evaluations"])
        self._clear_slots()

    def _expected(self) -> dict[str, Expected]:
        """The arrays of a snapshot."""
        steps = len(self.automaton.steps)
        return {
            "control": expected(
                layout.CONTROL, 1, finals=(0, 1), top_node=(0, FAR), base_node=(0, FAR),
                longest=(0, FAR), free=(NONE, "runs"),
            ),
            "runs": expected(
                layout.RUN, "runs", state=(layout.FREE, 2 * steps), next=(NONE, "runs")
            ),
            "nodes": expected(NODE, "nodes"),
            "partitions": expected(layout.PARTITION, "partitions", first=(NONE, "runs")),
            "evaluations": expected(np.int64, len(self._out.evaluations)),
            **prefixed("registers", self._registers.expected("runs")),
        }  # fmt: skip

    def _check(self, state: Arrays, restored: Restored) -> None:
        """Refuse a state that no engine can have stored."""
        check_arrays(state, self._expected())
        control, runs, partitions = state["control"][0], state["runs"], state["partitions"]
        for name in ("strategy", "window", "counts", "prunes", "merging"):
            require(control[name] == self._control[0][name], f"{name} is {control[name]}")
        firsts = np.append(partitions["first"], control["free"])
        list_of, lengths = np.full(len(runs), NONE), int64s(len(firsts))
        are_lists = links.follow_lists(firsts, runs["next"].copy(), list_of, lengths)
        require(are_lists and (list_of >= 0).all(), "runs are in no list, or in two")
        is_live = list_of < len(partitions)
        require(((runs["state"] >= 0) == is_live).all(), "a free run is in use")
        require((partitions["live"] == lengths[:-1]).all(), "partitions have other runs")
        require(control["live"] == np.count_nonzero(is_live), "there are other runs")
        require(not lengths[restored.partitions : -1].any(), "runs are in an unknown partition")
        self._check_chains(state, runs[is_live], restored)

    def _check_chains(self, state: Arrays, live: Rows, restored: Restored) -> None:
        """Refuse live runs that have selected no events in order."""
        control, nodes, events = state["control"][0], state["nodes"], restored.events
        base, tags = int(control["base_node"]), nodes["tag"][nodes["tag"] >= 0]
        require(control["top_node"] - base == len(nodes), "nodes are missing")
        component = tags & ((1 << TAG_SHIFT) - 1)
        require((component < len(self.automaton.steps)).all(), "a node has an unknown component")
        require((tags >> TAG_SHIFT < events.stop).all(), "a node has an unknown event")
        measured = np.zeros(len(nodes), dtype=stored.CHAIN)
        is_kleene = self._tables.steps["is_kleene"].astype(np.int64)
        stored.measure_nodes(nodes, base, is_kleene, events.start, restored.edge, measured)
        places = live["head"] - base
        require(((places >= 0) & (places < len(nodes))).all(), "a run has no events")
        chains, inside = measured[places], live["state"] & 1
        are_chains = (chains["length"] <= live["length"]) & (live["length"] <= control["longest"])
        are_chains &= chains["component"] == (live["state"] >> 1) - 1 + inside
        are_chains &= nodes["youngest"][places] == live["start"]
        if not control["merging"]:
            are_chains &= (live["root"] >= base) & (live["root"] <= chains["root"])
        require(are_chains.all(), "a run has events in no order")

    def _make_room_for_runs(self, now: int | None) -> None:
        """Free expired runs, unless an event is being read, and add runs if there are few."""
        before = int(self._control[0]["live"])
        if now is not None:
            self._expire_or_fail(now)
        if before - self._control[0]["live"] <= len(self._state.runs) // 4:
            self._grow_runs(2 * len(self._state.runs))

    def _expire_or_fail(self, now: int) -> None:
        """Free the runs that have expired; there must not be too many others."""
        memory.expire_runs(self._state, now, self._by_partition)
        control = self._control[0]
        if control["live"] <= control["max_runs"]:
            return
        component = self.crowded()
        assert component is not None
        raise LimitError(
            f"there are more than {self._max_runs} runs, most of them at "
            f"'{print_pattern(component)}'; a shorter window, an equivalence test such as [id], a "
            "condition on that component or skip_till_next_match makes them fewer, and max_runs "
            "allows more"
        )

    def live_starts(self) -> Int64s | None:
        """The first events of all runs; under skip_till_any_match they are not worth a search."""
        control, runs = self._control[0], self._state.runs
        if control["strategy"] == ANY:
            return None
        self._drop_nodes()
        nodes = self.buffer.nodes
        if control["merging"]:
            roots = nodes[(nodes["previous"] == NONE) & (nodes["tag"] >= 0)]
        else:
            roots = nodes[runs["root"][runs["state"] >= 0] - control["base_node"]]
        return np.unique(roots["tag"] >> TAG_SHIFT)

    def crowded(self) -> ast.Component | None:
        """The component at which most runs are."""
        states = self._state.runs["state"]
        components, counts = np.unique(states[states >= 0] >> 1, return_counts=True)
        if not len(components):
            return None
        place = min(int(components[counts.argmax()]), len(self.automaton.steps) - 1)
        return self.automaton.steps[place].component

    def _grow_runs(self, size: int) -> None:
        old = len(self._state.runs)
        runs = grown(self._state.runs, size)
        added = runs[old:]
        added["state"] = layout.FREE
        added["next"] = np.arange(old + 1, size + 1)
        added["next"][-1] = self._control[0]["free"]
        self._control[0]["free"] = old
        self._registers.resize(size)
        self._state = self._state._replace(
            runs=runs,
            registers=self._registers.arrays,
            latest=np.concatenate([self._state.latest, np.full(size - old, NONE)]),
        )
        self._clear_slots()

    def _clear_slots(self) -> None:
        """A hash table with room for all runs."""
        size = 4 * len(self._state.runs)
        self._merging = self._merging._replace(slots=int64s(size), stamps=int64s(size))

    def _make_room_for_nodes(self, first_event: int) -> Iterator[Bindings]:
        yield from self._listed(first_event)
        if self._keeps_all or self._drop_nodes() <= len(self._state.nodes) // 2:
            size = 2 * len(self._state.nodes)
            self._state = self._state._replace(nodes=grown(self._state.nodes, size))
        if self._control[0]["counts"]:
            self._out = self._out._replace(counting=Counting.of(len(self._state.nodes)))

    def _make_room_for_finals(self, first_event: int) -> Iterator[Bindings]:
        if not self._control[0]["finals"] or self._keeps_all:
            finals = self._out.finals
            self._out = self._out._replace(finals=grown(finals, 2 * len(finals)))
        return self._listed(first_event)

    def _drop_nodes(self) -> int:
        """Drop the nodes that no match to come can contain; how many there were."""
        if self._control[0]["merging"]:
            size = len(self._state.nodes)
            dropped: int = memory.keep_reachable(self._state, int64s(size), int64s(size))
        else:
            dropped = memory.drop_nodes(self._state)
        return dropped

    def _grow_partitions(self, count: int) -> None:
        old = len(self._state.partitions)
        if count > old:
            partitions = grown(self._state.partitions, max(count, 2 * old))
            partitions["first"][old:] = NONE
            self._state = self._state._replace(partitions=partitions)

    @property
    def metrics(self) -> EngineMetrics:
        """What the runs have done so far."""
        control, evaluations = self._control[0], self._out.evaluations
        return EngineMetrics(
            runs_created=int(control["runs_created"]),
            runs_merged=int(control["runs_merged"]),
            runs_expired=int(control["runs_expired"]),
            runs_peak=int(control["runs_peak"]),
            nodes_created=int(control["nodes_created"]),
            matches=int(control["matches_found"]) + int(control["counted"]),
            events_in_matches=int(control["ids_found"]),
            evaluations={edge: int(evaluations[ix]) for ix, edge in self.automaton.edges},
            seconds_matching=self._drive.seconds,
            seconds_construction=self._lister.drive.seconds,
            memory=bytes_of(
                self._state.runs,
                *self._registers.arrays,
                self._state.partitions,
                *self._buffer(),
            ),
        )

    def _buffer(self) -> Iterable[npt.NDArray[Any]]:
        """The arrays that hold the events of runs."""
        return [self._state.nodes]
