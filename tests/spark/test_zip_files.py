"""Workers that were sent cepheid as a zip file say how to send it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cepheid


def test_a_zip_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    package = Path(cepheid.__file__).parent
    archive = shutil.make_archive(str(tmp_path / "cepheid"), "zip", package.parent, package.name)
    done = subprocess.run(
        [
            sys.executable,
            *("-S", "-c"),
            "import sys; sys.path += sys.argv[1:]\n"
            "from cepheid.spark.worker.worker_settings import refuse_zip_file; refuse_zip_file()",
            *(path for path in sys.path if path and Path(path) != package.parent),
        ],
        env={**os.environ, "PYTHONPATH": archive},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "spark.archives=cepheid.zip#shipped" in done.stderr
