import asyncio
import os
import subprocess
import sys

from django.conf import settings

from config.upkeep import JOBS_OF_EACH_PROCESS, run
from operators.base.uploads import purge


def test_an_unusable_data_dir_is_reported_without_a_traceback(tmp_path):
    file = tmp_path / "file"
    file.touch()
    environment = {**os.environ, "DATA_DIR": str(file / "below"), "SECRET_KEY": ""}
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"DATA_DIR, {file}/below, cannot be used: Not a directory." in done.stderr


def test_a_data_dir_that_cannot_be_used_is_logged_in_a_line_while_serving(tmp_path, monkeypatch, caplog):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(settings, "DATA_DIR", file / "below")
    [job] = [one for one in JOBS_OF_EACH_PROCESS if one.act is purge]
    asyncio.run(run(job))
    [record] = caplog.records
    assert record.exc_info is None
    assert "Not a directory" in record.getMessage()
