"""Rules that fit the columns of a DataFrame, and what Spark needs to know of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from cepheid.api import CompiledQuery
from cepheid.errors import CepheidError, EventError, OptionError, RuleFault, did_you_mean
from cepheid.events.read_options import ReadOptions
from cepheid.language import syntax as ast
from cepheid.language.printer import item_names
from cepheid.row_patterns.columns import Binding, named_columns
from cepheid.rule_sets.row_rules import time_column
from cepheid.rule_sets.rule_set import CompiledRule, RuleSet, output_of
from cepheid.schema import Schema
from cepheid.sessions.run_settings import RunSettings
from cepheid.spark.batch.arrow_schemas import arrow_schema
from cepheid.spark.batch.preparation import Prepared, prepare, refuse_doubles
from cepheid.spark.batch.row_patterns import result_schema
from cepheid.spark.batch.rule_keys import RuleKey, key_of_query
from cepheid.spark.worker.worker_settings import Additions


@dataclass(frozen=True, eq=False)
class FittingRule:
    """A rule that fits the columns of a DataFrame.

    ``prepared`` is None for ``MATCH_RECOGNIZE``. ``result`` are the columns of its own result.
    """

    each: CompiledRule
    columns: tuple[str, ...]
    key: RuleKey
    result: pa.Schema
    prepared: Prepared | None = None

    @classmethod
    def of(cls, each: CompiledRule, schema: StructType, keywords: Mapping[str, Any]) -> FittingRule:
        """The rule over a DataFrame of this schema.

        Raises:
            CepheidError: it does not fit.
        """
        query = each.query
        if isinstance(query, CompiledQuery):
            prepared = prepare(query, schema, **{**keywords, **output_of(each.rule)})
            settings = prepared.settings
            key = key_of_query(prepared)
            return cls(each, settings.columns, key, settings.result_schema, prepared)
        whole, read = arrow_schema(schema), ReadOptions.of(keywords)
        time_column(query, read.time)
        clause = Binding(query.tree, Schema.from_arrow(whole)).clause
        columns = {*named_columns(clause, whole.names), *read.columns}
        key = RuleKey(frozenset(name.text for name in clause.partition_by))
        said = {"time_unit": read.time_unit}
        values = result_schema(query, whole, said)
        return cls(each, tuple(name for name in whole.names if name in columns), key, values)

    @property
    def values(self) -> list[str]:
        """The columns of its own result that are values, not the times of a match."""
        tree = self.each.query.tree
        own = item_names(tree) if isinstance(tree, ast.Query) else self.result.names
        return [name for name in self.result.names if name in own or name not in ("start", "end")]

    @property
    def additions(self) -> Additions:
        """What is not built in, and the rule uses."""
        return Additions.used_by([self.each.query.tree], self.each.rule.output)


def read_options(keywords: Mapping[str, Any], schema: StructType) -> ReadOptions:
    """How a set of rules reads the events of a DataFrame.

    Raises:
        OptionError: an option cannot be used.
        EventError: there is no such column.
    """
    read = RunSettings.of(keywords, without=["whole_events", "time_format", "sep", "workers"]).read
    if read.uncertain is not None:
        raise OptionError("a set of rules on Spark needs certain times; run such a query alone")
    refuse_doubles(schema)
    for name in (read.time, *read.tie_break):
        if name not in schema.names:
            raise EventError(f"there is no column {name!r}" + did_you_mean(name, schema.names))
    return read


def fitting_rules(
    rules: RuleSet, schema: StructType, keywords: Mapping[str, Any]
) -> tuple[list[FittingRule], list[RuleFault]]:
    """The enabled rules that fit a schema, and the faults of the others."""
    fitting, faults = [], []
    for each in rules.enabled:
        try:
            fitting.append(FittingRule.of(each, schema, keywords))
        except EventError:
            raise
        except CepheidError as error:
            faults.append(RuleFault.of(each.rule.name, error))
    return fitting, faults
