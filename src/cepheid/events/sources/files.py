"""Files that hold events: Parquet (footers are read first), CSV and JSON Lines."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from cepheid.errors import EventError, did_you_mean, list_words
from cepheid.events.sources.reading import interruptible, quoting
from cepheid.events.sources.text_files import (
    CSV_DELIMITERS,
    DEFAULT_FORMAT,
    TEXT_SUFFIXES,
    NeededColumns,
    TextFormat,
    read_text_files,
    text_suffix,
)

PARQUET_SUFFIXES = (".parquet", ".pq")

Read = dict[str, pa.Table]
"""Tables of text files, by their path."""


def read_path(
    source: str | Path, text: TextFormat = DEFAULT_FORMAT, needed: NeededColumns | None = None
) -> Read | ParquetFiles:
    """The events of a file, or of a directory or glob of files of one format.

    ``needed`` selects columns; others need not have values of one type.
    """
    path = Path(source)
    if os.path.isdir(path):  # also False for a name that is too long
        hidden = re.compile(r"(^|/)[._]")
        found = [file for file in path.rglob("*") if file.is_file()]
        files = [file for file in found if not hidden.search(file.relative_to(path).as_posix())]
        return _read_files(str(source), files, path, text, needed)
    if os.path.isfile(path):
        return _read_file(path, text, needed)
    if glob.has_magic(str(source)):
        files = [Path(name) for name in glob.glob(str(source), recursive=True)]
        files = [file for file in files if file.is_file()]
        other = sorted(str(file) for file in files if not _has_events(file))
        if not files:
            raise EventError(f"no file fits {str(source)!r}")
        if other:
            raise EventError(
                f"{str(source)!r} matches {other[0]!r}, which is not a file of events; a glob may "
                f"match only files that end in {list_words(_SUFFIXES, 'or')}"
            )
        plain_parts = re.split(r"[*?\[]", str(source))[0].rpartition("/")[0]
        return _read_files(str(source), files, Path(plain_parts or "."), text, needed)
    if os.path.exists(path):
        raise EventError(
            f"{str(source)!r} is a pipe or a device, not a file; on the command line, - reads CSV "
            "or JSON Lines from stdin"
        )
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    raise EventError(f"there is no file {str(source)!r}" + did_you_mean(path.name, siblings))


def has_csv(source: object) -> bool:
    """Whether a source is a CSV file, or has one among its files or tables of types.

    >>> has_csv({"A": "day/a.csv", "B": "day/b.parquet"}), has_csv([{"ts": 1}])
    (True, False)
    """
    if isinstance(source, Mapping):
        return any(map(has_csv, source.values()))
    if isinstance(source, list | tuple):
        return any(has_csv(each) for each in source if isinstance(each, str | Path))
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir():
        return any(text_suffix(file) in CSV_DELIMITERS for file in path.rglob("*"))
    return text_suffix(path) in CSV_DELIMITERS or str(source).endswith("*")


def read_paths(
    sources: Sequence[str | Path], text: TextFormat, needed: NeededColumns | None
) -> Read | ParquetFiles:
    """The events of several files of one format, in this order."""
    for each in sources:
        if not Path(each).is_file():
            read_path(each, text, needed)
            raise EventError(f"{str(each)!r} is not a file; a list of paths names files only")
    paths = list(map(Path, sources))
    return _read_files(list_words(list(map(str, paths))), paths, None, text, needed)


_SUFFIXES = (*PARQUET_SUFFIXES, *TEXT_SUFFIXES)


def _has_events(file: Path) -> bool:
    return file.suffix in PARQUET_SUFFIXES or text_suffix(file) is not None


def _read_files(
    shown: str,
    files: Sequence[Path],
    base: Path | None,
    text: TextFormat,
    needed: NeededColumns | None,
) -> Read | ParquetFiles:
    """Files in path order, or in the given order without a ``base``."""
    parquet = [file for file in files if file.suffix in PARQUET_SUFFIXES]
    texts = [file for file in files if text_suffix(file) is not None]
    if parquet and texts:
        raise EventError(
            f"{shown!r} has Parquet files and text files, such as {str(min(texts))!r}; read them "
            "separately"
        )
    if parquet:
        return _parquet_files(shown, parquet, base)
    if not texts:
        raise EventError(
            f"{shown!r} holds no file of events: none ends in {list_words(_SUFFIXES, 'or')}"
        )
    return read_text_files(shown, sorted(texts) if base else texts, text, needed)


def _read_file(path: Path, text: TextFormat, needed: NeededColumns | None) -> Read | ParquetFiles:
    if path.suffix.lower() in PARQUET_SUFFIXES:
        return _one_parquet_file(path)
    if text_suffix(path) is not None:
        return read_text_files(str(path), [path], text, needed)
    raise EventError(
        f"file {str(path)!r} has no suffix that says what it holds; supported are "
        f"{list_words(_SUFFIXES)}; text files may also end in .gz"
    )


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files with their footers read."""

    shown: str
    schema: pa.Schema
    columns: Callable[[Sequence[str]], pa.Table]

    def read(self, names: Sequence[str]) -> pa.Table:
        """These columns of all events."""
        with quoting(f"{self.shown!r}"):
            return interruptible(lambda: self.columns(names))


def _one_parquet_file(path: Path) -> ParquetFiles:
    """One file; columns of fixed-width values are read as one chunk."""
    import pyarrow.parquet as pq

    with quoting(f"{str(path)!r}"):
        file = pq.ParquetFile(path, pre_buffer=False)

    def columns(names: Sequence[str]) -> pa.Table:
        # Arrow also reads columns with a name that continues a wanted name with a dot.
        return file.read(list(names)).select(list(names))

    return ParquetFiles(str(path), file.schema_arrow, columns)


def _parquet_files(shown: str, files: Sequence[Path], base: Path | None) -> ParquetFiles:
    """Parquet files; ``key=value`` directories below ``base`` are columns."""
    import pyarrow.dataset as ds

    paths = [str(file) for file in (sorted(files) if base else files)]
    with quoting(f"{shown!r}"):
        read = partial(
            ds.dataset,
            paths,
            format="parquet",
            partitioning="hive" if base else None,
            partition_base_dir=str(base) if base else None,
        )
        dataset = read()
        # A dataset has the schema of its first file; columns that only later files have, and
        # wider types there, would be lost.
        schemas = {file.path: file.physical_schema for file in dataset.get_fragments()}
        try:
            all_schemas = [*schemas.values(), dataset.schema]
            unified = pa.unify_schemas(all_schemas, promote_options="permissive")
        except pa.ArrowException:
            _refuse_mixed_files(shown, schemas)
            raise
        whole = read(schema=unified)
    return ParquetFiles(shown, unified, lambda names: whole.to_table(list(names)))


def _refuse_mixed_files(shown: str, schemas: Mapping[str, pa.Schema]) -> None:
    """Refuse the first file with a column that has no common type with earlier files."""
    first: dict[str, tuple[pa.Field, str]] = {}
    for path, schema in schemas.items():
        for field in schema:
            if pa.types.is_null(field.type):  # It is compatible with every type.
                continue
            other, there = first.setdefault(field.name, (field, path))
            try:
                pa.unify_schemas(
                    [pa.schema([other]), pa.schema([field])], promote_options="permissive"
                )
            except pa.ArrowException:
                raise EventError(
                    f"{shown!r} cannot be read: column {field.name!r} is {other.type} in {there!r} "
                    f"and {field.type} in {path!r}, which have no common type; rewrite one of them "
                    "with the type of the others"
                ) from None
