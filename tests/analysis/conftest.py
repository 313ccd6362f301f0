"""Lets the tests of this folder import ``streams``, which is one folder up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
