"""How a user wants time to pass in a stream: a watermark, a lateness, an order, a timeout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkTypeError
from pyspark.sql import DataFrame

from cepheid.errors import OptionError, list_words
from cepheid.spark.batch.frames import quoted
from cepheid.spark.batch.preparation import Prepared
from cepheid.spark.stream.timing import TICKS, Timing

_DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class RequestedTiming:
    """The options about time, by their names."""

    lateness: str | None = None
    in_order: bool = False
    idle_timeout: str | None = None


def waits_for_time(prepared: Prepared) -> bool:
    """Whether a match of a query can be complete only when time has passed."""
    return prepared.settings.run.read.uncertain is not None or any(
        planned.rule.chooses
        or planned.rule.timed_out
        or any(each.waits for each in planned.analysed.alternatives)
        for planned in prepared.planned
    )


def with_timing(
    events: DataFrame, time: str, waits: bool, said: RequestedTiming
) -> tuple[DataFrame, Timing]:
    """The events with the watermark that the options ask for, and how time moves on.

    ``waits`` is whether a match can be complete only when time has passed.

    Raises:
        OptionError: the options do not fit together, or leave something waiting for ever.
    """
    lateness, in_order, idle_timeout = said.lateness, said.in_order, said.idle_timeout
    marked = [field.name for field in events.schema.fields if _DELAY in (field.metadata or {})]
    _check_watermark(time, marked, lateness)
    if not isinstance(in_order, bool):
        raise OptionError(f"in_order is True or False, not {in_order!r}")
    has_time = bool(marked) or lateness is not None
    if not has_time and not in_order:
        raise OptionError(
            "set how late events can be: lateness='10 minutes', or "
            f"events.withWatermark({time!r}, '10 minutes'); or that they arrive in time order: "
            "in_order=True"
        )
    if waits and not has_time and idle_timeout is None:
        raise OptionError(
            "a match of this query can be complete only when time has passed, and events in time "
            "order do not say when: set also lateness='1 minute' or idle_timeout='30 seconds'"
        )
    if idle_timeout is not None and marked:
        raise OptionError(
            "idle_timeout counts from the newest event less the lateness, and only Spark knows the "
            "watermark of this DataFrame; leave out withWatermark, and give lateness"
        )
    idle_ms = _length_ms(events, time, "idle_timeout", idle_timeout)
    distance_ms = idle_ms if lateness is None else _length_ms(events, time, "lateness", lateness)
    timing = Timing(None if distance_ms is None else distance_ms * TICKS, in_order, idle_ms, waits)
    if lateness is None or timing.mode == "None":
        return events, timing
    return events.withWatermark(quoted(time), lateness), timing


def _check_watermark(time: str, marked: list[str], lateness: str | None) -> None:
    if lateness is not None and marked:
        raise OptionError(
            f"the stream has a watermark already, on {list_words([repr(n) for n in marked])}; "
            "leave out lateness"
        )
    if marked and time not in marked:
        raise OptionError(
            f"the watermark of the stream is on {list_words([repr(n) for n in marked])}, and the "
            f"time of an event in {time!r}; they must be the same column"
        )


def _length_ms(events: DataFrame, time: str, name: str, length: Any) -> int | None:
    """A length of time, as Spark reads it."""
    if length is None:
        return None
    try:
        marked = events.withWatermark(quoted(time), length)
        return int(marked.schema[time].metadata[_DELAY])
    except IllegalArgumentException as error:
        raise OptionError(f"{name} is a length of time, and {length!r} is negative") from error
    except (AnalysisException, PySparkTypeError) as error:
        if error.getCondition() not in ("CANNOT_PARSE_INTERVAL", "NOT_EXPECTED_TYPE"):
            raise
        raise OptionError(
            f"{name} is a length of time, such as '10 minutes', not {length!r}"
        ) from error
