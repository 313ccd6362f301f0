"""What all sessions that users hold have: one call at a time, and a snapshot of their state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from functools import wraps
from numbers import Number
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from cepheid.errors import CepheidError, LimitError, OptionError, SessionError
from cepheid.events.time_axis import TimeAxis
from cepheid.snapshot_checks import damage_reported
from cepheid.snapshots import Arrays, Parts, sealed, unpack

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def one_at_a_time(
    method: Callable[Concatenate[Any, Given], Returned],
) -> Callable[Concatenate[Any, Given], Returned]:
    """A method of a session that is rejected while another call runs, or after an interrupted one.

    Kernels write into the arrays of a session without locks. A call that was
    stopped by an exception, a lack of memory or a limit may leave them half-written. Other
    errors of cepheid are raised before anything is written.
    """

    @wraps(method)
    def guarded(session: HeldSession, /, *given: Given.args, **named: Given.kwargs) -> Returned:
        if not session._lock.acquire(blocking=False):
            raise SessionError(
                "another call of this session is running; a session is used by one thread at a "
                "time: wait for the call, or give each thread its own session"
            )
        try:
            if session._is_interrupted:
                raise SessionError(
                    "an earlier call of this session was interrupted or exceeded a limit, and its "
                    "state is incomplete; restore the last snapshot, or start a new session"
                )
            return method(session, *given, **named)
        except BaseException as error:
            if not isinstance(error, CepheidError) or isinstance(error, LimitError):
                session._is_interrupted = session._is_changing
            raise
        finally:
            session._is_changing = False
            session._lock.release()

    return guarded


class HeldSession(ABC):
    """A session that serves one call at a time.

    A call sets ``_is_changing`` before it begins to change the state.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_changing = self._is_interrupted = False

    def snapshot(self) -> bytes:
        """The state as bytes, for ``restore()`` in this process or another."""
        return sealed(self.snapshot_parts())

    @abstractmethod
    def snapshot_parts(self) -> Parts:
        """The state in parts and without a checksum, valid until the next call."""

    def _continue(self, snapshot: bytes | memoryview | None) -> None:
        """Continue from a snapshot, if there is one."""
        if snapshot is not None:
            with damage_reported():
                self._restore(*unpack(snapshot))

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take the state from the header and the arrays of a snapshot."""


def ticks_of(time: Any, axis: TimeAxis) -> int:
    """A time that a user gives, in ticks of the time axis."""
    try:
        if isinstance(time, Number) and axis.is_clock:
            raise pa.ArrowInvalid("a number is no point in time")
        is_time = isinstance(time, date)
        moment = pa.array([time], pa.timestamp("us") if is_time else None).cast(axis.arrow_type)
    except (ValueError, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError):
        zone = "Z" if getattr(axis.arrow_type, "tz", None) else ""
        advice = f"; give a datetime, or a string such as '2024-05-01 09:30:00{zone}'"
        raise OptionError(
            f"{time!r} is not a time of the column {axis.column!r}, which is {axis.arrow_type}"
            + (advice if axis.is_clock else "")
        ) from None
    return int(axis.encode(moment)[0])
