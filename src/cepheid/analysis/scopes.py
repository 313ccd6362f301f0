"""Names: every variable is declared, once, and is used as what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.analysis.alternatives import MAX_ALTERNATIVES, count_alternatives, outlines
from cepheid.analysis.normal_form import conjuncts, predicates
from cepheid.errors import Fault, closest, list_words
from cepheid.functions import find_function, function_names
from cepheid.language import syntax as ast
from cepheid.language.parser import STRATEGIES
from cepheid.language.printer import item_name

_INDEXED = ast.Element | ast.Length | ast.Aggregate | ast.Elements


def check_scopes(query: ast.Query) -> list[Fault]:
    """What is wrong with the query whatever the events are."""
    faults = list(_check_pattern(query))
    if faults:
        return faults
    declared = {c.variable: c for c, _ in ast.components(query.pattern)}
    negated = {c.variable for c, is_negated in ast.components(query.pattern) if is_negated}
    faults.extend(_check_strategy(query, declared, negated))
    faults.extend(_check_window(query))
    if query.condition is not None:
        faults.extend(_check_names(query.condition, declared))
        faults.extend(_check_condition(query.condition, negated))
    if query.returns is not None:
        faults.extend(_check_names(query.returns, declared))
        faults.extend(_check_return(query, query.returns, negated))
    return faults


def _check_pattern(query: ast.Query) -> Iterator[Fault]:
    pattern = query.pattern
    number = count_alternatives(pattern)
    if number > MAX_ALTERNATIVES:
        yield Fault(
            f"the pattern has {number} alternatives, more than {MAX_ALTERNATIVES}",
            pattern.span,
            hint="Every OR and every star multiplies them: split the query.",
        )
        return
    kinds: dict[str, ast.Component] = {}
    for component, _ in ast.components(pattern):
        other = kinds.setdefault(component.variable, component)
        if other.is_kleene != component.is_kleene:
            yield Fault(
                f"'{component.variable}' is one event in one branch and a list in another",
                component.span,
                hint="Give the two components different variables.",
            )
    found = outlines(pattern)
    if not found:
        yield Fault(
            "the pattern has no positive component",
            pattern.span,
            hint="A match is made of events: something must occur before something can be absent.",
        )
    reported = set()
    for outline in found:
        seen = set()
        for component in outline.components:
            if component.variable in seen and component.variable not in reported:
                reported.add(component.variable)
                again = [c for c, _ in ast.components(pattern) if c.variable == component.variable]
                yield Fault(
                    f"the variable '{component.variable}' is declared twice",
                    again[-1].span,
                    hint="Each component of a match has a variable of its own.",
                )
            seen.add(component.variable)


def _check_strategy(
    query: ast.Query, declared: dict[str, ast.Component], negated: set[str]
) -> Iterator[Fault]:
    listed = query.strategy_variables
    if listed is not None:
        for name in listed:
            if name not in declared:
                yield _undeclared(name, query.condition, declared)
        missing = [name for name in declared if name not in listed and name not in negated]
        if missing and all(name in declared for name in listed):
            yield Fault(
                f"{query.strategy.value} does not name {list_words(missing)}",
                query.pattern.span,
                hint="A selection strategy applies to the whole pattern: name all variables, "
                "or none.",
            )
    if query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        return
    top = query.pattern
    for part in top.parts if isinstance(top, ast.Disjunction) else (top,):
        for node in part.walk():
            if isinstance(node, ast.Conjunction | ast.Disjunction):
                name = "AND" if isinstance(node, ast.Conjunction) else "OR inside a pattern"
                yield Fault(
                    f"{name} belongs to skip_till_any_match, not to {query.strategy.value}",
                    node.span,
                    hint="Only OR at the top of the pattern goes with every strategy.",
                )
                break


def _check_window(query: ast.Query) -> Iterator[Fault]:
    window = query.window
    if window is not None:
        if isinstance(window.extent, ast.Parameter):
            yield _valueless(window.extent, ())
        elif window.extent <= 0:
            yield Fault("a window of 0 holds no event", window.span)
    else:
        for component, place in _waiting(query.pattern):
            yield Fault(
                f"the negation of '{component.variable}' needs a window",
                component.span,
                hint=f"It stands {place}, where a {component.types[0]} can always still come. "
                "Add WITHIN.",
            )


def _waiting(pattern: ast.Pattern) -> Iterator[tuple[ast.Component, str]]:
    """The negated components whose violation may come after the last event of a match."""
    seen = set()
    for outline in outlines(pattern):
        for place in outline.negated:
            component = outline.components[place]
            later = {j for i, j in outline.before if i == place} - outline.negated
            earlier = {i for i, j in outline.before if j == place} - outline.negated
            if not later and component not in seen:
                seen.add(component)
                yield component, "at the end" if earlier else "in an AND"


def _check_names(tree: ast.Node, declared: dict[str, ast.Component]) -> Iterator[Fault]:
    for node in tree.walk():
        match node:
            case ast.Parameter():
                yield _valueless(node, declared)
            case ast.Call():
                yield from _check_call(node, declared)
            case (
                ast.Attribute(variable)
                | ast.Element(variable)
                | ast.Length(variable)
                | ast.Aggregate(_, variable)
                | ast.Elements(variable)
                | ast.EventReference(variable)
            ):
                if variable not in declared:
                    yield _undeclared(variable, node, declared)
                else:
                    yield from _check_use(node, declared[variable])


def _check_use(node: ast.Node, component: ast.Component) -> Iterator[Fault]:
    name = component.variable
    if isinstance(node, ast.Attribute) and component.is_kleene:
        yield Fault(
            f"'{name}' is a Kleene variable, which needs an index here",
            node.span,
            hint=f"Write {name}[1].{node.attribute}, {name}[i].{node.attribute} (every event), "
            f"{name}[{name}.LEN].{node.attribute} (the last), or an aggregate such as "
            f"avg({name}[].{node.attribute}).",
        )
    if component.is_kleene:
        most = component.bounds.most if component.bounds else None
        if isinstance(node, ast.Element) and isinstance(node.index, int):
            if most is not None and node.index > most:
                yield Fault(f"'{name}' has at most {most} events", node.span)
        return
    if isinstance(node, ast.Aggregate):
        yield Fault(
            f"{node.function} is over a Kleene variable, and '{name}' is a single event",
            node.span,
            hint=f"Write {name}.{node.attribute or 'x'}.",
        )
    elif isinstance(node, _INDEXED):
        attribute = getattr(node, "attribute", "x")
        yield Fault(
            f"'{name}' is a single event, which has no index and no length",
            node.span,
            hint=f"Write {name}.{attribute}, or declare it as {component.types[0]}+ {name}[].",
        )


def _check_call(call: ast.Call, declared: dict[str, ast.Component]) -> Iterator[Fault]:
    name = call.function.lower()
    if name in ast.AGGREGATES:
        yield _bad_aggregate(call, declared)
        return
    function = find_function(call.function)
    if function is None:
        known = (*function_names(), *ast.AGGREGATES, *STRATEGIES)
        yield Fault(
            f"there is no function '{call.function}'",
            call.span,
            found=call.function,
            candidates=closest(call.function, known),
        )
        return
    given = len(call.arguments)
    least, most = function.least_arguments, function.most_arguments
    if given < least or (most is not None and given > most):
        wanted = str(least) if least == most else f"{least} to {most}" if most else f"{least}+"
        yield Fault(f"{name} takes {wanted} arguments, not {given}", call.span)


def _bad_aggregate(call: ast.Call, declared: dict[str, ast.Component]) -> Fault:
    name = call.function.lower()
    if len(call.arguments) > 1 and name in ("min", "max"):
        instead = "least" if name == "min" else "greatest"
        return Fault(
            f"{name} is an aggregate over a Kleene variable",
            call.span,
            hint=f"For the {instead} of several values write {instead}(…).",
        )
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    if isinstance(argument, ast.Attribute) and argument.variable in declared:
        variable = argument.variable
        if not declared[variable].is_kleene:
            return Fault(
                f"{name} is over a Kleene variable, and '{variable}' is a single event",
                call.span,
                hint=f"Write {variable}.{argument.attribute}.",
            )
        return Fault(
            f"{name} is over the events of a Kleene variable, which are written with brackets",
            call.span,
            hint=f"Write {name}({variable}[].{argument.attribute}), or "
            f"{name}({variable}[..i-1].{argument.attribute}) for those before a[i].",
        )
    return Fault(
        f"{name} takes an attribute over a Kleene variable",
        call.span,
        hint=f"Write {name}(a[].x), or {name}(a[..i-1].x) for those before a[i].",
    )


def _check_condition(condition: ast.Expression, negated: set[str]) -> Iterator[Fault]:
    for node in condition.walk():
        if isinstance(node, ast.EventReference | ast.Elements):
            yield Fault(
                f"'{node.variable}[]' is a list, which is not compared",
                node.span,
                hint=f"Write {node.variable}[i].x for every event, or an aggregate such as "
                f"avg({node.variable}[].x).",
            )
    for conjunct in conjuncts(condition):
        if isinstance(conjunct, ast.Equivalence):
            continue
        for node in conjunct.walk():
            if isinstance(node, ast.Equivalence):
                yield Fault(
                    f"[{node.attribute}] stands below OR or NOT",
                    node.span,
                    hint="An equivalence test holds for the whole match: join it by AND.",
                )
        yield from _check_negated(conjunct, negated)


def _check_negated(conjunct: ast.Expression, negated: set[str]) -> Iterator[Fault]:
    """A condition on a negated variable speaks of that one in each of its predicates."""
    named = sorted(variables_in(conjunct) & negated)
    if len(named) > 1:
        yield Fault(
            f"a condition speaks of two negated variables, {list_words(named)}",
            conjunct.span,
            hint="Events that do not occur cannot be compared with each other.",
        )
    elif named and any(named[0] not in variables_in(test) for test in predicates(conjunct)):
        yield Fault(
            f"OR joins a condition on the negated '{named[0]}' with one that is not",
            conjunct.span,
            hint="A match is reported when no such event occurs, so the two cannot be "
            "tested together: write two queries.",
        )


def _check_return(query: ast.Query, returns: ast.Return, negated: set[str]) -> Iterator[Fault]:
    seen = set()
    for item in returns.items:
        for name in sorted(variables_in(item.expression) & negated):
            yield Fault(
                f"'{name}' is negated, so a match has no such event to return", item.span
            )
        for node in item.expression.walk():
            match node:
                case (
                    ast.Element(variable, ast.Index.CURRENT | ast.Index.PREVIOUS, _)
                    | ast.Aggregate(_, variable, ast.Scope.PRIOR, _)
                ):
                    yield Fault(
                        "i has no value in RETURN",
                        node.span,
                        hint=f"Write {variable}[].x for the list, {variable}[1].x, "
                        f"{variable}[{variable}.LEN].x, or an aggregate over {variable}[].",
                    )
                case ast.Equivalence():
                    yield Fault("an equivalence test is not a value", node.span)
        name = item_name(item, query)
        if name in seen:
            yield Fault(
                f"RETURN has two items named '{name}'", item.span, hint="Rename one with AS."
            )
        seen.add(name)


def variables_in(node: ast.Node) -> set[str]:
    """The variables that an expression names."""
    return {part.variable for part in node.walk() if hasattr(part, "variable")}


def _undeclared(name: str, node: ast.Node | None, declared: Iterable[str]) -> Fault:
    return Fault(
        f"the pattern has no variable '{name}'",
        node.span if node else None,
        found=name,
        candidates=closest(name, declared),
        hint=f"It has {list_words(list(declared))}.",
    )


def _valueless(parameter: ast.Parameter, declared: Iterable[str]) -> Fault:
    name = parameter.name
    if name in declared:
        return Fault(
            f"'{name}' is an event, not a value", parameter.span, hint=f"Write {name}.attribute."
        )
    return Fault(
        f"the name '{name}' has no value",
        parameter.span,
        found=name,
        candidates=closest(name, declared),
        hint=f"A text is written in quotes ('{name}'), an attribute with its variable "
        f"(a.{name}), and the value of a parameter is given along with the query "
        f'(parameters={{"{name}": …}}).',
    )
