"""Queries that parse but make no sense, with their exact messages: one file of ``errors/`` each.

A file holds the query, a line ``---``, and the message. A line before the query may say what is
known of the events: ``schema: Shelf(tag_id string), Exit(door integer)`` where each type has
attributes of its own, ``schema: *(price float)`` where all have the same. To add a file, write
the query and the line, then let this module write the message, and read it as somebody who made
the mistake would::

    PYTHONPATH=src python tests/analysis/test_errors.py

It writes the messages of all files anew: what changed is in the diff.
"""

import re
from pathlib import Path

import pytest

from cepheid.analysis.analyse import analyse
from cepheid.errors import QuerySemanticError
from cepheid.language.parser import parse
from cepheid.schema import Kind, Schema

FILES = sorted(Path(__file__).parent.joinpath("errors").glob("*.txt"))
SEPARATOR = "\n---\n"
SCHEMA = "schema: "


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_query_has_this_message(path: Path) -> None:
    given, message = path.read_text(encoding="utf-8").split(SEPARATOR)
    with pytest.raises(QuerySemanticError) as caught:
        _analyse(given)
    assert str(caught.value) + "\n" == message


def test_the_message_names_the_source_of_the_query() -> None:
    text = "PATTERN A a\n  WHERE b.x = 1"
    with pytest.raises(QuerySemanticError, match=r"^theft\.sase:2:9: the pattern has no variable"):
        analyse(parse(text), None, text, "theft.sase")


def _analyse(given: str) -> None:
    if not given.startswith(SCHEMA):
        analyse(parse(given), None, given)
        return
    first, text = given.split("\n", 1)
    types: dict[str, dict[str, Kind]] = {}
    for name, attributes in re.findall(r"([\w-]+|\*)\(([^()]*)\)", first):
        pairs = (pair.split() for pair in attributes.split(","))
        types[name] = {attribute: Kind(kind) for attribute, kind in pairs}
    schema = Schema(types["*"]) if "*" in types else Schema.declared(types)
    analyse(parse(text), schema, text)


def _write_messages() -> None:
    for path in FILES:
        given = path.read_text(encoding="utf-8").split(SEPARATOR)[0]
        try:
            _analyse(given)
        except QuerySemanticError as error:
            path.write_text(f"{given}{SEPARATOR}{error}\n", encoding="utf-8")
        else:
            raise SystemExit(f"{path.name} has nothing wrong")


if __name__ == "__main__":
    _write_messages()
