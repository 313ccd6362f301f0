"""Checks names: every variable is declared once, and used as a single event or a list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from cepheid.aggregates import AGGREGATES
from cepheid.analysis.names import Declared, declarations, first_word, undeclared
from cepheid.analysis.normal_form import conjuncts, predicates
from cepheid.errors import Fault, Span, closest, list_words
from cepheid.functions import Function, find_function, function_names
from cepheid.language import syntax as ast
from cepheid.language.computed import EVENT, deep_nodes, is_partition_position
from cepheid.language.naming import variables_in
from cepheid.language.parser import STRATEGIES
from cepheid.language.printer import item_name, print_expression
from cepheid.schema import Computed


def check_scopes(query: ast.Query) -> Iterator[Fault]:
    """The faults of the names in WHERE and RETURN, independent of the events."""
    declared = declarations(query.pattern)
    components = list(ast.components(query.pattern))
    negated = {component.variable for component, is_negated in components if is_negated}
    positive = {component.variable for component, is_negated in components if not is_negated}
    if query.condition is not None:
        yield from _check_names(query.condition, declared)
        yield from _check_condition(query.condition, query, declared)
        for conjunct in conjuncts(query.condition):
            yield from _check_negated(conjunct, negated)
    if query.returns is not None:
        yield from _check_names(query.returns, declared)
        yield from _check_return(query, query.returns, negated - positive)


def _nodes(tree: ast.Node) -> Iterator[ast.Node]:
    """The nodes of a tree, except those below a wrong aggregate, which has one fault as a whole."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if not _is_bad_aggregate(node):
            pending += [*node.children()][::-1]


def _is_bad_aggregate(node: ast.Node) -> bool:
    return isinstance(node, ast.Call) and node.function.lower() in AGGREGATES


# --- names


def _check_names(tree: ast.Node, declared: Declared) -> Iterator[Fault]:
    for node in _nodes(tree):
        match node:
            case ast.Parameter(name):
                yield _valueless(name, node.span, declared)
            case ast.Call():
                is_bad = _is_bad_aggregate(node)
                yield from [_bad_aggregate(node, declared)] if is_bad else check_call(node)
            case _ if hasattr(node, "variable"):
                if node.variable != EVENT:
                    yield from _check_use(node, node.variable, declared)
                attribute = getattr(node, "attribute", None)
                if isinstance(attribute, Computed):
                    yield from _check_names(attribute.expression, declared)


def _check_use(node: ast.Node, variable: str, declared: Declared) -> Iterator[Fault]:
    if variable not in declared:
        is_first = not isinstance(node, ast.Aggregate)
        yield undeclared(variable, first_word(node, variable) if is_first else node.span, declared)
        return
    components = declared[variable]
    is_kleene = components[0].is_kleene
    match node:
        case ast.Attribute(_, attribute) if is_kleene:
            yield Fault(
                f"'{variable}' is a Kleene variable and needs an index here",
                node.span,
                hint=f"Write {variable}[1].{attribute}, {variable}[i].{attribute} (every event), "
                f"{variable}[{variable}.LEN].{attribute} (the last), or an aggregate such as "
                f"avg({variable}[].{attribute}).",
            )
        case ast.Element(_, int(index), _) if is_kleene:
            most = [component.bounds.most if component.bounds else 1 for component in components]
            if all(bound is not None and index > bound for bound in most):
                limit = max(bound for bound in most if bound is not None)
                yield Fault(
                    f"'{variable}' never has {index} events",
                    node.span,
                    hint=f"The pattern allows at most {limit}.",
                )
        case ast.Aggregate(function, _, _, attribute) if not is_kleene:
            yield _over_single(function, variable, attribute, node.span)
        case ast.Element(_, _, attribute) | ast.Elements(_, attribute) if not is_kleene:
            kleene = f"{components[0].types[0]}+ {variable}[]"
            yield Fault(
                f"'{variable}' is a single event and has no index",
                node.span,
                hint=f"Write {variable}.{attribute}, or declare a list: {kleene}.",
            )
        case ast.Length() if not is_kleene:
            yield Fault(f"'{variable}' is a single event and has no length", node.span)


def check_call(
    call: ast.Call, aggregates: Collection[str] = AGGREGATES, others: Sequence[str] = STRATEGIES
) -> Iterator[Fault]:
    """The faults of a call: the function exists, and takes this number of arguments.

    ``aggregates`` and ``others`` are what else may have been meant.
    """
    function = find_function(call.function)
    if function is None:
        place = first_word(call, call.function)
        yield unknown_function(call.function, place, aggregates=aggregates, others=others)
        return
    given = len(call.arguments)
    if not function.takes(given):
        yield Fault(f"{function.name} takes {_arguments(function)}, not {given}", call.span)


def unknown_function(
    name: str,
    span: Span | None,
    also: str = "",
    aggregates: Collection[str] = AGGREGATES,
    others: Sequence[str] = STRATEGIES,
) -> Fault:
    """The fault of a function that does not exist; ``also`` is added to the hint."""
    candidates = closest(name, (*function_names(), *aggregates, *others))
    listed = (
        f"The functions are {list_words(function_names())}; the aggregates are "
        f"{list_words(sorted(aggregates))}."
    )
    hint = " ".join(filter(None, ("" if candidates else listed, also))) or None
    message = f"there is no function '{name}'"
    return Fault(message, span, found=name, candidates=candidates, hint=hint)


def _arguments(function: Function) -> str:
    least, most = function.least_arguments, function.most_arguments
    if most is None:
        return f"at least {least} arguments"
    if least == most:
        return f"{least} argument{'s' if least != 1 else ''}"
    return f"{least} {'or' if most == least + 1 else 'to'} {most} arguments"


def _bad_aggregate(call: ast.Call, declared: Declared) -> Fault:
    name = call.function.lower()
    kleene = [variable for variable, parts in declared.items() if parts[0].is_kleene]
    match call.arguments:
        case [_, _, *_] if name in ("min", "max"):
            instead = {"min": "least", "max": "greatest"}[name]
            return Fault(
                f"{name} is an aggregate over one attribute of a Kleene variable",
                call.span,
                hint=f"For the {instead} of several values, write {instead}(…).",
            )
        case [ast.Attribute(variable, attribute)] if variable in declared:
            if variable not in kleene:
                return _over_single(name, variable, attribute, call.span)
            return Fault(
                f"{name} needs brackets after the Kleene variable '{variable}'",
                call.span,
                hint=f"Write {name}({variable}[].{attribute}), or "
                f"{name}({variable}[..i-1].{attribute}) for those before {variable}[i].",
            )
        case [ast.Parameter(variable)] if name == "count" and variable in kleene:
            return Fault(
                f"{name} needs brackets after the Kleene variable '{variable}'",
                call.span,
                hint=f"Write count({variable}[]) or {variable}.LEN.",
            )
    variable = next(iter(kleene), "a")
    of_several = any(len(variables_in(argument)) > 1 for argument in call.arguments)
    return Fault(
        f"{name} needs an attribute of a Kleene variable",
        call.span,
        hint=f"Write {name}({variable}[].x), or {name}({variable}[..i-1].x) for the events "
        f"before {variable}[i]"
        + of_several * "; an expression in it names no other variable"
        + ".",
    )


def _over_single(function: str, variable: str, attribute: str | None, span: Span | None) -> Fault:
    return Fault(
        f"{function} needs a Kleene variable, but '{variable}' is a single event",
        span,
        hint=f"Write {variable}.{attribute}." if attribute else None,
    )


def _valueless(name: str, span: Span | None, declared: Declared) -> Fault:
    if name in declared:
        message, hint = f"'{name}' is an event", f"Write {name}.x, where x is an attribute."
        if declared[name][0].is_kleene:
            message = f"'{name}' is a list of events"
            hint = f"Write {name}[i].x, where x is an attribute, or {name}.LEN for its length."
        return Fault(f"{message}, not a value", span, hint=hint)
    variable, [component, *_] = next(iter(declared.items()))
    return Fault(
        f"the name '{name}' has no value",
        span,
        found=name,
        candidates=closest(name, declared),
        hint=f"Write a string in quotes ('{name}') and an attribute with its variable "
        f"({variable}{'[i]' if component.is_kleene else ''}.{name}), or give a parameter a value "
        f'(parameters={{"{name}": …}}, or --set {name}=…).',
    )


# --- WHERE and RETURN


def _check_condition(
    condition: ast.Expression, query: ast.Query, declared: Declared
) -> Iterator[Fault]:
    kleene = {name for name, components in declared.items() if components[0].is_kleene}
    for node in _nodes(condition):
        match node:
            case ast.EventReference(variable) if variable in declared:
                yield _valueless(variable, node.span, declared)
            case ast.Elements(variable, attribute) if variable in kleene:
                yield Fault(
                    f"'{print_expression(node, query)}' is a list, which cannot be compared",
                    node.span,
                    hint=f"Write {variable}[i].{attribute} for every event, or an aggregate such "
                    f"as avg({variable}[].{attribute}).",
                )
    for conjunct in conjuncts(condition):
        for node in () if isinstance(conjunct, ast.Equivalence) else _nodes(conjunct):
            if isinstance(node, ast.Equivalence):
                yield Fault(
                    f"{print_expression(node, query)} cannot be inside OR or NOT",
                    node.span,
                    hint="An equivalence test applies to the whole match: join it with AND.",
                )


def _check_negated(conjunct: ast.Expression, negated: set[str]) -> Iterator[Fault]:
    """A condition on a negated variable names it in each of its predicates, and no other."""
    named = sorted(variables_in(conjunct) & negated)
    if len(named) > 1:
        yield Fault(
            f"a condition names more than one negated variable: {list_words(named)}",
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
    names: set[str] = set()
    for item in returns.items:
        for node in _nodes(item.expression):
            yield from _check_returned(node, node is item.expression, query, negated)
        name = item_name(item, query)
        if name in names:
            yield Fault(
                f"RETURN has two items named '{name}'", item.span, hint="Rename one with AS."
            )
        names.add(name)


def _check_returned(
    node: ast.Node, is_item: bool, query: ast.Query, negated: set[str]
) -> Iterator[Fault]:
    match node:
        case ast.Element(variable, ast.Index.CURRENT | ast.Index.PREVIOUS, attribute):
            yield _no_index(variable, attribute, node.span)
        case ast.Aggregate(_, variable, ast.Scope.PRIOR, attribute):
            yield _no_index(variable, attribute or "x", node.span)
        case ast.Equivalence():
            yield Fault(
                "an equivalence test is not a value",
                node.span,
                hint=f"Write a.{node.attribute}, where a is a variable.",
            )
        case ast.EventReference(variable) if not is_item:
            shown = print_expression(node, query)
            is_list = shown.endswith("[]")
            yield Fault(
                f"'{shown}' is {'a list of events' if is_list else 'a whole event'}, not a value",
                node.span,
                hint=f"It can only be an item on its own; for a value write "
                f"{variable}{'[1]' if is_list else ''}.x, where x is an attribute.",
            )
        case ast.Elements(variable, attribute) if not is_item:
            yield Fault(
                f"'{print_expression(node, query)}' is a list: it can only be an item on its own",
                node.span,
                hint=f"For one value write {variable}[1].{attribute}, or an aggregate such as "
                f"avg({variable}[].{attribute}).",
            )
    named = getattr(node, "variable", None)
    if named in negated:
        yield Fault(f"'{named}' is negated, so a match has no event to return for it", node.span)


def _no_index(variable: str, attribute: str, span: Span | None) -> Fault:
    return Fault(
        "'i' has no value in RETURN",
        span,
        hint=f"Write {variable}[].{attribute} for the list, {variable}[1].{attribute}, "
        f"{variable}[{variable}.LEN].{attribute}, or an aggregate such as "
        f"avg({variable}[].{attribute}).",
    )


# --- PARTITION_INDEX


def check_partition_positions(query: ast.Query) -> Iterator[Fault]:
    """PARTITION_INDEX tells how far apart two events are, and nothing on its own."""
    nodes = [*deep_nodes(query)]
    in_differences = {
        id(side)
        for node in nodes
        if isinstance(node, ast.Arithmetic) and node.operator == "-"
        for side in (node.left, node.right)
        if is_partition_position(node.left) and is_partition_position(node.right)
    }
    for node in nodes:
        if is_partition_position(node) and id(node) not in in_differences:
            yield Fault(
                "PARTITION_INDEX can only be used in the difference of two",
                node.span,
                hint="Write b.PARTITION_INDEX - a.PARTITION_INDEX = 1: it is 1 if b follows a "
                "directly in their partition.",
            )
