"""Explains how a query runs over a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pyspark.sql import DataFrame

from cepheid.api import CompiledQuery
from cepheid.engines.base.options import READING
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.frames import one_frame
from cepheid.spark.batch.preparation import Prepared, prepare
from cepheid.spark.batch.slices import why_not_sliced
from cepheid.spark.files.files import match_plain_files
from cepheid.spark.reduction.reduction import Reduce, Reduction, choose_reduction


def explain(
    query: CompiledQuery,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    slices: int | Literal["auto"] | None = None,
    in_place: bool = True,
    reduce: Reduce = "auto",
    bounds: bool = False,
    **keywords: Any,
) -> str:
    """How a query is understood, and how the events of a DataFrame go to the workers.

    ``query.explain(events)`` calls it. The keywords are those of ``query.match``. A sample of the
    events is read if ``query.match`` would read one.

    Example::

        print(theft.explain(events, reduce=True))
    """
    frame, keywords = one_frame(events, keywords)
    named = ("time", "evaluation")
    other = {name: keywords[name] for name in keywords if name in named or name not in READING}
    schema = keywords.get("schema") or arrow_schema(frame.schema)
    text = query.explain(schema, bounds=bounds, **other)
    prepared = prepare(query, frame.schema, **keywords)
    lines = _lines(prepared, frame, slices, in_place and reduce is not True, reduce)
    return "\n".join([text, "Spark:", *(f"  {line}" for line in lines)])


def _lines(
    prepared: Prepared,
    frame: DataFrame,
    slices: int | Literal["auto"] | None,
    in_place: bool,
    reduce: Reduce,
) -> list[str]:
    if in_place and slices is None and match_plain_files(prepared, frame) is not None:
        return ["workers read the files directly, in slices of time"]
    reduction = choose_reduction(prepared, frame, reduce)
    is_reduced = isinstance(reduction, Reduction)
    if prepared.key:
        way = "partitioned by key" + ("" if slices is None else f", slices={slices!r}")
    else:
        refusal = why_not_sliced(prepared)
        way = "in slices of time" if refusal is None else f"in one worker: {refusal}"
    return [way, f"{'reduced to' if is_reduced else 'not reduced:'} {reduction}"]
