"""The tests of single events, of all rules: each distinct one is known once.

A comparison of a number or a string with a constant is a row of numbers that a kernel tests. Any
other condition is computed over the columns of a batch, once for all rules that have it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.analysis.kinds import attribute_kind
from cepheid.engines.base.event_batch import EventBatch
from cepheid.errors import CepheidError
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import one_array, to_numpy, without_dictionary
from cepheid.events.columns.computed_columns import column_of
from cepheid.events.columns.string_codes import StringCodes
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.rule_sets.sharing.layout import FLAG, FLOATS, OPERATORS, TEST
from cepheid.schema import Kind, Schema

_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = 2**53
"""Integers up to this are exact as floats."""
_LARGEST = 2**63 - 1
_ABSENT = -2
"""The code of a string that no event of a batch has."""
_ALONE = "event"

_NULL = -1

Row = tuple[int, int, int, int, float]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTests:
    """The columns of a batch that tests read; ``failed`` are the flags that have no value."""

    integers: Int64s
    floats: npt.NDArray[np.float64]
    flags: npt.NDArray[np.uint8]
    failed: dict[int, CepheidError]


class EventTests:
    """Tests of single events as rows of numbers, and the columns that they read."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows: list[Row] = []
        self._known: dict[ast.Expression, int] = {}
        self._numbers: dict[Kind, dict[str, int]] = {Kind.INTEGER: {}, Kind.FLOAT: {}}
        self._valid: dict[str, int] = {}
        self._strings: dict[str, dict[int, str]] = {}  # by column: tests and their constants
        self._computed: dict[ast.Expression, int] = {}
        self._flags = 0

    def add(self, condition: ast.Expression) -> int:
        """The number of a condition on one event."""
        condition = ast.rewrite(condition, _of_event)
        if condition not in self._known:
            self._known[condition] = len(self._rows)
            self._rows.append(self._row(condition))
        return self._known[condition]

    def _row(self, condition: ast.Expression) -> Row:
        match condition:
            case ast.Comparison(operator, ast.Attribute(_, name), ast.Literal(value)):
                pass
            case ast.Comparison(turned, ast.Literal(value), ast.Attribute(_, name)):
                operator = _TURNED[turned]
            case _:
                return self._computed_row(condition)
        kind, code = attribute_kind(name, self._schema), OPERATORS.index(operator)
        if kind is Kind.INTEGER and type(value) is int and -_LARGEST <= value <= _LARGEST:
            return code, self._column(Kind.INTEGER, name), self._valid[name], value, 0.0
        is_number = type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT)
        if kind is Kind.FLOAT and is_number:
            assert isinstance(value, int | float)
            return code + FLOATS, self._column(Kind.FLOAT, name), self._valid[name], 0, float(value)
        if kind is Kind.STRING and isinstance(value, str) and operator in ("=", "!="):
            column = self._column(Kind.INTEGER, name)
            self._strings.setdefault(name, {})[len(self._rows)] = value
            return code, column, self._valid[name], _ABSENT, 0.0
        return self._computed_row(condition)

    def _computed_row(self, condition: ast.Expression) -> Row:
        self._computed[condition] = self._flags
        self._flags += 1
        return FLAG, self._computed[condition], 0, 0, 0.0

    def _column(self, kind: Kind, name: str) -> int:
        columns = self._numbers[kind]
        if name not in columns:
            columns[name] = len(columns)
            self._valid[name] = self._flags
            self._flags += 1
        return columns[name]

    def flag(self, number: int) -> int:
        """The row of the flags that a test reads."""
        operator, column, valid, *_ = self._rows[number]
        return column if operator == FLAG else valid

    def table(self) -> npt.NDArray[np.void]:
        """The tests for a kernel."""
        return np.array(self._rows, dtype=TEST)

    def encode(self, batch: Events, tests: npt.NDArray[np.void]) -> EncodedTests:
        """The columns of a batch that ``tests`` read; the codes of strings in them are replaced."""
        count = len(batch)
        found = EncodedTests(
            np.zeros((len(self._numbers[Kind.INTEGER]), count), np.int64),
            np.zeros((len(self._numbers[Kind.FLOAT]), count), np.float64),
            np.zeros((self._flags, count), np.uint8),
            {},
        )
        encoded = EventBatch.of(batch, 0, StringCodes())
        for kind, into in ((Kind.INTEGER, found.integers), (Kind.FLOAT, found.floats)):
            for name, row in self._numbers[kind].items():
                if name in self._strings:
                    self._encode_strings(name, batch, tests, into[row], found.flags)
                    continue
                try:
                    column = encoded.column(name)
                except CepheidError as error:
                    found.failed[self._valid[name]] = error
                    continue
                into[row] = column.values
                found.flags[self._valid[name]] = 1 if column.valid is None else column.valid
        for condition, row in self._computed.items():
            try:
                found.flags[row] = encoded.satisfies(condition)
            except CepheidError as error:
                found.failed[row] = error
        return found

    def _encode_strings(
        self,
        name: str,
        batch: Events,
        tests: npt.NDArray[np.void],
        codes: Int64s,
        flags: npt.NDArray[np.uint8],
    ) -> None:
        array = without_dictionary(one_array(column_of(batch.table, name)))
        encoded = array.dictionary_encode()
        indices = encoded.indices.cast(pa.int64())
        codes[:] = to_numpy(indices.fill_null(_NULL))
        flags[self._valid[name]] = codes != _NULL
        constants = self._strings[name]
        wanted = pa.array(list(constants.values()), pa.string()).cast(encoded.dictionary.type)
        known = pc.index_in(wanted, encoded.dictionary).cast(pa.int64()).fill_null(_ABSENT)
        tests["integer"][list(constants)] = to_numpy(known)


def _of_event(node: ast.Node) -> ast.Node:
    """The same expression for every variable, so that rules with other names share it."""
    if isinstance(node, ast.Attribute | ast.Element):
        return ast.Attribute(_ALONE, node.attribute)
    return node
