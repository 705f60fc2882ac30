"""Adding a fact or a condition takes one table row; everything else is derived."""

import os
import subprocess
import sys

from run import ROOT

PATHS = [
    "tests/decisions/with_a_country.py",
    "tests/decisions/test_facts.py",
    "tests/conventions/test_tables.py",
    "tests/conventions/test_openapi.py::test_schemas_are_of_openapi_3_1_and_described",
    "tests/admin/test_check_access.py",
]
OPTIONS = ["-p", "tests.decisions.one_more_fact", "-p", "no:cacheprovider", "-n", "0"]
BUT_THE_DOCUMENTS = ["-k", "not tables_of_the_documents"]  # which have no such line


def test_a_row_is_all_that_a_new_fact_and_a_condition_on_it_need(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "REDIS_"))}
    environment |= {"DATA_DIR": str(tmp_path), "EXAMPLES": "few"}
    command = [sys.executable, "-m", "pytest", *OPTIONS, *BUT_THE_DOCUMENTS, *PATHS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
