"""The public interface: ``cep.rules(source)`` and the methods of a set of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from cepheid.api import CompiledQuery, query
from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import (
    CepheidError,
    OptionError,
    RuleFault,
    RuleSetError,
    did_you_mean,
    fault_report,
    list_words,
    warn,
)
from cepheid.events.sources.spark_frames import SPARK, are_spark_frames
from cepheid.language import syntax as ast
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.reading import read_rules
from cepheid.rule_sets.rule import Rule
from cepheid.schema import Schema, schema_of
from cepheid.sessions.requested_output import KEYWORDS, RequestedOutput
from cepheid.sessions.run_settings import MatchKeywords, RunSettings
from cepheid.visible import visible

if TYPE_CHECKING:
    from cepheid.rule_sets.results import RuleMatches
    from cepheid.rule_sets.session import RuleSession


def rules(source: Any, *, strict: bool = False, limits: Mapping[str, int] | None = None) -> RuleSet:
    """A set of named rules that run over the same events.

    A rule that cannot run does not stop the others: ``faults`` has it, and there is a warning.

    Args:
        source: a mapping of names to queries, or to mappings of the fields of :class:`Rule`; a
            folder of ``.sase`` and ``.sql`` files, or one such file; or a table with the columns
            ``name`` and ``query`` and others that are called like the fields: an Arrow table, a
            pandas, Polars or Spark frame, or the path of a Parquet, CSV or JSON Lines file.
        strict: raise an error with all faults of all rules, instead of a warning.
        limits: other limits for queries than the defaults, as for :func:`~cepheid.query`.

    Raises:
        RuleSetError: ``strict``, and at least one rule cannot run.
        OptionError: the source is not a set of rules.

    >>> import cepheid as cep
    >>> found = cep.rules({
    ...     "theft": {
    ...         "query": "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag] WITHIN 60",
    ...         "severity": "high",
    ...     },
    ...     "rush": "PATTERN SEQ(Exit c, Exit d) WITHIN T",
    ... }, strict=True)
    Traceback (most recent call last):
    cepheid.errors.RuleSetError: 1 rule cannot run
    rule rush:
      rush:1:36: the name 'T' has no value
        1 | PATTERN SEQ(Exit c, Exit d) WITHIN T
          |                                    ^
      Give the parameter a value: parameters={"T": …} (--set T=…).
    """
    found = rule_set(read_rules(source), strict=strict, limits=limits)
    for message in _composites_read(found):
        warn(message)
    return found


def rule_set(
    read: Iterable[Rule | RuleFault], *, strict: bool, limits: Mapping[str, int] | None
) -> RuleSet:
    """The set of these rules; its faults are a warning, or an error if the caller is ``strict``."""
    found = RuleSet(read, limits)
    if found.faults and strict:
        raise RuleSetError(found.faults)
    if found.faults:
        warn(fault_report(found.faults))
    return found


def _composites_read(found: RuleSet) -> Iterator[str]:
    """Warnings of rules that read the composite events of others, which only scripts pass on."""
    trees = {
        name: each.query.tree
        for name, each in found.compiled.items()
        if isinstance(each.query, CompiledQuery)
    }
    made = {tree.returns.type_name: name for name, tree in trees.items() if tree.returns}
    for name, tree in trees.items():
        types = {each for part, _ in ast.components(tree.pattern) for each in part.types}
        for type_name in sorted(types & {*made} - {None}):
            yield (
                f"the rule {name!r} reads events of the type {type_name!r} from the input, and not "
                f"those that the rule {made[type_name]!r} returns: rules do not read one another. "
                "A script does: cep.script()"
            )


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """A rule with its query."""

    rule: Rule
    query: CompiledQuery | RowPatternQuery

    @classmethod
    def of(cls, rule: Rule, limits: Mapping[str, int] | None = None) -> CompiledRule:
        """The rule, compiled.

        Raises:
            CepheidError: the query is wrong, or does not fit the other fields.
        """
        compiled = query(
            rule.query, parameters=rule.parameters, source=rule.source or rule.name, limits=limits
        )
        if isinstance(compiled, CompiledQuery):
            if rule.output is not None:
                from cepheid.matches.modes.registry import check_output  # its modes need NumPy

                check_output(rule.output)
            RequestedOutput.by_keywords(output_of(rule)).of(compiled.tree)
        elif any(value is not None for value in output_of(rule).values()):
            raise OptionError(f"{list_words(KEYWORDS)} are for SASE+ queries")
        return cls(rule, compiled)

    def settings(self, keywords: Mapping[str, Any]) -> RunSettings:
        """How the rule is run, with the keywords of all rules and its own."""
        assert isinstance(self.query, CompiledQuery)
        return self.query.settings(
            {**keywords, **output_of(self.rule)}, without=["whole_events", "workers"]
        )


def output_of(rule: Rule) -> dict[str, Any]:
    """The fields of a rule that are keywords of ``match``."""
    return {name: getattr(rule, name) for name in KEYWORDS}


class RuleSet(Mapping[str, Rule]):
    """Rules by their names, in order. Make one with :func:`rules`.

    ``faults`` are the rules that cannot run, and why. A rule with a fault is not in the mapping.

    >>> import cepheid as cep
    >>> rules = cep.rules({"pair": "PATTERN SEQ(A a, B b)", "off": {"query": "PATTERN A a",
    ...                    "enabled": False}})
    >>> rules
    pair
    off (disabled)
    >>> len(rules.match({"ts": [1, 2], "type": ["A", "B"]}))
    1
    """

    def __init__(
        self, read: Iterable[Rule | RuleFault], limits: Mapping[str, int] | None = None
    ) -> None:
        self.limits = limits
        self._compiled: dict[str, CompiledRule] = {}
        faults: list[RuleFault] = []
        for each in read:
            if isinstance(each, RuleFault):
                faults.append(each)
            elif each.name in self._compiled:
                first = self._compiled[each.name].rule.source
                message = f"there is another rule of this name, which is used: in {first!r}"
                faults.append(RuleFault(each.name, message))
            else:
                try:
                    self._compiled[each.name] = CompiledRule.of(each, limits)
                except CepheidError as error:
                    faults.append(RuleFault.of(each.name, error))
        self.faults = tuple(faults)

    def __getitem__(self, name: str) -> Rule:
        if name not in self._compiled:
            raise KeyError(f"there is no rule {name!r}{did_you_mean(name, self._compiled)}")
        return self._compiled[name].rule

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)

    def __repr__(self) -> str:
        lines = [
            visible(rule.name) + ("" if rule.enabled else " (disabled)") for rule in self.values()
        ]
        return "\n".join([*lines, *map(str, self.faults)])

    @property
    def compiled(self) -> Mapping[str, CompiledRule]:
        """The rules with their queries, by name."""
        return self._compiled

    @property
    def enabled(self) -> list[CompiledRule]:
        """The rules that run."""
        return [each for each in self._compiled.values() if each.rule.enabled]

    def check(self, schema: Any = None, *, evaluation: str = AUTO) -> list[RuleFault]:
        """All faults of all rules; with a schema, also those of their attributes and kinds.

        >>> import cepheid as cep
        >>> rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WHERE a.x < b.x"})
        >>> [fault] = rules.check({"A": ["x"], "B": ["y"]})
        >>> print(fault)
        rule pair:
          pair:1:37: B has no attribute 'x'
        ...
        """
        known = schema_of(schema)
        faults = list(self.faults)
        for each in self._compiled.values():
            try:
                _explain(each, known, evaluation)
            except CepheidError as error:
                faults.append(RuleFault.of(each.rule.name, error))
        return faults

    def explain(self, schema: Any = None, *, evaluation: str = AUTO) -> str:
        """How each rule is understood, and which evaluation runs it.

        >>> import cepheid as cep
        >>> print(cep.rules({"b": {"query": "PATTERN B b", "severity": "low"}}).explain())
        --- b (severity low)
        PATTERN B b
        ...
        """
        known = schema_of(schema)
        texts = []
        for each in self._compiled.values():
            heading = f"--- {_heading(each.rule)}"
            try:
                texts.append(f"{visible(heading)}\n{_explain(each, known, evaluation)}")
            except CepheidError as error:
                texts.append(f"{visible(heading)}\n{error}")
        return "\n\n".join(texts)

    def match(self, events: Any, **keywords: Unpack[MatchKeywords]) -> RuleMatches:
        """All matches of all enabled rules over the events.

        The events are read once. The keywords are those of
        :meth:`cepheid.CompiledQuery.match`, except ``output`` and ``at_most_once_per``, which are
        fields of a rule, and ``whole_events``. Limits such as ``max_matches`` are for each rule:
        a rule that exceeds one is a fault, and the others continue.

        >>> import cepheid as cep
        >>> rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 5"})
        >>> rules.match({"ts": [1, 4], "type": ["A", "B"]})["pair"].bindings()
        [{'a': 0, 'b': 1}]
        """
        if are_spark_frames(events):
            return import_module(SPARK).match_rules(self, events, **keywords)  # type: ignore[no-any-return]
        from cepheid.rule_sets.running import match_rules

        return match_rules(self.enabled, events, checked(keywords))

    def typed(self, found: Any, name: str) -> Any:
        """The matches of one rule, with their types, from the DataFrame that ``match`` returned.

        A view on the DataFrame: its columns are ``match_id`` and those that the query of the rule
        returns alone. ``found`` may also be rows of it that were written to a table.

        Example::

            alerts = rules.match(readings)
            rules.typed(alerts, "theft").select("item", "door")
        """
        return import_module(SPARK).typed(self, found, name)

    def with_compiled(self, compiled: Mapping[str, CompiledRule]) -> RuleSet:
        """A set of these rules, without faults."""
        found = RuleSet((), self.limits)
        found._compiled = dict(compiled)
        return found

    def session(self, *, retain: Any = None, **keywords: Unpack[MatchKeywords]) -> RuleSession:
        """A session of all enabled rules over a stream; keywords as for :meth:`match`.

        ``retain`` is how long events are kept for rules that begin later, such as ``"1 hour"``:
        see :meth:`~cepheid.rule_sets.session.RuleSession.apply`.

        >>> import cepheid as cep
        >>> session = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 5"}).session()
        >>> session.feed({"ts": [1], "type": ["A"]})
        0 matches
        >>> session.feed({"ts": [4], "type": ["B"]})["pair"].bindings()
        [{'a': 0, 'b': 1}]
        """
        from cepheid.rule_sets.session import RuleSession

        return RuleSession(self, checked(keywords), retain)

    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        retain: Any = None,
        backfill: bool = False,
        **keywords: Unpack[MatchKeywords],
    ) -> RuleSession:
        """The session of a snapshot, which may be of other rules; the same keywords are needed.

        A rule that only differs in RETURN, its severity, description or tags or
        ``at_most_once_per`` continues with its state. Other rules begin anew. With ``backfill``
        these first read the events that the snapshot retains. What they find then, and faults of
        rules, are in ``session.restored``.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or not of a set of rules.

        >>> import cepheid as cep
        >>> rules = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 9 RETURN a.ts"})
        >>> session = rules.session()
        >>> session.feed({"ts": [1], "type": ["A"]})
        0 matches
        >>> today = cep.rules({"pair": "PATTERN SEQ(A a, B b) WITHIN 9 RETURN b.ts - a.ts AS d"})
        >>> session = today.restore(session.snapshot())
        >>> [match.values for match in session.feed({"ts": [5], "type": ["B"]})]
        [{'d': 4}]
        """
        from cepheid.rule_sets.session import RuleSession
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return RuleSession(self, checked(keywords), retain, snapshot, backfill)


def checked(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a set, without those that are fields of a rule."""
    for name in KEYWORDS:
        if keywords.get(name) is not None:
            raise OptionError(f"{name} is a field of a rule: give it to the rules that need it")
    return {name: value for name, value in keywords.items() if name not in KEYWORDS}


def _heading(rule: Rule) -> str:
    said = [f"severity {rule.severity}"] if rule.severity else []
    said += [f"tags {', '.join(rule.tags)}"] if rule.tags else []
    said += [] if rule.enabled else ["disabled"]
    return rule.name + (f" ({'; '.join(said)})" if said else "")


def _explain(each: CompiledRule, schema: Schema | None, evaluation: str) -> str:
    if isinstance(each.query, RowPatternQuery):
        return each.query.explain(schema)
    return each.query.explain(schema, evaluation=evaluation)
