"""What a Python worker needs to know to run a query or a script: plain values, and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import pyarrow as pa

from cepheid.api import CompiledQuery, query
from cepheid.codegen.registered import register_function, registered_python
from cepheid.errors import OptionError
from cepheid.events.uncertain_time import UncertainTime
from cepheid.functions import REGISTERED
from cepheid.language import syntax as ast
from cepheid.matches.modes.mode import OutputMode
from cepheid.matches.modes.registry import all_outputs, register_mode
from cepheid.schema import Schema
from cepheid.scripts import CompiledScript, script


@dataclass(frozen=True)
class WorkerSettings:
    """A query and how it is run, as it travels to the workers.

    Spark pickles it with the function that it ships; no session is ever pickled, nor any state.
    ``text`` has the values of parameters in it. ``tie_break`` is what the user said, ``ties`` the
    columns that order events of equal time, whether he said so or not. ``schema`` is the
    declaration of types as plain values, ``result`` the serialised Arrow schema of the matches.
    ``functions`` are those that the query calls and the program registered: a worker is another
    process, and registers them itself; ``mode`` is likewise the output mode if the program added
    it. ``uncertain`` is what is said of times that are not certain.
    """

    text: str
    time: str
    type: str
    tie_break: tuple[str, ...]
    ties: tuple[str, ...]
    evaluation: str
    output: str
    time_unit: str | None
    schema: Mapping[str, Any] | None
    options: Mapping[str, Any]
    result: bytes
    match_id: bool = False
    functions: Mapping[str, FunctionType] = field(default_factory=dict)
    uncertain: UncertainTime | None = None
    mode: OutputMode | None = None

    @property
    def result_schema(self) -> pa.Schema:
        """The Arrow schema of the matches."""
        return pa.ipc.read_schema(pa.py_buffer(self.result))

    def query(self) -> CompiledQuery:
        """The query, compiled in this process."""
        refuse_zip_file()
        register_missing(self.functions)
        register_missing_mode(self.mode)
        return query(self.text)

    def reading(self) -> dict[str, Any]:
        """The keywords of ``match`` and ``session``."""
        said = self.uncertain or UncertainTime()
        return {
            "time": self.time if said.upper is None else (self.time, said.upper),
            "type": self.type,
            "tie_break": self.tie_break or None,
            "evaluation": self.evaluation,
            "output": self.output,
            "time_unit": self.time_unit,
            "schema": None if self.schema is None else Schema.from_dict(self.schema),
            **self.options,
            **said.keywords(),
        }


@dataclass(frozen=True)
class ScriptSettings:
    """A script and how it is run, as it travels to the workers.

    ``keywords`` are those of ``match`` and ``session`` but for the schema; the rest is as for a
    query.
    """

    text: str
    keywords: Mapping[str, Any]
    ties: tuple[str, ...]
    schema: Mapping[str, Any] | None
    result: bytes
    match_id: bool
    functions: Mapping[str, FunctionType]
    mode: OutputMode | None = None

    @property
    def time(self) -> str:
        """The column with the time of an event."""
        return str(self.keywords["time"])

    @property
    def result_schema(self) -> pa.Schema:
        """The Arrow schema of the matches of all queries."""
        return pa.ipc.read_schema(pa.py_buffer(self.result))

    def script(self) -> CompiledScript:
        """The script, compiled in this process."""
        refuse_zip_file()
        register_missing(self.functions)
        register_missing_mode(self.mode)
        return script(self.text)

    def reading(self) -> dict[str, Any]:
        """The keywords of ``match`` and ``session``."""
        schema = None if self.schema is None else Schema.from_dict(self.schema)
        return {**self.keywords, "schema": schema}


def refuse_zip_file() -> None:
    """Refuse to run where cepheid is imported from inside a zip file, as by ``--py-files``.

    Raises:
        OptionError: neither its grammar can be read there nor compiled code be kept.
    """
    if not Path(__file__).is_file():
        raise OptionError(
            "cepheid cannot run from inside a zip file, as --py-files and addPyFile ship it; ship "
            "it as an archive, which Spark unpacks: spark.archives=cepheid.zip#shipped and "
            "spark.executorEnv.PYTHONPATH=shipped"
        )


def functions_in(tree: ast.Query) -> dict[str, FunctionType]:
    """The registered functions that a query calls."""
    called = {node.function for node in tree.walk() if isinstance(node, ast.Call)}
    found = {name: registered_python(name) for name in sorted(called)}
    return {name: function for name, function in found.items() if function is not None}


def register_missing(functions: Mapping[str, FunctionType]) -> None:
    """Register in this process what was registered where the query was made."""
    for name, function in functions.items():
        if name not in REGISTERED:
            register_function(name, function)


def register_missing_mode(mode: OutputMode | None) -> None:
    """Register in this process the output mode that the driver has registered."""
    if mode is not None and mode.name not in all_outputs():
        register_mode(mode)
