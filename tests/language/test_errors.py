"""Bad queries with their exact messages, one file of ``errors/`` for each.

A file holds the query, a line ``---``, and the message. To add one, write the query and the line,
then let this module write the message, and read it as somebody who made the mistake would::

    PYTHONPATH=src python tests/language/test_errors.py

It writes the messages of all files anew: what changed is in the diff.
"""

from pathlib import Path

import pytest

from cepheid.errors import QuerySyntaxError
from cepheid.language.parser import parse

FILES = sorted(Path(__file__).parent.joinpath("errors").glob("*.txt"))
SEPARATOR = "\n---\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_query_has_this_message(path):
    text, message = path.read_text(encoding="utf-8").split(SEPARATOR)
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert str(caught.value) + "\n" == message


def test_the_message_names_the_source_of_the_query():
    with pytest.raises(QuerySyntaxError, match=r"^theft\.sase:2:3: unexpected 'WHER'"):
        parse("PATTERN A a\n  WHER a.x = 1", source="theft.sase")


def test_an_error_is_a_value_with_fields():
    with pytest.raises(QuerySyntaxError) as caught:
        parse("PATTERN A a\nWITHIN 10 minuts")
    [fault] = caught.value.faults
    assert caught.value.text[fault.span.start : fault.span.end] == "minuts"
    assert fault.found == "minuts"
    assert fault.candidates == ("minutes",)


def _write_messages() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8").split(SEPARATOR)[0]
        try:
            parse(text)
        except QuerySyntaxError as error:
            path.write_text(f"{text}{SEPARATOR}{error}\n", encoding="utf-8")
        else:
            raise SystemExit(f"{path.name} has nothing wrong")


if __name__ == "__main__":
    _write_messages()
