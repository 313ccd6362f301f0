"""Files of rules: fields in TOML or YAML and a query, changed, cut and written over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import cepheid as cep
from fuzz.texts import hostile_text, mutated

FIELDS = (
    '+++\nname = "theft"\nseverity = "high"\ntags = ["retail", "theft"]\n'
    "parameters = { T = 5, W = '10 seconds' }\nat_most_once_per = '1 hour'\n+++\n",
    "---\nname: theft\nseverity: low\ntags: [retail]\nparameters: {T: 5}\nenabled: false\n---\n",
    "---\ntags:\n  - a\n  - b\ndescription: >\n  two\n  lines\noutput: leftmost\n---\n",
    '+++\nname = "other"\n[parameters]\nT = 1979-05-27T07:32:00Z\n[[tags]]\n+++\n',
    "---\na: &a [*a]\nb: !!python/object:os.system x\n---\n",
    "",
)
QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10"
ODD = (b"\xff\xfe", b"\x00", b"\r\n", b"---\n", b"+++\n", "\u2028".encode(), b"\xed\xa0\x80", b": ")


def hostile_rules(random: Random) -> tuple[str, Callable[[], object]]:
    """Some files of rules, and what a program does with their folder."""
    files = [_rule(random) for _ in range(random.choice((1, 1, 2, 4)))]
    return repr(files), lambda: use(files, matches=random.random() < 0.1)


def _rule(random: Random) -> bytes:
    fields = random.choice(FIELDS)
    if random.random() < 0.7:
        fields = mutated(random, fields)
    query = QUERY if random.random() < 0.7 else hostile_text(random)
    data = (fields + query).encode("utf-8", "surrogatepass")
    for _ in range(random.choice((0, 0, 1, 2))):
        at = random.randrange(len(data) + 1)
        data = data[:at] + random.choice(ODD) + data[at + random.choice((0, 1, 5)) :]
    return data


def use(files: list[bytes], *, matches: bool) -> None:
    """Read a folder of rules, check and print them, and perhaps match with them."""
    with TemporaryDirectory() as folder:
        for number, data in enumerate(files):
            path = Path(folder, f"rule{number}.{'sql' if number % 3 == 2 else 'sase'}")
            path.write_bytes(data)
        rules = cep.rules(folder)
        rules.check()
        rules.check({"A": ["x", "k"], "B": ["x", "k"]})
        repr(rules)
        for name in rules:
            str(rules[name])
        if matches:
            events = {"ts": [1, 2], "type": ["A", "B"], "x": [1, 2], "k": [1, 1]}
            repr(rules.match(events, evaluation="reference", max_matches=1_000))
