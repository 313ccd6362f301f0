"""A script over a DataFrame, understood: by what events are spread, and what workers are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.types import StructType

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.needed_columns import needed_columns
from cepheid.engines.base.options import read_options
from cepheid.errors import EvaluationError, OptionError
from cepheid.events.events import order_events
from cepheid.events.time_axis import TimeAxis
from cepheid.language import syntax as ast
from cepheid.language.printer import item_name
from cepheid.matches.modes.registry import added_mode
from cepheid.schema import Schema, schema_of
from cepheid.scripts import CompiledScript
from cepheid.spark.batch.arrow_schemas import MATCH_ID, arrow_schema, empty_events, schema_for_spark
from cepheid.spark.batch.key_columns import comparable, equivalence_keys
from cepheid.spark.batch.preparation import orderable, restricted
from cepheid.spark.worker.script_worker import QUERY, column_of
from cepheid.spark.worker.worker_settings import ScriptSettings, functions_in


@dataclass(frozen=True)
class PreparedScript:
    """A script over events of a certain schema, before anything is read.

    ``keys`` are the equivalence attributes by which all queries can be spread at once; ``tests``
    those of each query, by its name. ``columns`` are those that some query needs.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    tests: Mapping[str, Sequence[str]]
    analysed: AnalysedQuery
    axis: TimeAxis
    has_session: bool
    settings: ScriptSettings

    @property
    def key(self) -> list[Column]:
        """What events of one match have in common in all queries."""
        return [comparable(self.analysed, name) for name in self.keys]


def prepare_script(
    compiled: CompiledScript,
    schema: StructType,
    *,
    time: str,
    type: str | None,
    tie_break: str | Sequence[str] | None,
    evaluation: str,
    output: str,
    time_unit: str | None,
    declared: Any,
    match_id: bool,
    options: Mapping[str, Any],
) -> PreparedScript:
    """The script over a DataFrame of this schema, or why it cannot be run."""
    if type is None:
        raise OptionError("say which column of the DataFrame holds the type of an event")
    ties = (tie_break,) if isinstance(tie_break, str) else tuple(tie_break or ())
    own = schema_of(declared)
    keywords = {
        "time": time,
        "type": type,
        "tie_break": ties or None,
        "evaluation": evaluation,
        "output": output,
        "time_unit": time_unit,
        **asdict(read_options(options)),
    }
    whole = arrow_schema(schema)
    # All columns once, so that a mistake is found in what the user gave.
    order_events(
        whole.empty_table(),
        time=time,
        type=type,
        tie_break=ties,
        time_unit=time_unit,
        schema=own,
    )
    needed = {
        name
        for tree in compiled.queries.values()
        for name in needed_columns(tree, whole.names, [time, type, *ties])
    }
    columns = [name for name in whole.names if name in needed]
    own = None if own is None else restricted(own, columns)
    nothing = empty_events(whole, columns)
    answers = compiled.match(nothing, **keywords, schema=own)
    schemas = [schema_for_spark(found.to_arrow().schema) for found in answers.values()]
    result = [
        (QUERY, pa.int32()),
        *((column_of(number), pa.struct(list(each))) for number, each in enumerate(schemas)),
        *([(MATCH_ID, pa.string())] if match_id else []),
    ]
    ordered = order_events(
        nothing, time=time, type=type, tie_break=ties, time_unit=time_unit, schema=own
    )
    analysed = compiled.analysed(ordered.schema, time, type)
    tests = dict(zip(answers, map(equivalence_keys, analysed), strict=True))
    settings = ScriptSettings(
        str(compiled),
        keywords,
        ties or tuple(orderable(schema, columns, besides=time)),
        None if own is None else own.to_dict(),
        pa.schema(result).serialize().to_pybytes(),
        match_id,
        {
            name: function
            for tree in compiled.queries.values()
            for name, function in functions_in(tree).items()
        },
        added_mode(output),
    )
    return PreparedScript(
        tuple(answers),
        tuple(columns),
        tuple(_common_keys(compiled, tests)),
        tests,
        analysed[0],
        ordered.time_axis,
        _has_session(compiled, nothing, keywords, own),
        settings,
    )


def _has_session(
    compiled: CompiledScript, nothing: pa.Table, keywords: Mapping[str, Any], schema: Schema | None
) -> bool:
    """Whether every query can be fed in batches."""
    try:
        compiled.session(**keywords, schema=schema).feed(nothing)
    except EvaluationError:
        return False
    return True


def _common_keys(compiled: CompiledScript, tests: Mapping[str, Sequence[str]]) -> list[str]:
    """The equivalence attributes by which all queries can be spread at once.

    A composite event is where its match is: it must have the key of the events it was made of.
    """
    names = set.intersection(*map(set, tests.values()))
    for tree in compiled.queries.values():
        names = {name for name in names if not loses_key(tree, name)}
    return sorted(names)


def loses_key(tree: ast.Query, key: str) -> bool:
    """Whether a query makes composite events that do not take the attribute over as it is."""
    if tree.returns is None or tree.returns.type_name is None:
        return False
    return not any(
        item_name(item, tree) == key and item.expression.attribute == key
        for item in tree.returns.items
        if isinstance(item.expression, ast.Attribute | ast.Element)
    )
