"""The files of a running installation hold no personal data after an erasure."""

import pytest

from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment

pytestmark = pytest.mark.faults


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL's own log is archived as it is (docs/guides/restore.md)")
def test_no_file_of_sqlite_has_the_data_of_an_erased_person(deployment: Deployment) -> None:
    deployment.start()
    [(_, key)] = deployment.accounts(1)
    marker = "Ada-Lovelace-1815"
    files = [deployment.directory / f"db.sqlite3{end}" for end in ("", "-wal")]

    def found() -> list[str]:
        return [file.name for file in files if marker.encode() in file.read_bytes()]

    with deployment.client(key) as api:
        api.create("/v1/requesters", id="org_ada", name=marker, notes=marker)
        api.create("/v1/payments", requesterId="org_ada", amount=1, currency="EUR", note=marker)
        assert found()
        assert api.delete("/v1/requesters/org_ada").status_code in (200, 204)
        assert found() == []
