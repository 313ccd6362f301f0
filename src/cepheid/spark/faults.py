"""The error of cepheid in an exception that came through Spark, without its Java and its stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.errors import PySparkException

from cepheid.errors import CepheidError, EventError, OptionError

_OWN_ERROR = re.compile(
    r"cepheid\.errors\.\w+: (.*?)(?:\n SQLSTATE|\n\tat |\n\n|\nCaused by: |\Z)", re.DOTALL
)
"""An error of cepheid in the message of a failed Spark task."""
_CONDITION = re.compile(r"^.*(?:^|: )\[[A-Z][A-Z_]*(?:\.[A-Z_]+)*\] (.+)", re.MULTILINE)
_CAUSE = re.compile(
    r"^Caused by: (?:org\.apache\.spark\.[\w.]+: )?(?!\[|[a-z]+\.)(.+)", re.MULTILINE
)
"""The line with the reason: with the name of an error condition before it, or without."""
_SQL_STATE = re.compile(r"\.?\s*SQLSTATE: \w+.*")
_FILE = re.compile(r"while reading file (?:file://)?(\S+?)\.?\s")
_WORKER_FAILED = "exception was thrown from the Python worker"


def fault_of(error: BaseException) -> CepheidError | None:
    """The error to report for an exception that came through Spark; None for any other, or a bug.

    An error of cepheid in a worker, or in ``foreachBatch``, is somewhere in a long message of
    Spark. It is also found in those of Spark Connect.

    Example::

        try:
            running.awaitTermination()
        except Exception as error:
            raise cepheid.spark.fault_of(error) or error
    """
    if not isinstance(error, PySparkException | _java_error()):
        return None
    text = "\nCaused by: ".join(map(str, _with_causes(error)))
    own = _OWN_ERROR.search(text)
    if own:
        return EventError(own[1].strip())
    if _WORKER_FAILED in text:
        return None
    if "JAVA_GATEWAY_EXITED" in text:
        return OptionError("Spark did not start; see its message above")
    file = _FILE.search(text)
    where = f"Spark cannot read {file[1]!r}" if file else "Spark failed"
    return EventError(f"{where}: {spark_reason(text)}")


def spark_reason(text: str) -> str:
    """The root cause in an error message of Spark, without class names and codes.

    >>> spark_reason("[FAILED_READ] Of x.csv.\\nCaused by: [BAD_ROW] Bad row: 1,2 SQLSTATE: K1")
    'Bad row: 1,2'
    """
    found = [each for kind in (_CONDITION, _CAUSE) for each in kind.finditer(text)]
    lines = [line for line in text.splitlines() if line.strip()]
    reason = max(found, key=re.Match.start)[1] if found else lines[0]
    return _SQL_STATE.sub("", reason).strip()


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes in Java, which are missing in the message of a stream."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = getattr(following, "_cause", None)


def _java_error() -> type[Exception]:
    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:  # a client of Spark Connect
        return PySparkException
    return Py4JJavaError  # type: ignore[no-any-return]
