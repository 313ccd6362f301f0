"""Turns an error that came through Spark into one line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

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


def spark_fault(error: Exception) -> CepheidError | None:
    """The error to report for an exception that came through Spark; None for any other, or a bug.

    An error of cepheid in a worker becomes that error. pyspark is never imported here.
    """
    if not _is_of_spark(error):
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


def _with_causes(error: Exception) -> Iterator[Exception]:
    """An error and its causes in Java, which are missing in the message of a stream."""
    following: Exception | None = error
    while following is not None:
        yield following
        following = getattr(following, "_cause", None)


def _is_of_spark(error: Exception) -> bool:
    classes = (("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JJavaError"))
    found = [getattr(sys.modules.get(module), name, None) for module, name in classes]
    return isinstance(error, tuple(each for each in found if isinstance(each, type)))
