"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

``ci`` (the default) tries the same examples in every run, so that a red run means that the
change broke something. ``long`` looks for new failures; what it finds becomes an explicit example.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from cepheid.functions import REGISTERED

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("long", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _functions_are_registered_for_one_test() -> Iterator[None]:
    yield
    REGISTERED.clear()
