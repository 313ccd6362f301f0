"""Parameters as windows and as bounds of repetitions."""

import pytest

import cepheid as cep
from cepheid.language.parser import parse
from cepheid.language.printer import print_query


@pytest.mark.parametrize(
    ("value", "window"),
    [
        ("10s", "10 seconds"),
        ("10 s", "10 seconds"),
        ("1.5h", "1.5 hours"),
        ("10 minutes", "10 minutes"),
        ("5 events", "5 events"),
        (7, "7"),
    ],
)
def test_a_parameter_can_be_a_window(value, window):
    printed = print_query(parse("PATTERN SEQ(A a, B b) WITHIN W", parameters={"W": value}))
    assert printed.splitlines()[-1].casefold() == f"within {window}"


@pytest.mark.parametrize(
    ("bounds", "printed"),
    [
        ("{N}", "{3,3}"),
        ("{N,}", "{3,}"),
        ("{1,N}", "{1,3}"),
        ("{N,M}", "{3,5}"),
        ("{0, M}", "{0,5}"),
    ],
)
def test_parameters_can_be_bounds(bounds, printed):
    parameters = {name: value for name, value in (("N", 3), ("M", 5)) if name in bounds}
    query = parse(f"PATTERN SEQ(A a, B{bounds} b[])", parameters=parameters)
    assert f"B{printed} b[]" in print_query(query)
    assert parse(print_query(query)) == query


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "the name 'N' has no value"),
        ({"N": 1.5}, "a repetition needs an integer, not 1.5"),
        ({"N": -1}, "a repetition needs an integer, not -1"),
        ({"N": "3"}, "a repetition needs an integer, not '3'"),
    ],
)
def test_bounds_are_whole_numbers(parameters, message):
    with pytest.raises(cep.QuerySyntaxError, match=message):
        parse("PATTERN B{N} b[]", parameters=parameters)


@pytest.mark.parametrize("value", ["soon", "10 parsecs", "1.5 events", ""])
def test_other_strings_are_no_windows(value):
    with pytest.raises(cep.QuerySyntaxError, match="is not a window"):
        parse("PATTERN SEQ(A a, B b) WITHIN W", parameters={"W": value})
