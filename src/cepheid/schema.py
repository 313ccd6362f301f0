"""Event types, their attributes, and the kinds of value that attributes have.

A schema is *open* if the events come from one table: every type has every column. It is *closed*
if each type has its own table or declaration. A query that names another type is then refused. A
predicate on an attribute that a type does not have is true, which lets ``ANY`` mix types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from cepheid.errors import OptionError, did_you_mean, list_words

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(Enum):
    """The kind of a value, as queries distinguish it."""

    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DURATION = "duration"
    LIST = "list"
    OTHER = "other"
    UNKNOWN = "unknown"

    @property
    def is_number(self) -> bool:
        """True for integers and floats."""
        return self in (Kind.INTEGER, Kind.FLOAT)


_Made = TypeVar("_Made")
_REMEMBERED = 32


def remembered(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """Remember what was made of the last Arrow schemas or types; batches of a stream have the same.

    They are compared, which takes a fraction of the time of hashing them.
    """
    known: list[tuple[tuple[Any, ...], _Made]] = []

    @wraps(make)
    def found(*given: Any) -> _Made:
        for earlier, made in known:
            if earlier == given:
                return made
        made = make(*given)
        known.insert(0, (given, made))
        del known[_REMEMBERED:]
        return made

    return found


ELEMENT = "[]"
"""The step from a list to its elements, in a path."""


class Computed(str):
    """The name of an attribute that is computed from other attributes of the same event.

    ``expression`` is over attributes of the variable ``""``, and ``sources`` are those attributes.
    The name starts with a backtick, which no name of a column in a query contains.
    """

    expression: Any
    sources: frozenset[str]

    def __new__(cls, name: str, expression: Any = None, sources: Iterable[str] = ()) -> Computed:
        """The attribute with this name, which says all about the expression."""
        made = super().__new__(cls, name)
        made.expression, made.sources = expression, frozenset(sources)
        return made


PARTITION_INDEX = "cepheid.partition_index"
"""The column that a query reads if it names PARTITION_INDEX."""


class Position(str):
    """``INDEX``, the number of the event in the stream, or ``PARTITION_INDEX``, in its partition.

    A column of the events with such a name is read instead.
    """

    @property
    def is_of_partition(self) -> bool:
        """Whether only the events of a partition are counted."""
        return self.upper() != "INDEX"


POSITIONS = ("INDEX", "PARTITION_INDEX")


def sources_of(attribute: str) -> frozenset[str]:
    """The columns that an attribute is read from."""
    if isinstance(attribute, Position) and attribute.is_of_partition:
        return frozenset((attribute, PARTITION_INDEX))
    return attribute.sources if isinstance(attribute, Computed) else frozenset((attribute,))


@dataclass(frozen=True, slots=True)
class Schema:
    """Which attributes each event type has.

    ``types`` is None for an open schema: any type may occur and has all of ``attributes``.
    In a closed schema ``attributes`` is the union over the types. If an open schema is extended by
    composite events, ``types`` are the types of these, and every other type has the attributes
    ``others``. ``nested`` has the kinds of the fields of structs, ``("s", "f")``, and of the
    elements of lists, ``("l", "[]")``.
    """

    attributes: Mapping[str, Kind]
    types: Mapping[str, frozenset[str]] | None = None
    others: frozenset[str] | None = None
    nested: Mapping[tuple[str, ...], Kind] = field(default_factory=dict, compare=False)

    def has_type(self, type_name: str) -> bool:
        """Whether events of this type may occur."""
        return self.types is None or self.others is not None or type_name in self.types

    def has_attribute(self, type_name: str, attribute: str) -> bool:
        """Whether events of this type have the attribute (its value may still be null).

        >>> schema = Schema.declared({"Shelf": ["tag_id"], "Exit": ["tag_id", "door"]})
        >>> schema.has_attribute("Shelf", "door"), schema.has_attribute("Exit", "door")
        (False, True)
        """
        if isinstance(attribute, Computed):
            return all(self.has_attribute(type_name, source) for source in attribute.sources)
        if isinstance(attribute, Position) and attribute not in self.attributes:
            return True
        if self.types is None:
            return attribute in self.attributes
        return attribute in self.types.get(type_name, self.others or ())

    def kind(self, attribute: str) -> Kind:
        """The kind of the attribute's values."""
        is_position = isinstance(attribute, Position)
        return self.attributes.get(attribute, Kind.INTEGER if is_position else Kind.UNKNOWN)

    def joined_by(self, made: Mapping[str, Iterable[str]], kinds: Mapping[str, Kind]) -> Schema:
        """The schema of these events together with composite events of these types.

        >>> schema = Schema({"x": Kind.FLOAT}).joined_by({"Rise": ["to"]}, {"to": Kind.FLOAT})
        >>> schema.has_attribute("Stock", "x"), schema.has_attribute("Rise", "x")
        (True, False)
        """
        own = {name: frozenset(attributes) for name, attributes in made.items()}
        others = frozenset(self.attributes) if self.types is None else self.others
        types = {**(self.types or {}), **own}
        return Schema({**self.attributes, **kinds}, types, others, self.nested)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values, for a snapshot."""
        types: dict[str, list[str]] | None = None
        if self.types is not None:
            types = {name: sorted(names) for name, names in self.types.items()}
        kinds = {name: kind.value for name, kind in self.attributes.items()}
        others = None if self.others is None else sorted(self.others)
        nested = [[*path, kind.value] for path, kind in self.nested.items()]
        return {"attributes": kinds, "types": types, "others": others, "nested": nested}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The schema from the result of :meth:`to_dict`.

        >>> schema = Schema.declared({"Shelf": {"tag_id": "string"}})
        >>> Schema.from_dict(schema.to_dict()) == schema
        True
        """
        attributes = {name: Kind(kind) for name, kind in data["attributes"].items()}
        types, others = data["types"], data["others"]
        return cls(
            attributes,
            None if types is None else {name: frozenset(names) for name, names in types.items()},
            None if others is None else frozenset(others),
            {tuple(path): Kind(kind) for *path, kind in data.get("nested", ())},
        )

    @classmethod
    def declared(
        cls,
        types: Mapping[str, Mapping[str, str | Kind] | Iterable[str]],
        columns: Schema | None = None,
    ) -> Schema:
        """A closed schema from a declaration of each type's attributes, with or without kinds.

        ``columns`` gives the kinds that the declaration omits.

        >>> Schema.declared({"Shelf": {"tag_id": "string", "ts": "timestamp"}}).kind("tag_id")
        <Kind.STRING: 'string'>
        """
        attributes: dict[str, Kind] = {}
        declared_by: dict[str, str] = {}
        own: dict[str, frozenset[str]] = {}
        for type_name, declared in types.items():
            if isinstance(declared, str) or not isinstance(declared, Iterable):
                raise OptionError(
                    f"{type_name} is declared as {declared!r}; "
                    "attributes are given as a list or a mapping"
                )
            given = (
                declared if isinstance(declared, Mapping) else dict.fromkeys(declared, Kind.UNKNOWN)
            )
            own[type_name] = frozenset(given)
            for name, kind_or_name in given.items():
                kind = _declared_kind(type_name, name, kind_or_name)
                if kind is Kind.UNKNOWN and columns is not None:
                    kind = columns.kind(name)
                if attributes.get(name, Kind.UNKNOWN) in (Kind.UNKNOWN, kind):
                    attributes[name] = kind
                    declared_by[name] = type_name
                elif kind is not Kind.UNKNOWN:
                    raise OptionError(
                        f"attribute {name!r} is {attributes[name].value} in {declared_by[name]} "
                        f"and {kind.value} in {type_name}; one name has one data type"
                    )
        return cls(attributes, own, nested={} if columns is None else columns.nested)

    @classmethod
    @remembered
    def from_arrow(cls, arrow_schema: pa.Schema) -> Schema:
        """An open schema with the columns of an Arrow schema.

        >>> import pyarrow as pa
        >>> Schema.from_arrow(pa.schema([("price", pa.float32())])).kind("price")
        <Kind.FLOAT: 'float'>
        """
        kinds = {column.name: kind_of(column.type) for column in arrow_schema}
        nested: dict[tuple[str, ...], Kind] = {}
        pending: list[tuple[tuple[str, ...], pa.DataType]]
        pending = [((column.name,), column.type) for column in arrow_schema]
        while pending:
            path, arrow_type = pending.pop()
            for step, inner in _parts(arrow_type):
                nested[*path, step] = kind_of(inner)
                pending.append(((*path, step), inner))
        return cls(kinds, nested=nested)


def _parts(arrow_type: pa.DataType) -> list[tuple[str, pa.DataType]]:
    """The fields of a struct, or the element of a list."""
    import pyarrow.types as arrow

    if arrow.is_struct(arrow_type):
        fields = map(arrow_type.field, range(arrow_type.num_fields))
        return [(each.name, each.type) for each in fields]
    if kind_of(arrow_type) is Kind.LIST and not arrow.is_dictionary(arrow_type):
        return [(ELEMENT, arrow_type.value_type)]
    return []


def _declared_kind(type_name: str, attribute: object, given: object) -> Kind:
    if not isinstance(attribute, str):
        raise OptionError(
            f"the name of an attribute is a string, and {type_name} has {attribute!r}"
        )
    if isinstance(given, Kind):
        return given
    if not isinstance(given, str):
        raise OptionError(
            f"the data type of an attribute is a string, and {attribute!r} of {type_name} has "
            f"{given!r}"
        )
    try:
        return Kind(given.lower())
    except ValueError:
        kinds = [kind.value for kind in Kind if kind is not Kind.UNKNOWN]
        raise OptionError(
            f"attribute {attribute!r} of {type_name} has the data type {given!r}; data types are "
            + list_words(kinds)
            + did_you_mean(given, kinds)
        ) from None


def kind_of(arrow_type: pa.DataType) -> Kind:
    """The kind of the values of an Arrow column.

    >>> import pyarrow as pa
    >>> kind_of(pa.decimal128(10, 2)), kind_of(pa.decimal128(38, 0))
    (<Kind.FLOAT: 'float'>, <Kind.INTEGER: 'integer'>)
    """
    kind = _kinds().get(arrow_type.id)
    if kind is not None:
        return kind
    import pyarrow.types as arrow

    if arrow.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if arrow.is_decimal(arrow_type):
        return Kind.FLOAT if arrow_type.scale > 0 else Kind.INTEGER
    return Kind.OTHER


@lru_cache(maxsize=1)
def _kinds() -> dict[int, Kind]:
    """The kind of each Arrow type whose parameters do not matter, by its number."""
    import pyarrow as pa

    types = {
        Kind.UNKNOWN: [pa.null()],  # a column without values may be of any kind
        Kind.INTEGER: [
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        ],
        Kind.FLOAT: [pa.float16(), pa.float32(), pa.float64()],
        Kind.BOOLEAN: [pa.bool_()],
        Kind.STRING: [pa.string(), pa.large_string(), pa.string_view()],
        Kind.TIMESTAMP: [pa.timestamp("us")],
        Kind.DATE: [pa.date32(), pa.date64()],
        Kind.DURATION: [pa.duration("us")],
        Kind.LIST: [pa.list_(pa.null()), pa.large_list(pa.null()), pa.list_(pa.null(), 1)],
    }
    return {each.id: kind for kind, known in types.items() for each in known}


def schema_of(schema: Any) -> Schema | None:
    """A schema from an Arrow schema, a declaration, or None."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.declared(schema)
    if hasattr(schema, "names") and hasattr(schema, "field"):
        return Schema.from_arrow(schema)
    raise OptionError(
        "a schema is an Arrow schema or a mapping of each type to its attributes, "
        f"not {type(schema).__name__}"
    )


ORDERED = (Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION, Kind.UNKNOWN)
"""The kinds that ``<`` can compare, beside numbers."""


def with_article(kind: Kind) -> str:
    """The kind with an article."""
    if kind is Kind.OTHER:
        return "a value of another data type"
    return f"{'an' if kind.value[0] in 'aeiou' else 'a'} {kind.value}"
