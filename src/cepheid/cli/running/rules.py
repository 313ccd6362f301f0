"""Writes the matches of a set of rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO

from cepheid.cli.formats import Format, Output
from cepheid.cli.results import MOST_TABLE_ROWS, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.rule_sets.results import RuleMatches


def write_rule_matches(matches: RuleMatches, output: Output, sink: BinaryIO) -> int:
    """Write matches, and return how many."""
    from cepheid.matches.shapes.flat import plain

    limit = output.limit
    if limit is None and output.format is Format.TABLE:
        limit = MOST_TABLE_ROWS
    if output.format is Format.JSONL:
        rows = [plain(row) for row in matches.to_dicts()[:limit]]
        for row in rows:
            line = json.dumps(row, ensure_ascii=False)
            sink.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return len(rows)
    table = matches.to_arrow() if output.format is Format.PARQUET else _flat(matches)
    table = table if limit is None else table.slice(0, limit)
    write_rows(table, output, sink)
    return int(table.num_rows)


def _flat(matches: RuleMatches) -> pa.Table:
    """The matches with the key, the values and the tags as JSON."""
    import pyarrow as pa

    from cepheid.matches.shapes.flat import plain

    table = matches.to_arrow()
    rows = matches.to_dicts()
    for name in ("key", "values", "tags"):
        texts = [json.dumps(plain(row[name]), ensure_ascii=False) for row in rows]
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table
