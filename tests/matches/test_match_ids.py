"""The id of a match is the same for good, and another match has another one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.matches.ids import MatchIds, digest_column

EVENTS = pa.table(
    {
        "ts": [1, 2, 2, 3],
        "type": ["A", "B", "B", "B"],
        "x": [5, None, 7, 7],
        "y": [0.0, -1.5, float("nan"), None],
        "s": ["", "é", None, "long text, longer than eight bytes"],
        "l": [[1, 2], [], None, [3]],
        "b": [True, None, False, True],
    }
)

SINGLES = [
    "26d5beb05c39c56d398a047082fb5b33",
    "f1bd09875567b66f8a8acee17cd74c61",
    "2500aaafa6a6043d418525eae85121c7",
]
LISTS = [
    "26ac5efbdb0a62b50c79086457451a9d",
    "93a965fa47c69ad810ef30ccf283dbb6",
    "d8572e9db252005b5c05868d297f70b7",
    "a20ffd98b9a2353efc215120dfefa725",
    "8642402f42ba5907d5d3d01c7aac573d",
    "71612f153a651a7936379b1fdad4bc6e",
    "b91dab2592d72361d28a0d7c3f2180bc",
]


def ids(query: str, events: pa.Table) -> list[str]:
    compiled = cep.query(query)
    found, parts = compiled.match(events).parts()
    of = MatchIds(compiled.tree, found, parts).of
    return [each for part in parts for each in of(part).to_pylist()]


def test_ids_that_were_given_once_are_given_again() -> None:
    # A reader recognises what he has read before by them: they may not change.
    assert ids("PATTERN SEQ(A a, B b) WITHIN 5", EVENTS) == SINGLES
    assert ids("PATTERN SEQ(A a, B+ b[]) WITHIN 5", EVENTS) == LISTS


def test_events_of_one_time_that_are_alike_are_told_apart() -> None:
    events = pa.table({"ts": [1] + [2] * 300, "type": ["A"] + ["B"] * 300, "x": [1] * 301})
    found = ids("PATTERN SEQ(A a, B b)", events)
    assert len(set(found)) == len(found) == 300


def test_the_id_of_a_match_depends_on_no_other_match() -> None:
    query = cep.query("PATTERN SEQ(A a, B b) WITHIN 5")
    found, [part] = query.match(EVENTS).parts()
    together = MatchIds(query.tree, found, [part]).of(part).to_pylist()
    for ix in range(len(part)):
        one = part.slice(ix, ix + 1)
        assert MatchIds(query.tree, found, [one]).of(one).to_pylist() == together[ix : ix + 1]


def test_events_with_maps_have_ids() -> None:
    maps = pa.array([[("k", 1)], [], None, [("k", 2)]], pa.map_(pa.string(), pa.int64()))
    table = EVENTS.append_column("m", maps)
    found = ids("PATTERN SEQ(A a, B b) WITHIN 5", table)
    assert len(set(found)) == 3
    assert found == ids("PATTERN SEQ(A a, B b) WITHIN 5", table)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**64 - 1, 1, None, 1], pa.uint64()),
        pa.array([b"ab", b"cd", None, b"cd"], pa.binary(2)),
        pa.array([b"a", b"b", None, b"b"], pa.binary_view()),
        pa.array([[1, 2], [3, 4], None, [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([[1], [2, 3], None, [2, 3]], pa.list_view(pa.int64())),
        pa.array([1, 2, None, 2], pa.time32("s")),
        pa.array([(1, 2, 3), (1, 2, 4), None, (1, 2, 4)], pa.month_day_nano_interval()),
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"a" * 16, b"b" * 16, None, b"b" * 16], pa.binary(16))
        ),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], pa.array([1, 2, None, 2])),
    ],
    ids=lambda values: str(values.type),
)
def test_values_of_all_types_have_digests(values: pa.Array) -> None:
    one, two, null, again = digest_column(values).tolist()
    assert two == again
    assert len({one, two, null}) == 3
