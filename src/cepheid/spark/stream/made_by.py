"""The settings that made a state, compared with those of the stream that would continue it.

``made_by`` has the settings by their names in error messages. A query may be written in another
way, or return its results under other names: the state is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from cepheid.errors import CepheidError, SnapshotError, list_words
from cepheid.language.parser import parse_script
from cepheid.language.state_text import share_state

QUERY, SCRIPT, LEAST_GAP = "query", "script", "at_most_once_per"
"""The parts that can be written in several ways."""
COLUMNS = "columns"
UNIT = "unit of time"
"""The part that states of version 0.1.0 lack: they have milliseconds."""


def refuse_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse the state of another stream, by the settings that it was made with.

    Raises:
        SnapshotError: the settings differ.
    """
    if UNIT not in then:
        now = {name: value for name, value in now.items() if name != UNIT}
    then = {
        name: now[name] if name in now and _is_equivalent(name, value, now[name]) else value
        for name, value in then.items()
    }
    if then != now:
        raise SnapshotError(_changes(then, now))


def _is_equivalent(name: str, then: Any, now: Any) -> bool:
    """Whether a setting means the same: a query that only returns others, or 60 minutes."""
    if name in (QUERY, SCRIPT):
        return _continues(name, str(then), str(now))
    if name == LEAST_GAP:
        return _continues(name, f"EVENT E WITHIN {then}", f"EVENT E WITHIN {now}")
    return bool(then == now)


def _continues(name: str, then: str, now: str) -> bool:
    with suppress(CepheidError):  # MATCH_RECOGNIZE
        return share_state(then, parse_script(now), with_returns=name == SCRIPT)
    return False


def _of_columns(then: Sequence[str], now: Sequence[str]) -> str:
    """What the columns of a state are too few, or too many, for."""
    missing = [repr(each) for each in now if each not in then]
    unused = [repr(each) for each in then if each not in now]
    said = []
    if missing:
        said.append(f"the state lacks {list_words(missing)}, which the query needs now")
    if unused:
        said.append(
            f"the state has {list_words(unused)}, which the query no longer needs: it continues "
            "if the query still returns them"
        )
    return "; ".join(said) or "the columns are in another order"


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    changes = "\n".join(
        f"  {name}: "
        + (
            _of_columns(then[name], now[name])
            if name == COLUMNS
            else f"then {then.get(name)!r}, now {now.get(name)!r}"
        )
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    )
    return (
        f"the checkpoint holds the state of another stream, which differs in\n{changes}\n"
        "Start the stream with the settings of the checkpoint, or start anew with another "
        "checkpointLocation"
    )
