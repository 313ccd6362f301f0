"""The header that the snapshots of all sessions share, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.options import Options
from cepheid.engines.base.retained import Retained
from cepheid.errors import SnapshotError
from cepheid.language.printer import print_query


def header_of(query: AnalysedQuery, options: Options, retained: Retained) -> dict[str, Any]:
    """The query, the options and the kind of the events of a session."""
    assert query.schema is not None
    return {
        "query": print_query(query.query),
        "options": options.shaping(),
        "types": list(retained.type_names),
        # The schema that the query is compiled for; later batches may have more columns.
        "schema": query.schema.to_dict(),
        "time_axis": retained.time_axis.to_dict(),
    }


def check_header(
    header: Mapping[str, Any],
    query: AnalysedQuery,
    options: Options,
    time: Mapping[str, Any] | None = None,
) -> None:
    """Refuse a snapshot of another query, or one made with other options.

    ``time`` is the uncertainty of times in the format of the header.
    """
    made_by = header.get("query")
    if made_by is None:
        raise SnapshotError("the snapshot is of a script, and not of a single query")
    if made_by != print_query(query.query):
        raise SnapshotError(
            "the snapshot is of another query; read the stream from its beginning. "
            f"It was made by:\n{made_by}"
        )
    given = {**options.shaping(), **(time or {})}
    made = {**header["options"], **(header.get("time") or {})}
    for name, value in made.items():
        if given.get(name) != value:
            raise SnapshotError(
                f"the snapshot was made with {name}={value!r}; restore it with the same"
            )
