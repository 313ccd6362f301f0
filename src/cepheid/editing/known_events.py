"""What is known about the events of a query while it is written: a sample of a file.

A comment line in the query names the file, relative to that of the query, and columns with other
names than usual::

    -- events: data/day.parquet time=at type=kind
"""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.errors import EventError, OptionError
from cepheid.schema import Schema
from cepheid.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa

DIRECTIVE = re.compile(r"^[ \t]*--[ \t]*events:[ \t]*(?P<said>[^\r\n]*)", re.MULTILINE)
_COLUMN = re.compile(r"(time|type)=(\S+)")
SAMPLE_ROWS = 10_000
_MOST_TYPES = 1_000
_CACHED = 8


@dataclass(frozen=True)
class KnownEvents:
    """A sample of events: its table, and whether that is all of them."""

    source: str
    table: pa.Table
    is_whole: bool
    time: str = "ts"
    type: str | None = "type"

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.source).name

    @cached_property
    def schema(self) -> Schema:
        """The columns of the events."""
        return Schema.from_arrow(self.table.schema)

    @cached_property
    def types(self) -> dict[str, int]:
        """The types of the events in the sample, with the number of events of each."""
        import pyarrow.compute as pc

        if self.type is None or self.type not in self.table.column_names:
            return {}
        counts = pc.value_counts(self.table.column(self.type))[:_MOST_TYPES].to_pylist()
        return {
            str(each["values"]): each["counts"] for each in counts if each["values"] is not None
        }


def declared_events(text: str, folder: Path | None) -> KnownEvents | None:
    """The events that the text of a query names in a comment, if it does.

    Raises:
        CepheidError: they cannot be read.
    """
    found = DIRECTIVE.search(text)
    if found is None:
        return None
    columns = dict(_COLUMN.findall(found["said"]))
    path = _COLUMN.sub("", found["said"]).strip().strip("'\"")
    if not path:
        raise OptionError("name a file of events: -- events: day.csv")
    return read_events(str(path if folder is None else folder / path), **columns)


def read_events(
    path: str, time: str = "ts", type: str | None = "type", rows: int = SAMPLE_ROWS
) -> KnownEvents:
    """A sample of a file of events, which is read again when the file has changed.

    Raises:
        EventError: there is no such file, or it has no events.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        raise EventError(f"cannot read the events {path!r}: {error.strerror}") from None
    except ValueError:  # a NUL in it
        raise EventError(f"cannot read the events {path!r}: no file has such a name") from None
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise EventError(f"cannot read the events {path!r}: it is neither a file nor a folder")
    return _read(path, time, type, rows, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=_CACHED)
def _read(
    path: str, time: str, type: str | None, rows: int, _version: Sequence[int]
) -> KnownEvents:
    table, is_whole = first_rows(Path(path), rows)
    return KnownEvents(path, table, is_whole, time, type)


def first_rows(path: Path, rows: int) -> tuple[pa.Table, bool]:
    """The first rows of a file or folder, and whether there are no others.

    Of a large text file only the beginning is read.
    """
    from cepheid.events.sources.files import PARQUET_SUFFIXES
    from cepheid.events.sources.tables import read_source

    if path.is_file() and path.suffix.lower() in PARQUET_SUFFIXES:
        found = _parquet_rows(path, rows)
    elif (
        path.is_file()
        and path.stat().st_size > tuning().editor_sample_bytes
        and path.suffix != ".gz"
    ):
        found = _first_lines(path)
    else:
        found = read_source(str(path)), True
    table, is_whole = found
    return table.slice(0, rows), is_whole and table.num_rows <= rows


def _parquet_rows(path: Path, rows: int) -> tuple[pa.Table, bool]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cepheid.events.sources.reading import quoting
    from cepheid.events.sources.tables import read_source

    with quoting(f"{str(path)!r}"):
        file = pq.ParquetFile(path)
        batches = list(_upto(file.iter_batches(batch_size=min(rows, 65_536)), rows))
        table = pa.Table.from_batches(batches, file.schema_arrow)
    return read_source(table), table.num_rows >= file.metadata.num_rows


def _upto(batches: Any, rows: int) -> Any:
    for batch in batches:
        yield batch
        rows -= batch.num_rows
        if rows <= 0:
            return


def _first_lines(path: Path) -> tuple[pa.Table, bool]:
    import pyarrow as pa

    from cepheid.events.sources.text_files import CSV_DELIMITERS
    from cepheid.events.sources.text_stream import TextStream

    with path.open("rb") as file:
        start = file.read(tuning().editor_sample_bytes)
    lines = BytesIO(start[: start.rfind(b"\n") + 1])
    stream = TextStream(lines, CSV_DELIMITERS.get(path.suffix.lower()))
    return pa.concat_tables(stream.tables(), promote_options="default"), False
