"""What a snapshot of a set of rules has, between a session and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.engines.base.retained import Retained
from cepheid.errors import SnapshotError
from cepheid.events.events import Events
from cepheid.events.time_axis import TimeAxis
from cepheid.schema import Schema
from cepheid.snapshot_checks import check_values, require
from cepheid.snapshots import Arrays, Parts, pack, part, prefixed, table_bytes, table_from


@dataclass(frozen=True, slots=True)
class StoredSession:
    """The state of a session of rules.

    ``latest`` has no events, but their columns. ``rules`` are those with their own sessions:
    what the state of each depends on, and the state. ``groups``, ``next_slot`` and ``arrays`` are
    of the rules that share sessions. ``suspended`` has the fields of a rule and the reason.
    """

    latest: Events
    now: int | None
    rows: int
    has_ended: bool
    rules: Mapping[str, tuple[str, bytes]]
    groups: Any
    next_slot: int
    arrays: Arrays
    suspended: Mapping[str, tuple[Mapping[str, Any], str]]

    def parts(self, kept: Retained) -> Parts:
        """A snapshot of the session, with the events that it retains for later rules."""
        header = {
            "rules": {name: key for name, (key, _) in self.rules.items()},
            "groups": self.groups,
            "next_slot": self.next_slot,
            "suspended": self.suspended,
            "now": self.now,
            "rows": self.rows,
            "has_ended": self.has_ended,
            "schema": self.latest.schema.to_dict(),
            "time_axis": self.latest.time_axis.to_dict(),
            "types": list(kept.type_names),
        }
        arrays = {**self.arrays, "columns": table_bytes(self.latest.table)}
        for number, (_, state) in enumerate(self.rules.values()):
            arrays[f"rule{number}"] = np.frombuffer(state, dtype=np.uint8)
        if kept.latest is not None:
            arrays |= prefixed("kept", kept.state())
        return pack(header, arrays)

    @classmethod
    def of(cls, header: dict[str, Any], arrays: Arrays, kept: Retained) -> StoredSession:
        """The session of an unpacked snapshot, whose retained events are read into ``kept``.

        Raises:
            SnapshotError: the snapshot is of something else, or damaged.
        """
        if "rules" not in header:
            raise SnapshotError("the snapshot is not of a set of rules")
        kinds = {"rules": "object", "suspended": "object", "schema": "object"}
        counts = {"now": "integer?", "rows": "count", "has_ended": "flag", "types": "strings"}
        counts |= {"next_slot": "count"} if "next_slot" in header else {}
        check_values(header, kinds | counts | {"time_axis": "object"})
        axis, schema = TimeAxis.from_dict(header["time_axis"]), Schema.from_dict(header["schema"])
        none = np.empty(0, dtype=np.int64)
        table = table_from(arrays["columns"])
        require(axis.column in table.column_names, "it has no column with the time")
        if stored := part("kept", arrays):
            kept.load(stored, header["types"], axis, schema)
        return cls(
            Events(table, none, none, axis, none.astype(np.int32), (), schema),
            header["now"],
            header["rows"],
            header["has_ended"],
            {
                name: (key, arrays[f"rule{number}"].tobytes())
                for number, (name, key) in enumerate(header["rules"].items())
            },
            header.get("groups", []),
            header.get("next_slot", 0),
            arrays,
            header["suspended"],
        )
