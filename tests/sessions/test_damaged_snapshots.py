"""A damaged snapshot with a right checksum is refused: no crash, no hang, no other error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fixtures.states import damage
from fixtures.states.stored import cases

import cepheid as cep
from cepheid.errors import SnapshotError

TESTS = Path(__file__).parents[1]
MUTATIONS = 60
SECONDS = 300
QUERY = cep.query("PATTERN SEQ(A a, B b) WITHIN 10")


def test_a_damaged_snapshot_is_refused_or_harmless() -> None:
    program = [sys.executable, damage.__file__, str(MUTATIONS)]
    environment = {"PYTHONPATH": f"{Path(cep.__file__).parents[1]}:{TESTS}"}
    try:
        done = subprocess.run(
            program, env=os.environ | environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as expired:
        printed = bytes(expired.stdout or b"").decode().splitlines()
        pytest.fail(f"hangs: {printed[-1:]}")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("wrong")] == []
    assert done.returncode == 0, (lines[-1:], done.stderr[-500:])


def test_most_damage_to_numbers_of_engines_is_found() -> None:
    case = next(case for case in cases("sessions") if case.name == "kleene_next")
    refused = 0
    for number in range(60):
        try:
            case.compiled.restore(damage.mutation(case, number)[1], **case["keywords"])
        except SnapshotError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    "value", [b"", b"x", b"cepheid-snapshot", bytes(1000), memoryview(b"")[::2], bytearray()]
)
def test_bytes_that_are_no_snapshot_are_refused(value: Any) -> None:
    with pytest.raises(SnapshotError):
        QUERY.restore(value)


def test_a_snapshot_without_a_checksum_is_refused() -> None:
    session = QUERY.session()
    session.feed({"ts": [1], "type": ["A"]})
    with pytest.raises(SnapshotError, match="no checksum"):
        QUERY.restore(b"".join(session.snapshot_parts()))


def test_the_message_names_what_is_damaged_and_what_to_do() -> None:
    session = QUERY.session()
    session.feed({"ts": [1], "type": ["A"]})
    header, arrays = damage.unpack(session.snapshot())
    del arrays["counts"]
    with pytest.raises(SnapshotError, match=r"lacks the array 'counts'; restore an earlier one"):
        QUERY.restore(damage.sealed(damage.pack(header, arrays)))


def test_retained_events_out_of_order_are_refused() -> None:
    session = QUERY.session()
    session.feed({"ts": [1, 2, 3], "type": ["A", "A", "A"]})
    header, arrays = damage.unpack(session.snapshot())
    (name,) = [each for each in arrays if each.endswith("retained.ticks")]
    arrays[name][1] = -(2**63)
    with pytest.raises(SnapshotError, match="not in time order"):
        QUERY.restore(damage.sealed(damage.pack(header, arrays)))


def test_a_header_that_nests_too_deep_is_refused() -> None:
    session = QUERY.session()
    session.feed({"ts": [1], "type": ["A"]})
    text = b"[" * 100_000
    data = b"cepheid-unsealed" + bytes(8) + len(text).to_bytes(8, "little") + text
    with pytest.raises(SnapshotError):
        QUERY.restore(damage.sealed([data[:24], data[24:]]))
