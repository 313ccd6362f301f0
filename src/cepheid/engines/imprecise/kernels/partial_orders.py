"""The confidences of signatures of patterns whose order is partial: AND.

Events without an order between them may be at the same instant. The confidence is a sum over the
first time t and, from there on, over the sets of events that have happened by each instant:

    happened(S + e, t) += happened(S, t - 1) · P[e at t],  all predecessors of e being in S.

Several alternatives of an OR can find the same signature. It is a match where any of them holds:
by inclusion and exclusion, since several hold together where their orders do.
"""

from __future__ import annotations

from cepheid.engines.imprecise.kernels.interval_masses import FAR, point_mass
from cepheid.engines.imprecise.layout import Intervals, Scores
from cepheid.jit.decorators import F64S, I64, I64S, I64S_2D, helper, kernel, type_of


@helper
def _pass_instant(happened, events, time, predecessors, sequence, intervals):
    """Let any events happen at this instant.

    Predecessors are looked at last, so that no event follows another of the same instant.
    """
    lower, upper, count = intervals.lower, intervals.upper, len(events)
    for place in range(count - 1, -1, -1):
        i = sequence[place]
        event = events[i]
        if time < lower[event] or time > upper[event]:
            continue
        share = point_mass(intervals, event, time)
        for happening in range(1 << count):
            if (happening >> i) & 1 == 0 and happening & predecessors[i] == predecessors[i]:
                happened[happening | (1 << i)] += happened[happening] * share


@helper
def _sum_from(happened, events, begin, limit, begins, predecessors, sequence, intervals):
    """The probability that all events happen in order from ``begin`` to ``limit``; the latest end.

    If ``begins``, at least one of them is at the first instant.
    """
    lower, upper, count = intervals.lower, intervals.upper, len(events)
    everything = (1 << count) - 1
    total, latest, time = 0.0, -FAR, begin
    for happening in range(everything + 1):
        happened[happening] = 0.0
    happened[0] = 1.0
    while time <= limit:
        _pass_instant(happened, events, time, predecessors, sequence, intervals)
        if begins:
            happened[0] = 0.0
        if happened[everything] > 0.0:
            total += happened[everything]
            latest = time
            happened[everything] = 0.0
        # On to the next instant at which something can happen.
        following = FAR
        for i in range(count):
            if upper[events[i]] > time:
                following = min(following, max(lower[events[i]], time + 1))
        time = following
    return total, latest


@kernel(
    I64(
        I64S_2D, I64S, type_of(Intervals), I64, I64S_2D, I64S_2D, F64S, type_of(Scores),
    )
)  # fmt: skip
def score_partial_orders(
    events, found_by, intervals, window, predecessors, sequences, happened, scores
):
    """Write the confidence and the range of time of each match; 0 where no world has it.

    Row m of ``events`` is match m, found by the alternatives ``found_by[m]``, as bits. Row s of
    ``predecessors`` has the order in which those of the set s hold together, or a negative
    number where they cannot, and that of ``sequences`` the components in such an order.
    """
    lower, upper, count = intervals.lower, intervals.upper, events.shape[1]
    confidences, starts, ends = scores
    for m in range(len(events)):
        total, start, latest = 0.0, FAR, -FAR
        first, last, end = FAR, FAR, -FAR
        for i in range(count):
            first = min(first, lower[events[m, i]])
            last = min(last, upper[events[m, i]])
            end = max(end, upper[events[m, i]])
        for together in range(1, len(predecessors)):
            if together & found_by[m] != together or predecessors[together, 0] < 0:
                continue
            sign, rest = -1.0, together
            while rest:
                sign = -sign
                rest &= rest - 1
            # If the window leaves out nothing, the first time matters for the start alone.
            is_free = end - first < window
            step = -1 if is_free else 0
            while first + step <= last:
                begin = first + max(step, 0)
                share, until = _sum_from(
                    happened, events[m], begin, min(end, begin + window - 1), step >= 0,
                    predecessors[together], sequences[together], intervals,
                )  # fmt: skip
                step += 1
                if share == 0.0:
                    if is_free and step == 0:
                        break
                    continue
                if not is_free or step == 0:
                    total += sign * share
                    latest = max(latest, until)
                if step > 0:
                    start = min(start, begin)
                    if is_free:
                        break
        confidences[m], starts[m], ends[m] = 0.0, 0, 0
        if latest != -FAR:
            confidences[m], starts[m], ends[m] = total, start, latest
    return 0
