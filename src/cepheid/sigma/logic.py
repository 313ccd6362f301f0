"""Conditions of Sigma, which are true or false, in the three-valued logic of the language.

In Sigma a test of a field that an event does not have is false, and its negation is true. In the
language both are unknown. So a negation is moved down to the tests, where null is asked for:
``not x: 5`` is ``(e.x IS NULL OR NOT e.x = 5)``. A test that is not negated needs no such help:
without negations, a condition is true if and only if it is true with unknown tests taken as false.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one event; it is unknown if one of ``nullable`` is null."""

    text: str
    nullable: tuple[str, ...] = ()

    def negation(self) -> Test:
        """The test that is true whenever this one is not true."""
        nulls = [f"{each} IS NULL" for each in dict.fromkeys(self.nullable)]
        text = " OR ".join([*nulls, f"NOT {self.text}"])
        return Test(f"({text})" if nulls else text)


@dataclass(frozen=True, slots=True)
class Equality:
    """``left`` is equal to one of ``values``, which are literals; null if ``nullable`` is."""

    left: str
    values: tuple[str, ...]
    nullable: str

    def test(self) -> Test:
        """The test as text."""
        one = len(self.values) == 1
        right = f"= {self.values[0]}" if one else f"IN ({', '.join(self.values)})"
        return Test(f"{self.left} {right}", (self.nullable,))


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions of which all are true (AND), or at least one (OR)."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """A condition that is not true."""

    part: Condition


Condition = bool | Test | Equality | Joined | Negation


def any_of(parts: Iterable[Condition]) -> Condition:
    """At least one is true; equalities of the same attribute become one IN.

    >>> conjuncts(any_of([Equality("e.x", ("1",), "e.x"), Equality("e.x", ("2",), "e.x")]))
    ['e.x IN (1, 2)']
    """
    kept: dict[object, Condition] = {}
    for number, each in enumerate(parts):
        key: object = number
        if isinstance(each, Equality):
            key = each.left
            before = kept.get(key)
            if isinstance(before, Equality):
                values = dict.fromkeys((*before.values, *each.values))
                each = Equality(each.left, tuple(values), each.nullable)
        kept[key] = each
    return Joined("OR", tuple(kept.values()))


def conjuncts(condition: Condition) -> list[str] | bool:
    """The conditions of WHERE that together are true if the condition is; or its constant value.

    >>> conjuncts(Negation(Joined("OR", (Test("e.x > 5", ("e.x",)), Test("e.y IS NULL")))))
    ['(e.x IS NULL OR NOT e.x > 5)', 'NOT e.y IS NULL']
    """
    normal = _normal(condition, False)
    if isinstance(normal, bool):
        return normal
    if isinstance(normal, Joined) and normal.word == "AND":
        return [_text(each) for each in normal.parts]
    return [_text(normal)]


def as_text(condition: Condition) -> str:
    """The condition as one text.

    >>> as_text(Joined("OR", (Test("a"), Joined("AND", (Test("b"), Test("c"), True)))))
    '(a OR (b AND c))'
    """
    normal = _normal(condition, False)
    return str(normal).upper() if isinstance(normal, bool) else _text(normal)


def _normal(condition: Condition, negated: bool) -> bool | Test | Joined:
    """The condition, or its negation, without negations and constants inside."""
    match condition:
        case bool():
            return condition != negated
        case Equality():
            return _normal(condition.test(), negated)
        case Test():
            return condition.negation() if negated else condition
        case Negation(part):
            return _normal(part, not negated)
        case Joined(word, parts):
            is_or = (word == "OR") != negated
            normal = [_normal(each, negated) for each in parts]
            if is_or in normal:  # one constant decides
                return is_or
            kept = [each for each in normal if not isinstance(each, bool)]
            if not kept:
                return not is_or
            word = "OR" if is_or else "AND"
            flat = [
                inner
                for each in kept
                for inner in (
                    each.parts if isinstance(each, Joined) and each.word == word else (each,)
                )
            ]
            return kept[0] if len(kept) == 1 else Joined(word, tuple(flat))


def _text(condition: Condition) -> str:
    if isinstance(condition, Joined):
        return f"({f' {condition.word} '.join(map(_text, condition.parts))})"
    assert isinstance(condition, Test)
    return condition.text
