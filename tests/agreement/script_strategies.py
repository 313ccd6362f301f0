"""Random scripts of two or three queries, made so that later ones find what earlier ones make."""

from __future__ import annotations

from random import Random

from agreement.strategies import STRATEGIES, Case, Part, streams
from hypothesis import strategies as st

MADE = ("X", "Y")


@st.composite
def parts_over(draw: st.DrawFn, made: tuple[str, ...]) -> list[Part]:
    """The components of a pattern over A, B, C and the types that earlier queries make."""
    parts: list[Part] = []
    plain = ("A", "B", "C", *made, *made, *made)
    mixed = ("ANY(A, B)", *(f"ANY(B, {name})" for name in made))
    number = draw(st.integers(1, 3))
    for ix in range(number):
        name = "abcd"[ix]
        types = draw(st.sampled_from((*plain, *plain, *mixed)))
        shape = draw(st.sampled_from(("one",) * 5 + ("plus", "star", "bounded", "not", "not")))
        if shape == "not" and number > 1:
            parts.append(Part(f"~({types} {name})", name, False, True))
        elif shape in ("plus", "star", "bounded"):
            mark = {"plus": "+", "star": "*", "bounded": "{1,2}"}[shape]
            parts.append(Part(f"{types}{mark} {name}[]", name, True, False))
        else:
            parts.append(Part(f"{types} {name}", name, False, False))
    if all(part.negated for part in parts):
        parts[0] = Part(f"{plain[-1]} a", "a", False, False)
    return parts


@st.composite
def items(draw: st.DrawFn, parts: list[Part]) -> str:
    """What a composite event has: sometimes all attributes of the others, sometimes fewer."""
    part = draw(st.sampled_from([part for part in parts if not part.negated]))
    name = part.variable
    if part.kleene:
        x = draw(st.sampled_from((f"sum({name}[].x)", f"{name}.LEN", f"max({name}[].x) + 1")))
        y = draw(st.sampled_from((f"avg({name}[].y)", f"min({name}[].y)", f"{name}[2].y")))
        k, s, others = f"{name}[1].k", f"last({name}[].s)", f"all = {name}[].x, n = {name}.LEN"
    else:
        x = draw(st.sampled_from((f"{name}.x", f"{name}.x * 2", f"{name}.x / 2")))
        y, k, s, others = f"{name}.y - 1", f"{name}.k", f"{name}.s", f"copy = {name}, {name}.ts"
    chosen = [f"x = {x}", f"k = {k}"]
    kept = draw(st.sampled_from((0, 0, 0, 0, 0, 1, 2, 4)))
    chosen += [f"y = {y}"] if not kept & 1 else []
    chosen += [f"s = {s}"] if not kept & 2 else []
    chosen += [others] if kept & 4 else []
    return ", ".join(chosen)


@st.composite
def conditions(draw: st.DrawFn, parts: list[Part]) -> str:
    """A few conditions only: each that is new has to be compiled, and others test them all."""
    part, other = (draw(st.sampled_from(parts)) for _ in range(2))
    if part.kleene:
        return f"{part.variable}[i].x >= {part.variable}[1].x"
    if part is not other and not other.kleene and not (part.negated and other.negated):
        return f"{part.variable}.x <= {other.variable}.x"
    if part.text.startswith(MADE):
        return draw(
            st.sampled_from(
                (f"{part.variable}.end - {part.variable}.start < 4", f"{part.variable}.ts % 2 = 0")
            )
        )
    return f"{part.variable}.x >= 1"


@st.composite
def queries(draw: st.DrawFn, made: tuple[str, ...], makes: str | None) -> str:
    parts = draw(parts_over(made))
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    strategy = draw(st.sampled_from(("skip_till_any_match",) * 5 + STRATEGIES))
    if draw(st.integers(0, 9)) == 0:
        pattern = f"OR({pattern}, SEQ(C c9, {draw(st.sampled_from(('A', *made)))} a9))"
    elif strategy == "skip_till_any_match" and draw(st.integers(0, 14)) == 0 and len(parts) > 1:
        pattern = pattern.replace("SEQ", "AND")
    tests = draw(st.lists(conditions(parts), max_size=1))
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(st.sampled_from(("[k]", "[k]", "[k, s]", "[k = 1]"))))
    size = draw(st.integers(2, 9))
    window = draw(st.sampled_from(("", "", "", " EVENTS", " EVENTS", " EVENTS PER PARTITION")))
    returns = f"RETURN {makes}({draw(items(parts))})" if makes else ""
    where = f"WHERE {strategy} {{ {' AND '.join(tests)} }}"
    return f"PATTERN {pattern} {where} WITHIN {size}{window} {returns}"


@st.composite
def script_cases(draw: st.DrawFn) -> Case:
    """A script, and a stream."""
    texts = [draw(queries((), "X"))]
    if draw(st.integers(0, 2)):
        second = draw(st.sampled_from(("X", "Y", "Y", "Y")))
        texts.append(draw(queries(() if second == "X" else ("X",), second)))
    made = tuple(name for name in MADE if any(f"RETURN {name}(" in text for text in texts))
    texts.append(draw(queries(made, draw(st.sampled_from((None, "Z9"))))))
    return Case(";\n".join(texts), draw(st.one_of(streams(most=9), busy_streams())))


@st.composite
def busy_streams(draw: st.DrawFn) -> tuple:
    """Many events with few values, as Hypothesis by itself prefers few events."""
    rng = Random(draw(st.integers(0, 10_000)))
    now, rows = 0, []
    for _ in range(rng.randint(6, 10)):
        now += rng.choice((0, 0, 1, 1, 2))
        values = (rng.randint(0, 3), rng.choice((0.5, 2.0)), rng.choice((1, 1, 2)), "p")
        rows.append((now, rng.choice("AABBC"), *values))
    return tuple(rows)
