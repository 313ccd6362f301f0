"""The registry of evaluations, in the order in which ``auto`` prefers them.

To add one, write ``engines/<name>/evaluation.py`` and list its entry here.
"""

from __future__ import annotations

from cepheid.engines.base.evaluation import REFERENCE, Evaluation
from cepheid.engines.imprecise.evaluation import IMPRECISE_EVALUATION
from cepheid.engines.lazy.evaluation import LAZY_CHAIN_EVALUATION, LAZY_TREE_EVALUATION
from cepheid.engines.nfa_b.evaluation import NFA_B_EVALUATION
from cepheid.engines.stacks.evaluation import STACKS_EVALUATION
from cepheid.errors import OptionError, unknown_name

EVALUATIONS: tuple[Evaluation, ...] = (
    STACKS_EVALUATION,
    NFA_B_EVALUATION,
    LAZY_CHAIN_EVALUATION,
    LAZY_TREE_EVALUATION,
    Evaluation(
        REFERENCE,
        "the definition of the language, executed: correct for every query, and slow",
        lambda _query: None,
    ),
    IMPRECISE_EVALUATION,
)


def evaluation_named(name: str) -> Evaluation:
    """The registry entry with this name."""
    for each in EVALUATIONS:
        if each.name == name:
            return each
    raise OptionError(unknown_name("evaluation", name, [each.name for each in EVALUATIONS]))
