"""Event-based evaluation from any state: runs that begin with any component [Zhang10 §5.3]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.engines.base.kernels.conditions import Conditions, clear_registers, select_event
from cepheid.engines.imprecise import layout
from cepheid.engines.imprecise.kernels.orders import (
    UNBOUND,
    bounds_of,
    fit,
    satisfies,
    upper_confidence,
    write_signature,
)
from cepheid.engines.imprecise.layout import Batch, Int64Rows, Runs, Signatures
from cepheid.events.arrays import no_rows
from cepheid.jit.decorators import F64S, I64, I64S, helper, kernel, type_of
from cepheid.jit.drive import DONE, PAUSE


class AnyState(NamedTuple):
    """The conditions across events, and how far apart components are."""

    conditions: Conditions = Conditions()
    joint: Int64Rows = no_rows(np.int64, 2)
    apart: Int64Rows = no_rows(np.int64, 2)


@helper
def _can_follow(events, vlb, vub, slot, event, partition, query, batch):
    """Whether some event after this one can be the component that a run lacks.

    The run has met all events before it: those that fit have begun runs of their own.
    """
    places, joint, conditions = batch.candidates.places, query.joint, query.conditions
    lower, upper = batch.intervals.lower, batch.intervals.upper
    low, high = bounds_of(events, vlb, vub, slot, query.apart)
    begin = batch.candidates.borders[2 * slot, partition]
    stop = batch.candidates.borders[2 * slot, partition + 1]
    end = stop
    while begin < end:
        middle = (begin + end) >> 1
        if places[middle] <= event:
            begin = middle + 1
        else:
            end = middle
    while begin < stop and lower[places[begin]] <= high:
        later = places[begin]
        begin += 1
        batch.pace[0] -= 1
        if upper[later] < low:
            continue
        if len(joint) == 0:
            return True
        events[slot] = later
        select_event(conditions, slot, False, later, 0)
        is_found = satisfies(events, slot, joint, conditions, 0)
        events[slot] = UNBOUND
        if is_found:
            return True
    return False


@kernel(
    I64(
        I64S, type_of(Batch), I64S, type_of(AnyState), type_of(Runs), F64S, type_of(Signatures),
    )
)  # fmt: skip
def run_from_any_state(control, batch, mask, query, runs, least_confidence, out):
    """Write the signatures that runs find which begin at any component; resumes where it stopped.

    Events come in the order of their lower bounds; bit 2c of ``mask`` says that an event can be
    component c. A run is dropped when no later event can complete it: its window is over, or a
    component before one of its events has no event and none can come any more [Zhang10 §B.2]. It is
    not begun if one of its components has no event among the later ones in memory.
    """
    window, count = control[layout.WINDOW], len(query.apart)
    conditions, joint, apart = query
    intervals = batch.intervals
    events, vlb, vub, freshness, following, first_of, free = runs
    written, matches = control[layout.IDS], control[layout.MATCHES]
    scratch = len(events) - 1
    out.offsets[0] = 0
    for event in range(control[layout.RESUME_AT], len(mask)):
        partition = batch.partition_of[event]
        if mask[event] == 0 or partition < 0:
            continue
        now = intervals.lower[event]
        # First what has become useless, so that what follows only adds.
        previous, run, live = -1, first_of[partition], 0
        while run >= 0:
            after = following[run]
            is_over = False
            for i in range(count):
                if events[run, i] != UNBOUND:
                    if vub[run, i] + window - 1 < now:
                        is_over = True
                    if i > 0 and events[run, i - 1] == UNBOUND and vub[run, i] <= now:
                        is_over = True
            if is_over:
                if previous < 0:
                    first_of[partition] = after
                else:
                    following[previous] = after
                following[run] = free[0]
                free[0] = run
                free[1] += 1
            else:
                previous = run
                live += 1
            run = after
        control[layout.RESUME_AT] = event
        if free[1] < live * count + count:
            control[layout.IDS], control[layout.MATCHES] = written, matches
            return layout.NEED_RUNS
        if written + (live + 1) * count * count > len(out.ids) or matches + (
            live + 1
        ) * count + 2 > len(out.offsets):
            control[layout.IDS], control[layout.MATCHES] = written, matches
            return layout.NEED_OUTPUT
        head, run = first_of[partition], first_of[partition]
        is_first = True
        while run >= 0 or is_first:
            if run < 0:
                is_first = False  # at last the run that begins with this event
            for slot in range(count):
                if (mask[event] >> (2 * slot)) & 1 == 0:
                    continue
                missing = 0
                for i in range(count):
                    events[scratch, i] = events[run, i] if run >= 0 else UNBOUND
                    if run >= 0:
                        vlb[scratch, i], vub[scratch, i] = vlb[run, i], vub[run, i]
                    missing += events[scratch, i] == UNBOUND
                if events[scratch, slot] != UNBOUND:
                    continue
                if not fit(
                    events[scratch], vlb[scratch], vub[scratch], slot, event, apart, intervals
                ):
                    continue
                if least_confidence[0] > 0.0:
                    share = upper_confidence(events[scratch], vlb[scratch], vub[scratch], intervals)
                    if share < least_confidence[0]:
                        continue
                if len(joint):
                    clear_registers(conditions, 0)
                    for i in range(count):
                        if events[scratch, i] != UNBOUND:
                            select_event(conditions, i, False, events[scratch, i], 0)
                    if not satisfies(events[scratch], slot, joint, conditions, 0):
                        continue
                can_be_completed = True
                for i in range(count):
                    if can_be_completed and events[scratch, i] == UNBOUND:
                        can_be_completed = _can_follow(
                            events[scratch], vlb[scratch], vub[scratch], i, event, partition,
                            query, batch,
                        )  # fmt: skip
                if not can_be_completed:
                    continue
                control[layout.PATHS] += 1
                is_fresh = batch.fresh[event] | (freshness[run] if run >= 0 else 0)
                if missing == 1:
                    if is_fresh != 0 or control[layout.ONLY_FRESH] == 0:
                        write_signature(events[scratch], out, written, matches)
                        written += count
                        matches += 1
                    continue
                new = free[0]
                free[0] = following[new]
                free[1] -= 1
                for i in range(count):
                    events[new, i] = events[scratch, i]
                    vlb[new, i], vub[new, i] = vlb[scratch, i], vub[scratch, i]
                freshness[new] = is_fresh
                following[new] = head
                head = new
            if run >= 0:
                run = following[run]
        first_of[partition] = head
        batch.pace[0] -= live * count + 1
        if batch.pace[0] <= 0:
            control[layout.RESUME_AT] = event + 1
            control[layout.IDS], control[layout.MATCHES] = written, matches
            return PAUSE
    control[layout.RESUME_AT] = len(mask)
    control[layout.IDS], control[layout.MATCHES] = written, matches
    return DONE
