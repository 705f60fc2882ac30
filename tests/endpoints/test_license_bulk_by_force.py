import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from licensing.licenses import bulk
from tests import auditlog, factories
from tests.client import ApiClient
from tests.endpoints.license_rows import NEW, PRICE, send
from tests.examples import examples

ROWS = st.lists(
    st.fixed_dictionaries(
        {"startsAt": st.sampled_from(["2026-01-01", "2027-01-01", "1999-01-01"])},
        optional={
            "id": st.sampled_from(["first", "second", "revoked"]),  # of existing licences
            "requesterId": st.sampled_from(["org_a", "org_b", ""]),
            "requesterName": st.sampled_from(["A", "B", None]),
            "licenseType": st.sampled_from(["commercial", "personal", ""]),
            "tags": st.sampled_from([[], ["a"], ["a", "b"], None]),
            "price": st.sampled_from([None, PRICE, {"amount": 1, "currency": "USD"}]),
            "expiresAt": st.sampled_from([None, "2026-06-01"]),
        },
    ),
    min_size=1,
    max_size=6,
)


def what_came_of(rows, kind, monkeypatch):
    """Return replies and data of a new account, without ids and creation times."""
    account = factories.account()
    api = ApiClient(factories.key_text(account))
    held = {}
    for name, requester in (("first", "org_a"), ("second", "org_b"), ("revoked", "org_b")):
        held[name] = api.post("/v1/licenses", {**NEW, "requesterId": requester, "startsAt": "2026-02-01"})["id"]
    api.post(f"/v1/licenses/{held['revoked']}/revoke")
    known = len(auditlog.entries(account_id=account.pk))
    monkeypatch.setattr(bulk, "Together", kind)
    reply = send(api, *({**row, "id": held[row["id"]]} if "id" in row else row for row in rows))
    names = {id: name for name, id in held.items()}
    told = [
        (one["status"], one["error"], one["license"] and names.get(one["license"]["id"], "new"))
        for one in reply["data"]
    ]
    times = {"id", "created", "updated", "revokedAt"}
    kept = [str({k: v for k, v in one.items() if k not in times}) for one in api.get("/v1/licenses")["data"]]
    ledger = [str((one["amount"], one["currency"], one["occurredAt"])) for one in api.get("/v1/revenue")["data"]]
    audited = [(entry.action, str(entry.changes)) for entry in auditlog.entries(account_id=account.pk)[known:]]
    return told, sorted(kept), sorted(ledger), audited


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_bulk_rows_have_the_same_result_as_single_requests(db, rows):
    with pytest.MonkeyPatch.context() as monkeypatch:
        together = what_came_of(rows, bulk.Together, monkeypatch)
        assert together == what_came_of(rows, bulk.OneByOne, monkeypatch)
