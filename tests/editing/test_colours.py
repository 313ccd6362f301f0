"""The lexer and the TextMate grammar know the words of the language, and colour all of a text."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from paper_queries import PAPER_QUERIES
from pygments.token import Comment, Keyword, Name, Number, Operator

from cepheid.editing.lexer import SaseLexer
from cepheid.language.parser import KEYWORDS, OUTPUT_MODES, STRATEGIES
from cepheid.language.units import CANONICAL_UNIT

ROOT = Path(__file__).parents[2]
VSCODE = ROOT / "editors/vscode"


def coloured(text):
    return [(token, part) for token, part in SaseLexer().get_tokens(text) if part.strip()]


@pytest.mark.parametrize("text", PAPER_QUERIES.values(), ids=PAPER_QUERIES)
def test_the_tokens_of_a_query_are_its_text(text):
    assert (
        "".join(part for _, part in SaseLexer(stripnl=False, ensurenl=False).get_tokens(text))
        == text
    )


def test_words_have_the_colour_of_their_meaning():
    text = """PATTERN SEQ(Shelf a, B+ b[]) -- c
        WHERE skip till any match { abs(a.within) > 5 } WITHIN 10 min"""
    found = {part: token for token, part in coloured(text)}
    assert found["PATTERN"] is found["WITHIN"] is found["SEQ"] is Keyword
    assert found["skip till any match"] is Name.Decorator
    assert found["within"] is Name.Attribute
    assert found["abs"] is Name.Function
    assert found["-- c"] is Comment.Single
    assert found["10"] is Number
    assert found["min"] is Keyword.Type


@pytest.mark.parametrize("word", [*KEYWORDS, *OUTPUT_MODES, *STRATEGIES])
def test_the_lexer_knows_every_word(word):
    (token, part), *_ = coloured(word.lower())
    assert part == word.lower()
    assert token in Keyword or token in Operator.Word or token is Name.Decorator


def test_the_lexer_is_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["sase"].partition(":")
    assert getattr(import_module(module), name) is SaseLexer


def test_the_textmate_grammar_knows_every_word():
    grammar = json.loads((VSCODE / "syntaxes/sase.tmLanguage.json").read_text())
    rules = {
        rule["name"]: re.compile(rule["match"]) for rule in grammar["patterns"] if "name" in rule
    }
    for word in (*KEYWORDS, *OUTPUT_MODES, *STRATEGIES):
        names = [name for name, rule in rules.items() if rule.fullmatch(word.lower())]
        assert names[0].startswith(("keyword", "constant", "storage")), word
    (units,) = (rule["match"] for rule in grammar["patterns"] if "weeks" in rule.get("match", ""))
    for unit in CANONICAL_UNIT:
        assert re.fullmatch(units, f"5 {unit}")[2] == unit


def test_the_extension_names_files_that_exist():
    package = json.loads((VSCODE / "package.json").read_text())
    json.loads((VSCODE / "language-configuration.json").read_text())
    named = [package["main"], package["contributes"]["grammars"][0]["path"]]
    named.append(package["contributes"]["languages"][0]["configuration"])
    for path in named:
        assert (VSCODE / path).is_file()
