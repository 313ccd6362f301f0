"""Errors that workers report: those of cepheid begin with their own sentence, without a stack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import TaskContext

from cepheid.errors import CepheidError

_HIDE = "SPARK_HIDE_TRACEBACK"
"""What Spark's worker reads when it reports an error. The process ends after that."""


@contextmanager
def own_errors() -> Iterator[None]:
    """Have the worker report an error of cepheid without the stack; errors of others keep theirs.

    The stack would come before the sentence that says what to do.
    """
    try:
        yield
    except CepheidError:
        if TaskContext.get() is not None:
            os.environ[_HIDE] = "1"
        raise
