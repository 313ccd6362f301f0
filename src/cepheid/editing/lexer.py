"""A Pygments lexer for SASE+: Sphinx, MkDocs, Jupyter and ``rich`` colour queries with it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

from cepheid.aggregates import AGGREGATES
from cepheid.functions import BUILT_IN
from cepheid.language.parser import KEYWORDS, OUTPUT_MODES
from cepheid.language.units import CANONICAL_UNIT

CLAUSE_WORDS = ("PATTERN", "EVENT", "FROM", "WHERE", "WITHIN", "RETURN", "OUTPUT", "WITHOUT")
OTHER_WORDS = (
    *(word for word in KEYWORDS if word not in CLAUSE_WORDS),
    "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "WITH", "CONFIDENCE", "TIMED", "OUT", "AT",
    "MOST", "ONCE",
)  # fmt: skip
STRATEGY = (
    r"(?:strict|partition)(?:\s+|_|-)contiguity\b"
    r"|skip(?:\s+|_|-)till(?:\s+|_|-)(?:next|any)(?:\s+|_|-)match\b"
)
_FUNCTIONS = sorted({*BUILT_IN, *(name.split()[0] for name in AGGREGATES)})


class SaseLexer(RegexLexer):
    """Tokens of SASE+ queries for Pygments.

    >>> from pygments.token import Keyword
    >>> tokens = SaseLexer().get_tokens("PATTERN SEQ(A a) WHERE a.within > 80%")
    >>> [text for token, text in tokens if token in Keyword]
    ['PATTERN', 'SEQ', 'WHERE']
    """

    name = "SASE+"
    url = "https://github.com/cepheid/cepheid"
    aliases: ClassVar[list[str]] = ["sase"]
    filenames: ClassVar[list[str]] = ["*.sase"]
    flags = __import__("re").IGNORECASE

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[‘’][^‘’]*[’‘]|[“”][^“”]*[”“]", String),
            (r"`[^`]+`", Name),
            # After a dot every word is an attribute.
            (r"(\.)(\s*)(LEN|INDEX|PARTITION_INDEX)\b",
             bygroups(Punctuation, Whitespace, Name.Builtin)),
            (r"(\.)(\s*)([^\W\d]\w*)", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (STRATEGY, Name.Decorator),
            (words(CLAUSE_WORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(("NULL", "TRUE", "FALSE"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(OUTPUT_MODES, prefix=r"\b", suffix=r"\b(?!\s*\()"), Keyword.Pseudo),
            (words(("IN", "AND", "OR", "NOT", "BETWEEN", "LIKE", "IS"), prefix=r"\b", suffix=r"\b"),
             Operator.Word),
            (words(OTHER_WORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(_FUNCTIONS, prefix=r"\b", suffix=r"\b(?=\s*\()"), Name.Function),
            (r"[^\W\d]\w*(?=\s*\()", Name.Function),
            (r"(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?%?", Number, "unit"),
            (r"[^\W\d]\w*", Name),
            (r"==|!=|<>|<=|>=|&&|\|\||\.\.|[=<>≠≤≥+\-−*/%~∼˜!¬∧∨]", Operator),
            (r"[()\[\]{},;.]", Punctuation),
            (r".", Text),
        ],
        "unit": [
            (words(tuple(CANONICAL_UNIT), prefix=r"(\s+)(", suffix=r")\b"),
             bygroups(Whitespace, Keyword.Type)),
            (r"", Text, "#pop"),
        ],
    }  # fmt: skip
