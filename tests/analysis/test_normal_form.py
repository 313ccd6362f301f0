"""Normal forms say the same as the condition, in three-valued logic and for missing attributes."""

from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.analysis.normal_form import MAX_CLAUSES, clauses, conjuncts, predicates, push_not
from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.reference.interpreter import Event, Interpreter, Truth

NAMES = ("p", "q", "r", "s")
ATOMS = [ast.Comparison("=", ast.Attribute("a", name), ast.Literal(1)) for name in NAMES]


def _joined(parts: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(ast.Not, parts), st.builds(ast.And, several), several.map(ast.Or))


conditions = st.recursive(st.sampled_from(ATOMS), _joined, max_leaves=12)
# A comparison with 1 is true, false, unknown, and true either way for a missing attribute.
assignments = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([1, 0, None]))


def truth(condition: ast.Expression, values: dict[str, int | None]) -> Truth:
    return Interpreter({"a": Event(0, 0, "A", values)}, {}).truth(condition)


@given(conditions, assignments)
def test_pushing_not_down_keeps_the_truth(
    condition: ast.Expression, values: dict[str, int | None]
) -> None:
    assert truth(push_not(condition), values) is truth(condition, values)
    assert truth(push_not(condition, positive=False), values) is truth(ast.Not(condition), values)


@given(conditions)
def test_not_stands_only_above_predicates(condition: ast.Expression) -> None:
    for node in push_not(condition).walk():
        if isinstance(node, ast.Not):
            assert node.operand in ATOMS


@given(conditions)
def test_and_is_not_nested_in_and_nor_or_in_or(condition: ast.Expression) -> None:
    for node in push_not(condition).walk():
        if isinstance(node, ast.And | ast.Or):
            assert not any(isinstance(operand, type(node)) for operand in node.operands)


@given(conditions, assignments)
@example(ast.Or((ATOMS[0], ast.And((ATOMS[0], ATOMS[1])))), {"p": None, "q": 1})
@example(ast.Or((ATOMS[0], ast.Not(ATOMS[0]))), {"p": None})
def test_clauses_have_the_truth_of_the_condition(
    condition: ast.Expression, values: dict[str, int | None]
) -> None:
    disjunctions = [ast.Or(clause) for clause in clauses(condition)]
    assert truth(ast.And(tuple(disjunctions)), values) is truth(condition, values)


@given(conditions, assignments)
def test_conjuncts_have_the_truth_of_the_condition(
    condition: ast.Expression, values: dict[str, int | None]
) -> None:
    assert truth(ast.And(tuple(conjuncts(condition))), values) is truth(condition, values)


@given(conditions)
def test_no_clause_follows_from_another(condition: ast.Expression) -> None:
    found = [set(clause) for clause in clauses(condition)]
    assert not any(a <= b for a in found for b in found if a is not b)


@given(conditions)
def test_predicates_are_the_atoms_of_a_condition(condition: ast.Expression) -> None:
    assert set(predicates(condition)) == {node for node in condition.walk() if node in ATOMS}


def test_a_condition_that_is_nowhere_is_no_conjunct() -> None:
    assert conjuncts(None) == []


def test_a_condition_with_too_many_clauses_is_left_whole() -> None:
    pairs = " OR ".join(f"(a.x{n} = 1 AND a.y{n} = 1)" for n in range(7))
    condition = parse(f"PATTERN A a WHERE {pairs}").condition
    assert condition is not None
    assert MAX_CLAUSES < 2**7
    assert clauses(condition) == [(condition,)]


def test_a_clause_keeps_its_place_in_the_text() -> None:
    text = "PATTERN A a WHERE NOT (a.x = 1 OR a.y = 2)"
    spans = [conjunct.span for conjunct in conjuncts(parse(text).condition)]
    assert [text[span.start : span.end] for span in spans if span] == ["a.x = 1", "a.y = 2"]
