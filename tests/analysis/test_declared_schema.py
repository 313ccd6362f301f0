"""A declaration of each type's attributes, and what is wrong with it."""

import pytest

from cepheid.errors import OptionError
from cepheid.schema import Kind, Schema


def test_attributes_are_declared_by_name_or_by_name_and_kind() -> None:
    schema = Schema.declared(
        {"Shelf": ["tag_id"], "Exit": {"tag_id": "String", "door": Kind.INTEGER}}
    )
    assert schema.types == {"Shelf": {"tag_id"}, "Exit": {"tag_id", "door"}}
    assert schema.attributes == {"tag_id": Kind.STRING, "door": Kind.INTEGER}


def test_names_may_come_from_a_generator() -> None:
    schema = Schema.declared({"Shelf": (name for name in ("tag_id", "zone"))})
    assert schema.has_attribute("Shelf", "zone")


def test_kinds_that_are_left_out_are_those_of_the_columns() -> None:
    columns = Schema({"tag_id": Kind.STRING, "zone": Kind.INTEGER})
    assert Schema.declared({"Shelf": ["zone"]}, columns).kind("zone") is Kind.INTEGER


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"Shelf": "tag_id"},
            "Shelf is declared as 'tag_id'; attributes are given as a list or a mapping",
        ),
        (
            {"Shelf": None},
            "Shelf is declared as None; attributes are given as a list or a mapping",
        ),
        ({"Shelf": [1]}, "the name of an attribute is a string, and Shelf has 1"),
        (
            {"Shelf": {"zone": int}},
            "the data type of an attribute is a string, and 'zone' of Shelf has <class 'int'>",
        ),
        (
            {"Shelf": {"tag_id": "strng"}},
            "attribute 'tag_id' of Shelf has the data type 'strng'; data types are integer, float, "
            "boolean, string, timestamp, date, duration, list and other. Did you mean 'string'?",
        ),
        (
            {"Shelf": {"x": "integer"}, "Exit": {"x": "string"}},
            "attribute 'x' is integer in Shelf and string in Exit; one name has one data type",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(declared: dict, message: str) -> None:
    with pytest.raises(OptionError) as error:
        Schema.declared(declared)
    assert str(error.value) == message
