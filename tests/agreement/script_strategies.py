"""Random scripts of two or three queries, made so that later ones find what earlier ones make."""

from __future__ import annotations

from agreement.strategies import STRATEGIES, Case, Part, conditions, streams, windows
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
    chosen += [f"y = {y}"] if draw(st.integers(0, 4)) else []
    chosen += [f"s = {s}"] if draw(st.integers(0, 3)) else []
    chosen += [others] if draw(st.integers(0, 2)) == 0 else []
    return ", ".join(chosen)


@st.composite
def queries(draw: st.DrawFn, made: tuple[str, ...], makes: str | None) -> str:
    parts = draw(parts_over(made))
    pattern = f"SEQ({', '.join(part.text for part in parts)})"
    if draw(st.integers(0, 9)) == 0:
        pattern = f"OR({pattern}, SEQ(C c9, {draw(st.sampled_from(('A', *made)))} a9))"
    elif draw(st.integers(0, 14)) == 0 and len(parts) > 1:
        pattern = pattern.replace("SEQ", "AND")
    # A condition on a time shows whether times are right.
    tests = [draw(conditions(parts)) for _ in range(draw(st.integers(0, 2)))]
    for part in parts:
        if part.text.startswith(MADE) and not part.kleene and draw(st.booleans()):
            text = f"{part.variable}.end - {part.variable}.start < 4"
            tests.append(draw(st.sampled_from((text, f"{part.variable}.ts % 2 = 0"))))
    if draw(st.integers(0, 2)) == 0:
        tests.append(draw(st.sampled_from(("[k]", "[k]", "[k, s]", "[k = 1]"))))
    needs_window = any(part.negated for part in parts)
    window = draw(windows(needs_window)) or draw(windows(True))
    strategy = draw(st.sampled_from(("skip_till_any_match", *STRATEGIES)))
    returns = f"RETURN {makes}({draw(items(parts))})" if makes else ""
    return f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(tests)} }} {window} {returns}"


@st.composite
def script_cases(draw: st.DrawFn) -> Case:
    """A script, and a stream."""
    texts = [draw(queries((), "X"))]
    if draw(st.integers(0, 2)):
        second = draw(st.sampled_from(("X", "Y", "Y", "Y")))
        texts.append(draw(queries(() if second == "X" else ("X",), second)))
    made = tuple(name for name in MADE if any(f"RETURN {name}(" in text for text in texts))
    texts.append(draw(queries(made, draw(st.sampled_from((None, "Z9"))))))
    return Case(";\n".join(texts), draw(streams(most=9)))
