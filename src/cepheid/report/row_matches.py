"""The matches of a ``MATCH_RECOGNIZE`` clause as a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.events.columns.arrow_arrays import one_array, to_numpy
from cepheid.language.syntax import rewrite
from cepheid.report.timeline import is_time
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import found_column
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.results import RowMatches

_LABEL, _NUMBER, _COUNT = "cepheid.label", "cepheid.number", "cepheid.count"
_ROW = "row"
_ADDED = (
    rows.Measure(rows.Classifier(None), rows.Name(_LABEL, is_quoted=True)),
    rows.Measure(rows.MatchNumber(), rows.Name(_NUMBER, is_quoted=True)),
)
_SIZE = rows.Measure(rows.Aggregate("count", None, None), rows.Name(_COUNT, is_quoted=True))


class DrawnMatches:
    """The matches of a clause that have rows: all their rows, and their measures.

    ``time`` is the field of a row with its time: the first column of ORDER BY if it has times, or
    the number of the row among those of all matches.
    """

    def __init__(self, query: RowPatternQuery, events: Any, keywords: dict[str, Any]) -> None:
        tree = query.tree
        self._clause = tree
        all_rows = replace(
            tree,
            rows=rows.Rows.ALL_OMIT_EMPTY,
            measures=_ADDED,
            pattern=rewrite(tree.pattern, _without_exclusion),
        )
        one_row = replace(tree, rows=rows.Rows.ONE, measures=(*tree.measures, _SIZE))
        self._rows = _run(all_rows, query, events, keywords).to_arrow()
        measured = _run(one_row, query, events, keywords).to_arrow()
        sizes = to_numpy(one_array(measured.column(_COUNT)))
        self._measured = measured.filter(pa.array(sizes > 0)).drop_columns([_COUNT])
        self._ends = np.cumsum(sizes[sizes > 0])
        self.time = _ROW
        for item in tree.order_by[:1]:
            name = found_column(item.column, self._rows.column_names)
            assert name is not None
            self.time = name if is_time(self._rows.schema.field(name).type) else _ROW

    def __len__(self) -> int:
        return len(self._ends)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The start and end of each match, the rows of each variable, and the measures."""
        if not len(self):
            return
        table = self._rows
        if self.time == _ROW:
            table = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        begins = np.concatenate(([0], self._ends[:-1]))
        times = one_array(table.column(self.time))
        columns = {
            "start": times.take(pa.array(begins)),
            "end": times.take(pa.array(self._ends - 1)),
        }
        labels = one_array(table.column(_LABEL))
        events = table.drop_columns([_LABEL, _NUMBER]).combine_chunks().to_struct_array()
        for variable in self._clause.variables():
            is_own = to_numpy(pc.equal(labels, variable))
            counts = np.concatenate(([0], np.cumsum(is_own)))
            offsets = np.concatenate(([0], counts[self._ends])).astype(np.int32)
            own = one_array(events).filter(pa.array(is_own))
            columns[variable] = pa.ListArray.from_arrays(offsets, own)
        for name, values in zip(self._measured.column_names, self._measured.columns, strict=True):
            taken = name in columns
            columns[f"{name} (measure)" if taken else name] = one_array(values)
        is_timed = pc.and_(columns["start"].is_valid(), columns["end"].is_valid())
        yield pa.record_batch(columns).filter(is_timed)


def _run(
    tree: rows.Clause, query: RowPatternQuery, events: Any, keywords: dict[str, Any]
) -> RowMatches:
    return RowPatternQuery(tree, str(query)).match(events, **keywords)


def _without_exclusion(node: Any) -> Any:
    return node.part if isinstance(node, rows.Exclusion) else node
