"""Draws the automata of a query: as an SVG picture, or as a Mermaid flowchart.

Documentation tools and code hosts draw Mermaid. It places the states, and shows only one loop at a
state: take and ignore share it. The formulas are in a box below the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import AUTO, LAZY_CHAIN, LAZY_TREE, NFA_B
from cepheid.engines.base.statistics import check_statistics
from cepheid.errors import OptionError, list_words
from cepheid.explain.automaton import REJECTING, Automaton, EdgeKind, nfa_b_automata
from cepheid.explain.chain import lazy_chains, lazy_trees
from cepheid.explain.svg import draw_automata
from cepheid.language.printer import print_pattern
from cepheid.visible import visible

Draw = TypeVar("Draw")

_WIDTH = 90
HEAD = '%%{init: {"flowchart": {"wrappingWidth": 900}}}%%\nflowchart TB\n'
"""What a flowchart begins with."""
_LOOP, _IGNORE_LOOP = "-->", "-.->"
# Arrows with an extra dash, so that the labels of loops and arrows do not overlap.
_ARROWS = {EdgeKind.BEGIN: "--->", EdgeKind.TAKE: "--->", EdgeKind.PROCEED: "===>"}
_PASSES = "-..->"
"""The arrow of an edge that an instance takes because there is no event."""
# Characters that Mermaid would read as its own syntax or as HTML are written as entities.
_ENTITIES = {ord(letter): f"#{ord(letter)};" for letter in '"#&<>`\\'}


def write_mermaid(query: AnalysedQuery, automata: Sequence[Automaton]) -> str:
    """The automata of the alternatives of a query, as one flowchart.

    Arrows of begin and take edges are thin, of ignore and store edges dotted, and of proceed edges
    thick. Those that leave a negative state because there is no event are dotted too. An edge with
    a false formula is left out.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.explain.automaton import nfa_b_automata
    >>> query = analyse(parse("PATTERN SEQ(A a, B b) WHERE b.x < a.x"))
    >>> print(write_mermaid(query, nfa_b_automata(query)))
    %%{init: {"flowchart": {"wrappingWidth": 900}}}%%
    flowchart TB
        subgraph states_1["SEQ(A a, B b)"]
            direction LR
            s1_0(("a"))
            s1_1(("b"))
            s1_2((("F")))
            s1_0 --->|"begin"| s1_1
            s1_1 --->|"begin"| s1_2
            s1_1 -.->|"ignore"| s1_1
        end
        formulas_1["θ_a_begin = a ∈ A<br/>θ_b_begin = b ∈ B ∧ b.x #60; a.x<br/>θ_b_ignore = True"]
        style formulas_1 text-align:left
        states_1 ~~~ formulas_1
    <BLANKLINE>
    """
    lines: list[str] = []
    for number, automaton in enumerate(automata, start=1):
        shown = print_pattern(query.query.pattern)
        if len(query.alternatives) > 1:
            shown = automaton.heading(number)
        lines += [
            f"subgraph states_{number}[{quoted([shown])}]",
            *_indented(["direction LR", *_states(automaton, f"s{number}_")]),
            "end",
            f"formulas_{number}[{quoted(_formulas(automaton))}]",
            f"style formulas_{number} text-align:left",
            f"states_{number} ~~~ formulas_{number}",
        ]
        if number > 1:
            lines.append(f"formulas_{number - 1} ~~~ states_{number}")
    return HEAD + "\n".join((*_indented(lines), ""))


def _states(automaton: Automaton, prefix: str) -> Iterator[str]:
    for ix, state in enumerate(automaton.states):
        name = quoted([state.name])
        yield f"{prefix}{ix}" + (f"((({name})))" if state.is_final else f"(({name}))")
    if any(edge.target is None for edge in automaton.edges):
        yield f'{prefix}{REJECTING}(("{REJECTING}"))'
    possible = [edge for edge in automaton.edges if not edge.formula.is_false]
    for ix in range(len(automaton.states)):
        leaving = [edge for edge in possible if edge.source == ix]
        for edge in leaving:
            if edge.target != ix:
                arrow = f'{_ARROWS.get(edge.kind, _PASSES)}|"{edge.kind.value}"|'
                target = REJECTING if edge.target is None else edge.target
                yield f"{prefix}{ix} {arrow} {prefix}{target}"
        loops = [edge.kind for edge in leaving if edge.target == ix]
        if loops:
            label = ", ".join(kind.value for kind in loops)
            arrow = _LOOP if EdgeKind.TAKE in loops else _IGNORE_LOOP
            yield f'{prefix}{ix} {arrow}|"{label}"| {prefix}{ix}'


def _formulas(automaton: Automaton) -> Iterator[str]:
    for edge in automaton.edges:
        first, *rest = edge.formula.lines(_WIDTH)
        yield from (f"{edge.name} = {first}", *rest)
    for negated in automaton.filters:
        yield from (f"no {negated.name} {negated}:", *negated.formula.lines(_WIDTH))


def quoted(lines: Iterable[str]) -> str:
    """Lines as a label of Mermaid."""
    return '"' + "<br/>".join(visible(line.strip()).translate(_ENTITIES) for line in lines) + '"'


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


DRAWN = (NFA_B, LAZY_CHAIN, LAZY_TREE)
"""The evaluations with automata that can be drawn."""
_FORMATS = {"mermaid": write_mermaid, "svg": draw_automata}


def format_named(name: str, formats: Mapping[str, Draw]) -> Draw:
    """What draws in the format with this name."""
    if name not in formats:
        known = list_words(list(formats))
        raise OptionError(f"an automaton has no format {name!r}; it has {known}")
    return formats[name]


def check_drawing(format: str, evaluation: str) -> None:
    """Refuse an unknown format, and an evaluation without an automaton."""
    format_named(format, _FORMATS)
    if evaluation not in (AUTO, *DRAWN):
        raise OptionError(
            f"there is no drawing of an automaton of {evaluation!r}; there is one of "
            + list_words(DRAWN)
        )


def drawn_evaluation(
    query: AnalysedQuery, evaluation: str, statistics: Mapping[str, float] | None
) -> str:
    """The evaluation to draw; ``auto`` is the first one that has automata."""
    if evaluation != AUTO:
        return evaluation
    are_sequences = all(each.is_sequence for each in query.alternatives)
    return NFA_B if are_sequences and statistics is None else LAZY_CHAIN


def draw(
    query: AnalysedQuery,
    format: str,
    evaluation: str,
    statistics: Mapping[str, float] | None,
    *,
    is_basic: bool = False,
) -> str:
    """The automata that the evaluation runs, drawn in this format.

    Those of nfa_b can be ``is_basic``: with the formulas that they have before optimisation.
    """
    if is_basic and evaluation != NFA_B:
        raise OptionError(f"basic formulas are those of {NFA_B}, and {evaluation} runs the query")
    if statistics is not None:
        check_statistics(statistics)
    if evaluation == LAZY_TREE:
        return _FORMATS[format](query, lazy_trees(query))
    if evaluation == NFA_B:
        return _FORMATS[format](query, nfa_b_automata(query, is_basic=is_basic))
    automata = lazy_chains(query, statistics)
    return _FORMATS[format](query, automata)
