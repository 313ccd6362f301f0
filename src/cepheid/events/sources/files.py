"""Files that hold events: Parquet (footers are read first), CSV and JSON lines."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

import pyarrow as pa

from cepheid.errors import EventError, did_you_mean, list_words

PARQUET_SUFFIXES = (".parquet", ".pq")
CSV_DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
# One JSON object has to fit into a block; Arrow's default of 1 MiB is too small for wide events.
JSON_BLOCK_BYTES = 16 << 20


def read_path(source: str | Path) -> pa.Table | ParquetFiles:
    """The events of a file, or of a directory or glob of Parquet files."""
    path = Path(source)
    if path.is_dir():
        hidden = re.compile(r"(^|/)[._]")
        found = [file for file in path.rglob("*") if file.suffix in PARQUET_SUFFIXES]
        files = [file for file in found if not hidden.search(file.relative_to(path).as_posix())]
        if not files:
            raise EventError(
                f"directory {str(source)!r} holds no Parquet file{_one_by_one(path.rglob('*'))}"
            )
        return _parquet_files(str(source), files, path)
    if path.is_file():
        return _read_file(path)
    if glob.has_magic(str(source)):
        files = [Path(name) for name in glob.glob(str(source), recursive=True)]
        files = [file for file in files if file.is_file()]
        other = sorted(str(file) for file in files if file.suffix not in PARQUET_SUFFIXES)
        if not files:
            raise EventError(f"no file fits {str(source)!r}")
        if other:
            raise EventError(
                f"{str(source)!r} matches {other[0]!r}, which is not a Parquet file; "
                f"a glob may match only files that end in .parquet or .pq{_one_by_one(files)}"
            )
        plain_parts = re.split(r"[*?\[]", str(source))[0].rpartition("/")[0]
        return _parquet_files(str(source), files, Path(plain_parts or "."))
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    raise EventError(f"there is no file {str(source)!r}" + did_you_mean(path.name, siblings))


def _one_by_one(files: Iterable[Path]) -> str:
    """The advice for several text files."""
    if not any(file.suffix in (*CSV_DELIMITERS, *JSON_SUFFIXES) for file in files):
        return ""
    return (
        ". CSV and JSON-lines files are read one at a time; Spark reads whole folders: "
        "spark.read.csv(…), or on the command line --spark 'local[*]'"
    )


def _read_file(path: Path) -> pa.Table | ParquetFiles:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[:-1][-1:] if packed else suffixes[-1:])
    if suffix in PARQUET_SUFFIXES and not packed:
        return _one_parquet_file(path)
    if suffix in CSV_DELIMITERS:
        return _read_csv(path, CSV_DELIMITERS[suffix])
    if suffix in JSON_SUFFIXES:
        return _read_json_lines(path, packed)
    text_suffixes = [*CSV_DELIMITERS, *JSON_SUFFIXES]
    raise EventError(
        f"file {str(path)!r} has no suffix that says what it holds; supported are "
        f"{list_words([*PARQUET_SUFFIXES, *text_suffixes])}; "
        "text files may also end in .gz"
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
            return _interruptible(lambda: self.columns(names))


def _one_parquet_file(path: Path) -> ParquetFiles:
    """One file; columns of fixed-width values are read as one chunk."""
    import pyarrow.parquet as pq

    with quoting(f"{str(path)!r}"):
        file = pq.ParquetFile(path, pre_buffer=False)

    def columns(names: Sequence[str]) -> pa.Table:
        # Arrow also reads columns with a name that continues a wanted name with a dot.
        return file.read(list(names)).select(list(names))

    return ParquetFiles(str(path), file.schema_arrow, columns)


def _parquet_files(shown: str, files: Sequence[Path], base: Path) -> ParquetFiles:
    """Parquet files in path order; ``key=value`` directories below ``base`` are columns."""
    import pyarrow.dataset as ds

    paths = sorted(str(file) for file in files)
    with quoting(f"{shown!r}"):
        read = partial(
            ds.dataset,
            paths,
            format="parquet",
            partitioning="hive",
            partition_base_dir=str(base),
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


def _read_csv(path: Path, delimiter: str) -> pa.Table:
    """A CSV file with a header. An empty field is null, a quoted empty one is an empty string."""
    import pyarrow.csv

    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    with quoting(f"{str(path)!r}"):
        table = _interruptible(
            lambda: pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert)
        )
    try:
        refuse_repeated(table.column_names)
    except UnicodeDecodeError:
        raise _not_utf8("the header", path) from None
    return table


def _read_json_lines(path: Path, packed: bool) -> pa.Table:
    import pyarrow.json

    if not packed:
        with path.open("rb") as file:
            if file.read(1024).lstrip().startswith(b"["):
                raise EventError(
                    f"{str(path)!r} holds a JSON array; write one object per line, "
                    "without the brackets and commas of the array"
                )
    read = pyarrow.json.ReadOptions(block_size=JSON_BLOCK_BYTES)
    with quoting(f"{str(path)!r}"):
        return _interruptible(lambda: pyarrow.json.read_json(path, read_options=read))


def refuse_other_encoding(source: object, column: str, arrow_type: pa.DataType) -> None:
    """Refuse a bytes column in a CSV file: Arrow returns bytes for data that is not UTF-8."""
    if delimiter_of(source) is not None and pa.types.is_binary(arrow_type):
        raise _not_utf8(f"column {column!r}", source)


def _not_utf8(what: str, path: object) -> EventError:
    return EventError(
        f"{what} of {str(path)!r} is not UTF-8; convert the file first. If it is Latin-1: "
        f"iconv -f latin1 -t utf-8 {path} > utf8.csv"
    )


def delimiter_of(source: object) -> str | None:
    """The column delimiter, by the suffix of a text file."""
    if not isinstance(source, str | Path):
        return None
    suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() != ".gz"]
    return CSV_DELIMITERS.get("".join(suffixes[-1:]))


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse duplicate column names."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise EventError(
            f"there is more than one column {list_words([repr(name) for name in repeated])}; "
            "give each column a name of its own"
        )


def _interruptible(read: Callable[[], pa.Table]) -> pa.Table:
    """What Arrow reads in another thread, while this one waits and handles signals.

    After an interrupt, Arrow still reads to the end of the file, and the result is dropped.
    """
    done: Future[pa.Table] = Future()

    def work() -> None:
        try:
            done.set_result(read())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=work, daemon=True).start()
    return done.result()


@contextmanager
def quoting(what: str) -> Iterator[None]:
    """Turn a library's message about unreadable data into a one-line EventError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        said = ". ".join(map(str, error.args)) if isinstance(error, pa.ArrowException) else error
        raise EventError(f"{what} cannot be read: {' '.join(str(said).split())}") from error
