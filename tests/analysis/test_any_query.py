"""Analysis answers every query that can be parsed: with what it found, or with faults."""

from hypothesis import given
from hypothesis import strategies as st
from strategies import queries

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import Evaluation
from cepheid.errors import Fault, QuerySemanticError
from cepheid.explain.explain import explain
from cepheid.language import syntax as ast
from cepheid.planning.choice import Choice
from cepheid.schema import Kind, Schema

kinds = st.sampled_from(Kind)
attributes = st.sampled_from(["a", "b", "x", "y", "price", "tag_id", "LEN"])
types = st.sampled_from(["A", "B", "Stock", "a", "x"])
schemas = st.one_of(
    st.none(),
    st.dictionaries(attributes, kinds).map(Schema),
    st.dictionaries(types, st.lists(attributes)).map(Schema.declared),
)
SOME = Evaluation("some", "runs everything", lambda _: None)


@given(queries(), schemas)
def test_a_query_is_understood_or_refused(query: ast.Query, schema: Schema | None) -> None:
    faults: tuple[Fault, ...] = ()
    try:
        check_references(analyse(query, schema))
    except QuerySemanticError as error:
        faults = error.faults
    assert len(set(faults)) == len(faults)


def check_references(analysed: AnalysedQuery) -> None:
    """There is something to run, and numbers of components are those of positive ones."""
    assert analysed.alternatives
    assert explain(Choice(analysed, SOME))
    for alternative in analysed.alternatives:
        numbers = range(len(alternative.components))
        for negation in alternative.negations:
            assert negation.after | negation.before <= set(numbers)
            assert negation.is_inside or not negation.after & negation.before
        for clause in alternative.clauses:
            assert clause.component_ix is None or clause.component_ix in numbers
        for key in alternative.partition_keys:
            assert len(key.attributes) == len(numbers)
