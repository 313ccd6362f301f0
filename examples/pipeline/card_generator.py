"""Card events as JSON Lines: payments with some fraud, and all that a real feed has besides.

Some lines are no JSON, some values cannot be read, some events come twice, and some come late.
The same seed gives the same files.
"""

from __future__ import annotations

import json
import os
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

BEGIN = datetime(2024, 5, 1)
CARDS = 200
DELAYED = timedelta(minutes=5)
"""By how much some events come after newer ones: less than the lateness of the pipeline."""


def generate(folder: Path, *, files: int = 12, minutes: int = 240, seed: int = 7) -> int:
    """Write files of events for so many minutes; the number of lines."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(seed)
    events = _events(generator, minutes)
    arrived = sorted(events, key=lambda each: each[0])
    lines = [json.dumps(event) for _, event in arrived]
    for _ in range(len(lines) // 50):  # the same event again, a little later
        place = generator.randrange(len(lines) - 10)
        lines.insert(place + generator.randrange(10), lines[place])
    for bad in _BAD:
        lines.insert(generator.randrange(len(lines)), bad)
    late = {**events[0][1], "event_id": "late", "ts": _text(BEGIN)}
    end = BEGIN + timedelta(minutes=minutes + 60)
    lines += [json.dumps(late), json.dumps(_event("end", end, "Heartbeat", "none"))]
    size = -(-len(lines) // files)
    for number in range(files):
        path = folder / f"{number:04}.jsonl"
        part = folder.parent / path.name  # a stream never sees half a file
        part.write_text("\n".join(lines[number * size : (number + 1) * size]) + "\n")
        os.utime(part, (1_714_521_600 + number, 1_714_521_600 + number))
        part.rename(path)
    return len(lines)


_BAD = (
    '{"event_id": "x1", "ts": "2024-05-01T',
    "no JSON at all",
    '{"event_id": "x2", "type": "Payment", "card": "c1", "amount": "5"}',
    '{"event_id": "x3", "ts": "yesterday", "type": "Payment", "card": "c1", "amount": "5"}',
    '{"event_id": "x4", "ts": "2024-05-01T00:10:00", "type": "Pament", "card": "c1"}',
    '{"event_id": "x5", "ts": "2024-05-01T00:10", "type": "Payment", "card": "c1", "amount": "?"}',
    '{"ts": "2024-05-01T00:10:00", "type": "Login", "card": "c1"}',
)


def _events(generator: random.Random, minutes: int) -> list[tuple[datetime, dict[str, Any]]]:
    """Events with the times at which they arrive."""
    found: list[tuple[datetime, dict[str, Any]]] = []

    def add(
        time: datetime, type: str, card: str, amount: float | None = None, at: str = "DE"
    ) -> None:
        delay = DELAYED * generator.random() if generator.random() < 0.2 else timedelta()
        event = _event(f"e{len(found)}", time, type, card, amount, at)
        found.append((time + delay, event))

    for minute in range(minutes):
        for _ in range(8):
            time = BEGIN + timedelta(minutes=minute, milliseconds=generator.randrange(60_000))
            card = f"c{generator.randrange(CARDS)}"
            add(time, "Login", card)
            amount = round(generator.expovariate(1 / 60), 2) + 6
            add(time + timedelta(seconds=20), "Payment", card, amount)
            if amount > 500:
                add(time + timedelta(seconds=50), "Confirm", card)
        if minute % 20 == 10:  # a stolen card
            time, card = BEGIN + timedelta(minutes=minute), f"c{generator.randrange(CARDS)}"
            for number in range(4):
                add(time + timedelta(seconds=30 * number), "Payment", card, 1 + number)
            add(time + timedelta(seconds=150), "Payment", card, 900.0, "FR")
    return found


def _event(
    name: str, time: datetime, type: str, card: str, amount: float | None = None, at: str = "DE"
) -> dict[str, Any]:
    shown = None if amount is None else str(amount)
    return {
        "event_id": name,
        "ts": _text(time),
        "type": type,
        "card": card,
        "amount": shown,
        "country": at,
    }


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
