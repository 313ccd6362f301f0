"""Matches in long form: one row for each event of a match."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.events.columns.arrow_arrays import from_numpy
from cepheid.events.events import Events
from cepheid.matches.bindings import Bindings
from cepheid.matches.positions import ABSENT, ListPositions

MATCH, VARIABLE, INDEX = "match", "variable", "index"


def event_rows(events: Events, bindings: Bindings, first: int) -> pa.Table:
    """The events of each match in stream order, with the match, the variable and the index in it.

    ``first`` is the number of the first match. An event column with the name of one of the
    three first columns is called ``event_match`` and so on.
    """
    matches, variables, indices, positions = [], [], [], []
    for number, column in enumerate(bindings.variables.values()):
        owner, index = np.arange(len(bindings)), np.ones(len(bindings), dtype=np.int64)
        if isinstance(column, ListPositions):
            owner = np.repeat(owner, column.lengths)
            begins = np.repeat(column.offsets[:-1], column.lengths)
            index = np.arange(len(column.positions)) - begins + 1
        bound = column.positions != ABSENT
        matches.append(owner[bound])
        variables.append(np.full(int(bound.sum()), number, dtype=np.int32))
        indices.append(index[bound])
        positions.append(column.positions[bound].astype(np.int64))
    match, place = np.concatenate(matches), np.concatenate(positions)
    order = np.lexsort((place, match))
    names = pa.array(list(bindings.variables), pa.string())
    variable = pa.DictionaryArray.from_arrays(np.concatenate(variables)[order], names)
    table = pa.table(
        {
            MATCH: from_numpy(match[order].astype(np.int64) + first),
            VARIABLE: variable.dictionary_decode(),
            INDEX: from_numpy(np.concatenate(indices)[order].astype(np.int64)),
        }
    )
    values = events.table.select(events.column_names).take(from_numpy(place[order]))
    for name in values.column_names:
        shown = f"event_{name}" if name in (MATCH, VARIABLE, INDEX) else name
        table = table.append_column(shown, values.column(name))
    return table
