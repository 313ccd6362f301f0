"""Bad queries with their whole messages: ``errors/*.txt``, one query each.

The first line of a file may say what is known of the events: ``schema: Shelf(tag_id string),
Exit(door integer)`` for types with attributes of their own, ``schema: *(price float)`` for one
table. Then come the query, a line of three dashes, and the message.
"""

import re
from pathlib import Path

import pytest

from cepheid.analysis.analyse import analyse
from cepheid.errors import QuerySemanticError
from cepheid.language.parser import parse
from cepheid.schema import Kind, Schema

ERRORS = sorted((Path(__file__).parent / "errors").glob("*.txt"))


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_bad_query_has_this_message(path: Path) -> None:
    given, message = path.read_text(encoding="utf-8").split("\n---\n")
    schema, text = _schema_and_query(given)
    with pytest.raises(QuerySemanticError) as error:
        analyse(parse(text), schema, text)
    assert str(error.value) == message.rstrip("\n")


def test_there_are_bad_queries() -> None:
    assert len(ERRORS) >= 30


def _schema_and_query(text: str) -> tuple[Schema | None, str]:
    if not text.startswith("schema: "):
        return None, text
    first, query = text.split("\n", 1)
    types = {}
    for name, attributes in re.findall(r"([\w-]+|\*)\(([^()]*)\)", first):
        pairs = (pair.split() for pair in attributes.split(","))
        types[name] = {attribute: Kind(kind) for attribute, kind in pairs}
    return (Schema(types["*"]) if "*" in types else Schema.declared(types)), query
