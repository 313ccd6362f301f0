"""cepheid finds patterns in streams of events.

>>> import cepheid as cep
>>> q = cep.query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10")
>>> q.match({"ts": [1, 4, 20], "type": ["A", "B", "B"], "x": [1, 2, 3]}).bindings()
[{'a': 0, 'b': 1}]
"""

from typing import Any

from cepheid.api import CompiledQuery, query, read_query
from cepheid.codegen.registered import register_function
from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    EvaluationError,
    EventError,
    LimitError,
    OptionError,
    QueryError,
    QuerySemanticError,
    QuerySyntaxError,
    RuleFault,
    RuleSetError,
    SessionError,
    SnapshotError,
)
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.sql.local import sql
from cepheid.rule_sets.rule import Rule
from cepheid.rule_sets.rule_set import RuleSet, rules
from cepheid.schema import Kind, Schema
from cepheid.scripts import CompiledScript, read_script, script

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext cepheid`` in a notebook: adds ``%%sase`` and ``%%match_recognize``."""
    from cepheid.magics import register

    register(shell)


__all__ = [
    "CepheidError",
    "CepheidWarning",
    "CompiledQuery",
    "CompiledScript",
    "EvaluationError",
    "EventError",
    "Kind",
    "LimitError",
    "OptionError",
    "QueryError",
    "QuerySemanticError",
    "QuerySyntaxError",
    "RowPatternQuery",
    "Rule",
    "RuleFault",
    "RuleSet",
    "RuleSetError",
    "Schema",
    "SessionError",
    "SnapshotError",
    "query",
    "read_query",
    "read_script",
    "register_function",
    "rules",
    "script",
    "sql",
]
