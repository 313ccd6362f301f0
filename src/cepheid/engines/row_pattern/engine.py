"""Finds the matches of a row pattern in rows that are sorted by partition and order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.codegen import layout as context_layout
from cepheid.engines.row_pattern import layout
from cepheid.engines.row_pattern.kernels.search import find_matches
from cepheid.engines.row_pattern.layout import Output, Program, Search, SortedRows
from cepheid.events.arrays import Int64s, address_of, grown, int64s, zeros
from cepheid.jit.drive import Drive
from cepheid.tuning import tuning

_FIRST_LABELS = 1 << 24
"""The most labels for which there is room before the search."""
_FILLER_ENTRIES = 1 << 10
"""Failures of each filler that are kept, if rows may look alike; a power of two."""


@dataclass(frozen=True, slots=True)
class Found:
    """Matches, in the order of their first rows.

    ``opens`` has for each partition the first start whose outcome rows to come can change, and
    ``open_states`` the state in which its search waits; with complete rows, all are decided.
    ``next_numbers`` are the numbers of the next matches.
    """

    starts: Int64s
    ends: Int64s  # the labels of match m are those from ends[m - 1] to ends[m]
    numbers: Int64s
    partitions: Int64s
    labels: npt.NDArray[np.uint8]
    opens: Int64s
    open_states: Int64s
    next_numbers: Int64s

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class Stopped(Exception):
    """The search ended in an error: too many steps, or no row to skip to."""

    status: int
    row: int
    number: int
    length: int
    target: int
    tests: Int64s


class Matcher:
    """Runs the search over sorted rows.

    Args:
        program: the automaton and its conditions.
        rows: the rows; without ``context``, which :class:`Matcher` makes.
        context: what predicates read; None if there are none.
    """

    def __init__(self, program: Program, rows: SortedRows, context: Int64s | None) -> None:
        self._program = program
        self._context = context
        self._drive = Drive()
        sizes, partitions = tuning(), len(rows.first)
        states, groups = len(program.states), len(program.group_folds) - 1
        words = -(-max(states, 1) // 64)
        progress = int64s(layout.PROGRESS_FIELDS)
        progress[layout.PARTITION] = layout.NONE
        progress[layout.GENERATION] = 1
        progress[layout.MEMO_MOST] = max(sizes.memo_words // words, 1)
        progress[layout.KEYED_MOST] = sizes.memo_entries
        is_labelled = len(program.label_codes) > 0
        entries = _FILLER_ENTRIES if len(program.alike) else 1
        width = int(
            (program.variables["slots_high"] - program.variables["slots_low"]).max(initial=0)
        )
        self._search = Search(
            progress=progress,
            frames=zeros(sizes.first_frames, layout.FRAME),
            tests=int64s(len(program.variables)),
            plain=zeros((sizes.first_memo_rows, words), np.int64),
            keyed=zeros((sizes.first_memo_rows, 4 + layout.MAX_KEYS), np.int64),
            failed=zeros((states * entries, 3 + layout.MAX_KEYS), np.int64),
            counts=int64s(groups),
            slots=int64s(layout.FIRST_SLOT + width),
            slot_known=int64s(layout.FIRST_SLOT + width),
            path=int64s(len(rows.masks) if is_labelled else 0),
            key=int64s(1 + layout.MAX_KEYS),
        )
        self._search.failed[:] = layout.NONE
        self._grow_groups(sizes.first_frames if groups else 0)
        # Zeros take no memory before they are written, but they are charged.
        count = min(len(rows.masks), _FIRST_LABELS)
        size = max(sizes.first_frames, count // 4)
        self._output = Output(
            starts=int64s(size),
            ends=int64s(size),
            numbers=int64s(size),
            partitions=int64s(size),
            labels=zeros(max(sizes.first_frames, count), np.uint8),
            opens=int64s(partitions),
            open_states=int64s(partitions),
            next_numbers=int64s(partitions),
        )
        self._rows = rows
        if context is not None:
            context[context_layout.CONTEXT_SLOTS] = address_of(self._search.slots)
            context[context_layout.CONTEXT_VALID] = address_of(self._search.slot_known)
            self._rows = rows._replace(context=address_of(context))

    @property
    def seconds(self) -> float:
        """The time that the search took."""
        return self._drive.seconds

    @property
    def path(self) -> Int64s:
        """Where CLASSIFIER() is written for each row."""
        return self._search.path

    def run(self) -> Found:
        """The matches.

        Raises:
            Stopped: a search took too many steps, or there is no row to skip to.
        """
        self._drive.run(
            self._call,
            {
                layout.STACK_FULL: self._grow_stack,
                layout.LABELS_FULL: self._grow_labels,
                layout.MATCHES_FULL: self._grow_matches,
                layout.MEMO_FULL: self._grow_memo,
                layout.KEYED_FULL: self._grow_keyed,
                layout.GROUPS_FULL: lambda: self._grow_groups(2 * self._search.groups.shape[1]),
                layout.TOO_LONG: lambda: self._stop(layout.TOO_LONG),
                layout.NO_TARGET: lambda: self._stop(layout.NO_TARGET),
            },
        )
        out, progress = self._output, self._search.progress
        matches, labels = progress[layout.MATCHES], progress[layout.LABELS]
        return Found(
            starts=out.starts[:matches],
            ends=out.ends[:matches],
            numbers=out.numbers[:matches],
            partitions=out.partitions[:matches],
            labels=out.labels[:labels],
            opens=out.opens,
            open_states=out.open_states,
            next_numbers=out.next_numbers,
        )

    def _call(self) -> int:
        return int(
            find_matches(self._program, self._rows, self._search, self._output, self._drive.pace)
        )

    def _stop(self, status: int) -> None:
        search, out = self._search, self._output
        row, number, length = int(search.progress[layout.START_ROW]), 0, 0
        if status == layout.NO_TARGET:
            last = int(search.progress[layout.MATCHES]) - 1
            number, length = int(out.numbers[last]), int(out.ends[last])
            length -= int(out.ends[last - 1]) if last else 0
        target = int(search.progress[layout.NEED])
        raise Stopped(status, row, number, length, target, search.tests)

    def _grow_stack(self) -> None:
        frames = self._search.frames
        self._search = self._search._replace(frames=grown(frames, 2 * len(frames)))

    def _grow_labels(self) -> None:
        labels = self._output.labels
        size = max(2 * len(labels), int(self._search.progress[layout.NEED]))
        self._output = self._output._replace(labels=grown(labels, size))

    def _grow_matches(self) -> None:
        out = self._output
        self._output = out._replace(
            starts=grown(out.starts, 2 * len(out.starts)),
            ends=grown(out.ends, 2 * len(out.ends)),
            numbers=grown(out.numbers, 2 * len(out.numbers)),
            partitions=grown(out.partitions, 2 * len(out.partitions)),
        )

    def _grow_memo(self) -> None:
        """Leave out the rows before the start, or grow."""
        search, plain = self._search, self._search.plain
        base, start = search.progress[layout.MEMO_BASE], search.progress[layout.START_ROW]
        if 2 * (start - base) >= len(plain):
            kept = plain[start - base :].copy()
            plain[:] = 0
            plain[: len(kept)] = kept
            search.progress[layout.MEMO_BASE] = start
            high = search.progress[layout.MEMO_HIGH]
            search.progress[layout.MEMO_HIGH] = max(high, start)
            return
        size = min(2 * len(plain), int(search.progress[layout.MEMO_MOST]))
        self._search = search._replace(plain=grown(plain, max(size, len(plain) + 1)))

    def _grow_keyed(self) -> None:
        """A larger table, without what is in the smaller one."""
        search = self._search
        entries, width = search.keyed.shape
        search.progress[layout.KEYED_USED] = 0
        self._search = search._replace(keyed=zeros((2 * entries, width), np.int64))

    def _grow_groups(self, size: int) -> None:
        search, folds = self._search, int(self._program.group_folds[-1])
        groups = _widened(search.groups, len(search.counts), size)
        tables = (search.values, search.extras, search.known)
        values, extras, known = (_widened(each, folds, size) for each in tables)
        self._search = search._replace(
            groups=groups,
            values=values,
            float_values=values.view(np.float64),
            extras=extras,
            float_extras=extras.view(np.float64),
            known=known,
        )


def _widened(table: npt.NDArray[np.int64], count: int, size: int) -> npt.NDArray[np.int64]:
    """A table with ``count`` rows of ``size`` numbers that begins with the one given."""
    new = zeros((count, size), np.int64)
    if table.size:
        new[:, : table.shape[1]] = table
    return new
