"""Damaged snapshots whose checksum is right: one number, length, name or type is changed."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from fixtures.states.stored import Case, cases, events  # noqa: E402

CASES = cases("sessions")
START = len(b"cepheid-snapshot") + 8
NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 10**6)


def damaged_state(random: Random) -> tuple[str, Callable[[], None]]:
    """A damaged snapshot, and what a program does with it."""
    case = random.choice(CASES)
    data = bytearray(case.snapshot)
    size = int.from_bytes(data[START : START + 8], "little")
    header = START + 8, START + 8 + size
    change = random.choice((_number, _number, _number, _bytes, _cut, _header))
    what = change(random, data, *header)
    data[START - 4 : START] = zlib.crc32(data[START:]).to_bytes(4, "little")
    return f"{case}: {what}", lambda: _use(case, bytes(data))


def _use(case: Case, data: bytes) -> None:
    session = case.compiled.restore(data)
    session.feed(events(case["after"]))
    session.snapshot()
    session.advance()


def _number(random: Random, data: bytearray, _: int, end: int) -> str:
    """A number of an array becomes another."""
    width = random.choice((1, 4, 8, 8, 8))
    at = end + random.randrange(max((len(data) - end) // width, 1)) * width
    value = random.choice(NUMBERS) if random.random() < 0.7 else random.getrandbits(63)
    if random.random() < 0.3:
        value = int.from_bytes(data[at : at + width], "little") + random.choice((1, -1, 64, -64))
    data[at : at + width] = (value % 256**width).to_bytes(width, "little")[: len(data) - at]
    return f"{width} bytes at {at} are {value}"


def _bytes(random: Random, data: bytearray, _: int, end: int) -> str:
    """Random bytes anywhere behind the header."""
    at = random.randrange(end, len(data))
    size = random.choice((1, 2, 8, 64))
    data[at : at + size] = random.randbytes(len(data[at : at + size]))
    return f"{size} random bytes at {at}"


def _cut(random: Random, data: bytearray, start: int, _: int) -> str:
    at = random.randrange(start, len(data))
    if random.random() < 0.5:
        del data[at:]
        return f"cut at {at}"
    extra = random.randbytes(random.choice((1, 8, 64)))
    data[at:at] = extra
    return f"{len(extra)} bytes more at {at}"


def _header(random: Random, data: bytearray, start: int, end: int) -> str:
    """A value of the JSON header becomes another."""
    content = json.loads(bytes(data[start:end]))
    places = list(_places(content))
    holder, key = random.choice(places)
    before = holder[key]
    kind = random.randrange(4)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = random.choice((None, -1, 2**70, 1e300, "x", [], {}, True, [[]], "<U9", "O"))
    elif kind == 2 and isinstance(before, int):
        holder[key] = before + random.choice((1, -1, 1_000_000))
    else:
        holder[key] = random.choice(places)[0]
        try:
            json.dumps(content)
        except ValueError:  # It would contain itself.
            holder[key] = "x"
    text = json.dumps(content).encode()
    data[start - 8 : end] = len(text).to_bytes(8, "little") + text
    return f"header: {key!r} was {before!r}"[:300]


def _places(value: Any) -> Any:
    """All lists and objects of a JSON value, with an index or a name in them."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs):
        yield value, key
        if isinstance(each, dict | list) and each:
            yield from _places(each)
