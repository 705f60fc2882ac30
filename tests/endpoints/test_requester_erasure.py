import logging
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from accounts.auditing.models import Redaction
from accounts.auditing.redaction import redacting
from accounts.events.models import Event
from accounts.limits import events as limits
from accounts.models import Account, AuditEntry
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.models import AccessEvent, LedgerEntry
from licensing.customers import erased_copies, erasure, recordings
from licensing.requesters.models import Requester
from tests import factories
from tests.endpoints.traces import CONTEXT, ID, PATH, PERSON, TRACES, everything_stored, tables_with_traces
from tests.templates import copy_on_postgresql


def shown_history(api):
    return [api.get(f"/v1/{path}?limit=100")["data"] for path in ("audit", "events")]


@pytest.fixture
def person(api, item):
    """A customer with data in every table that can hold it."""
    api.post("/v1/webhooks", {"url": "https://hooks.example/in", "accessFilter": {"requesterIds": [ID]}})
    api.post("/v1/requesters", {**PERSON, "name": "Ada Byron"}, headers={"Idempotency-Key": "person"})
    api.patch(PATH, {"name": PERSON["name"]})
    terms = {
        "requesterId": ID, "licenseType": "commercial", "metadata": {"for": "for Ada"},
        "price": {"amount": 10, "currency": "EUR"}, "pricePerAccess": {"amount": 1, "currency": "EUR"},
    }  # fmt: skip
    held = api.post("/v1/licenses", terms, headers={"Idempotency-Key": "licence"})["id"]
    api.patch(f"/v1/licenses/{held}", {"requesterName": "Ada King", "metadata": {"for": "for Ada, too"}})
    api.patch(PATH, {"name": PERSON["name"]})
    api.post("/v1/license-clients", {"requesterId": ID, "name": "Adas crawler"})
    wallet = api.post("/v1/wallets", {"requesterId": ID, "unit": "EUR"})["id"]
    api.post(f"/v1/wallets/{wallet}/grants", {"amount": 5})
    check = {"contentId": item.pk, "requester": {"id": ID, "name": PERSON["name"]}, "context": CONTEXT}
    api.post("/v1/access/check", check, headers={"Idempotency-Key": "check"})
    refund = {"amount": -1, "currency": "EUR", "requesterId": ID, "description": "A refund for Ada"}
    assert api.post("/v1/revenue", refund).status == 201
    payment = {"amount": 5, "currency": "EUR", "requesterId": ID, "note": "A transfer of Ada Lovelace"}
    paid = api.post("/v1/payments", payment)["id"]
    voided = api.post(f"/v1/payments/{paid}/void", {"reason": "Ada Lovelace paid twice"})
    assert voided.status == 200
    test = {"requester": {"id": ID}, "expect": {"allowed": True}}
    assert api.post("/v1/policies", {"name": "Hers", "rules": [allow(ID)], "tests": [test]}).status == 201
    endpoint = WebhookEndpoint.objects.get()
    for event in [event for event in Event.objects.all() if ID in event.data]:
        WebhookAttempt.objects.create(
            endpoint=endpoint, event=event, number=1, succeeded=True, reply="Noted for Ada.", duration_ms=3
        )
    assert tables_with_traces() >= {
        "accounts_auditentry", "accounts_event", "accounts_webhookattempt", "licensing_requester", "replies",
    }  # fmt: skip


@pytest.mark.usefixtures("person")
def test_nothing_that_is_stored_or_shown_has_the_persons_data(api, caplog):
    caplog.set_level(logging.DEBUG)
    reply = api.delete(PATH)
    pseudonym = Requester.objects.get().requester_id
    shown = {"id": ID, "object": "requester", "deleted": True, "pseudonym": pseudonym}
    assert (reply.status, reply.body) == (200, shown)
    assert tables_with_traces() == set()
    assert not any(trace in caplog.text for trace in TRACES)
    exports = (
        "requesters", "licenses", "wallets", "payments", "revenue", "policies", "events", "audit", "access/decisions",
    )  # fmt: skip
    others = ("license-clients", "statements", "webhooks", "analytics/usage", "analytics/revenue?currency=EUR")
    for path in (*exports, *others):
        shown = str(api.get(f"/v1/{path}").body)
        assert not any(trace in shown for trace in TRACES), path
    for path in exports:
        file = b"".join(api.client.get(f"/v1/{path}?format=csv", headers=api.headers).streaming_content)
        assert file.count(b"\n") > 1, path
        assert not any(trace.encode() in file for trace in TRACES), path
    assert api.get(PATH).status == 404
    again = api.post("/v1/requesters", {**PERSON, "name": "Ada Byron"}, headers={"Idempotency-Key": "person"})
    assert again.status_and_code == (409, "idempotency_conflict")
    assert not any(trace in str(again.body) for trace in TRACES)


@pytest.mark.usefixtures("person")
def test_decisions_totals_licences_wallets_and_the_ledger_stay(api, account):
    before = (AccessEvent.objects.count(), sorted(LedgerEntry.objects.values_list("amount", flat=True)))
    usage = api.get("/v1/analytics/usage")["summary"]
    revenue = api.get("/v1/analytics/revenue?currency=EUR")["summary"]
    api.delete(PATH)
    assert (AccessEvent.objects.count(), sorted(LedgerEntry.objects.values_list("amount", flat=True))) == before
    assert api.get("/v1/analytics/usage")["summary"] == usage
    assert api.get("/v1/analytics/revenue?currency=EUR")["summary"] == revenue
    [erased] = api.get("/v1/requesters")["data"]
    assert erased["id"].startswith("erased_")
    assert (erased["name"], erased["email"], erased["notes"], erased["metadata"]) == (None, None, None, {})
    [held] = api.get("/v1/licenses")["data"]
    assert (held["requesterId"], held["price"]) == (erased["id"], {"amount": 10, "currency": "EUR"})
    assert api.get("/v1/wallets")["data"][0]["requesterId"] == erased["id"]
    [decision] = api.get(f"/v1/access/decisions?requesterId={erased['id']}")["data"]
    assert (decision["allowed"], decision["requester"]["name"]) == (True, None)


def test_an_erased_id_is_a_new_requester_afterwards(api, account):
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_LICENSED).pk).pk
    factories.license(account, ID)
    check = {"contentId": item, "requester": ID}
    assert api.post("/v1/access/check", check)["allowed"] is True
    api.delete(PATH)
    assert api.post("/v1/access/check", check)["allowed"] is False
    assert api.get(PATH)["stats"]["denied"] == 1
    assert Requester.objects.filter(account=account).count() == 2


def allow(*requesters, **terms):
    return {"action": "allow", "conditions": {"requesterId": [*requesters]}, **terms}


def test_rules_that_named_the_person_do_not_match_the_same_id_afterwards(api, account):
    policy, other = factories.policy(account, allow(ID, "org_b")), factories.policy(account, allow("org_b"))
    check = {"contentId": factories.content(account, policy_id=policy.pk).pk, "requester": ID}
    assert api.post("/v1/access/check", check)["allowed"] is True
    made = api.post("/v1/access/check", {**check, "requester": "org_c"})["id"]
    assert ID in str(api.get(f"/v1/access/decisions/{made}")["trace"])
    pseudonym = api.delete(PATH)["pseudonym"]
    again = api.post("/v1/access/check", {**check, "explain": True})
    assert (again["allowed"], again["policyVersion"]) == (False, 2)
    assert ID not in str(again["trace"][0]["failed"]["wanted"])
    assert api.post("/v1/access/check", {**check, "requester": "org_b"})["allowed"] is True
    trace = str(api.get(f"/v1/access/decisions/{made}")["trace"])
    assert (ID in trace, pseudonym in trace) == (False, True)
    rules = [allow(pseudonym, "org_b")]
    versions = api.get(f"/v1/policies/{policy.pk}/versions")["data"]
    assert [(one["version"], one["rules"]) for one in versions] == [(2, rules), (1, rules)]
    assert api.get(f"/v1/policies/{other.pk}")["version"] == 1


def test_rules_stay_as_they_are_although_a_person_had_the_id_of_a_keyword(api):
    for id in ["allow", "article", "day"]:
        api.post("/v1/requesters", {"id": id})
        conditions = {"contentType": "article", "requesterId": [id, "org_b"]}
        rule = {"priority": 1, "action": "allow", "rateLimit": {"requests": 1, "period": "day"}}
        policy, other = (
            api.post("/v1/policies", {"name": "One", "rules": [{**rule, "conditions": one}]})["id"]
            for one in (conditions, {"contentType": "article"})
        )
        pseudonym = api.delete(f"/v1/requesters/{id}")["pseudonym"]
        assert api.get(f"/v1/policies/{other}")["version"] == 1
        [shown] = api.get(f"/v1/policies/{policy}")["rules"]
        assert shown == {**rule, "conditions": {**conditions, "requesterId": [pseudonym, "org_b"]}}


def test_rate_limits_of_rules_that_named_the_person_continue_for_others(api, account):
    rule = allow(ID, "org_b", rateLimit={"requests": 1, "period": "month"})
    check = {"contentId": factories.content(account, policy_id=factories.policy(account, rule).pk).pk}
    for requester in (ID, "org_b"):
        assert api.post("/v1/access/check", {**check, "requester": requester})["allowed"] is True
    limits.write_queued()
    api.delete(PATH)
    again = api.post("/v1/access/check", {**check, "requester": "org_b"})
    assert (again["policyVersion"], again["reason"]) == (2, "rate_limit_exceeded")
    limits.write_queued()
    reached = api.get("/v1/events?type=limit.reached")["data"]
    assert sum(one["data"]["requester"]["id"] == "org_b" for one in reached) == 1


@pytest.mark.parametrize("is_of_version_before", [False, True])
@pytest.mark.parametrize("erased", ["org_acme", ID])
def test_nothing_is_left_of_a_person_that_was_merged(request, api, account, erased, is_of_version_before):
    Account.objects.update(seals_history=not is_of_version_before)
    request.getfixturevalue("person")
    api.post("/v1/requesters", {"id": "org_acme", "name": "Acme"})
    assert api.post(f"{PATH}/merge", {"into": "org_acme"}).status == 200
    api.patch("/v1/requesters/org_acme", {"name": "Acme Ltd"})
    api.delete(f"/v1/requesters/{quote(erased, safe='')}")
    of_target = {"for Ada", "Adas"}  # texts of licences and clients, since the merge
    assert tables_with_traces(set(TRACES) - of_target if erased == ID else TRACES) == set()
    assert any(b"Acme Ltd" in raw for _, raw in everything_stored()) is (erased == ID)
    assert not any(text in str(shown_history(api)) for text in ("Ada Byron", "Met her", "for Ada"))


@pytest.mark.usefixtures("person")
def test_the_totals_are_found_by_the_pseudonym_of_the_reply_and_licence_clients_end(api):
    pseudonym = api.delete(PATH)["pseudonym"]
    assert api.get(f"/v1/requesters/{pseudonym}")["stats"]["allowed"] == 1
    for path in ("access/decisions", "revenue", "statements", "payments", "licenses", "wallets"):
        found = api.get(f"/v1/{path}?requesterId={pseudonym}")["data"]
        assert {one.get("requesterId") or one["requester"]["id"] for one in found} == {pseudonym}, path
    assert all(one["revokedAt"] for one in api.get("/v1/license-clients")["data"])


def test_the_data_of_others_stays(api, other_api, item):
    others = [{**PERSON, "id": f"{ID}2"}, {**PERSON, "id": ID[:-1]}]
    for client, bodies in ((api, others), (other_api, [PERSON])):
        for body in bodies:
            client.post("/v1/requesters", body)
    api.post("/v1/requesters", {"id": ID})
    before = [client.get("/v1/audit?resourceType=requester")["data"] for client in (api, other_api)]
    api.delete(PATH)
    assert other_api.get(PATH)["email"] == PERSON["email"]
    assert {one["email"] for one in api.get("/v1/requesters")["data"]} == {PERSON["email"], None}
    after = [client.get("/v1/audit?resourceType=requester")["data"] for client in (api, other_api)]
    assert [one for one in after[0] if one["resourceId"].startswith("reader")] == before[0][1:]
    assert after[1] == before[1]


def test_data_that_an_erased_customer_was_given_later_can_be_erased(api):
    api.post("/v1/requesters", {"id": ID})
    pseudonym = api.delete(PATH)["pseudonym"]
    issued = {"requesterId": pseudonym, "requesterName": PERSON["name"], "licenseType": "commercial"}
    api.post("/v1/licenses", issued, headers={"Idempotency-Key": "licence"})
    api.patch(f"/v1/requesters/{pseudonym}", {name: PERSON[name] for name in ("email", "notes", "metadata")})
    for _ in range(2):
        assert api.delete(f"/v1/requesters/{pseudonym}")["pseudonym"] == pseudonym
    assert api.get(f"/v1/requesters/{pseudonym}")["name"] is None
    assert tables_with_traces() == set()
    assert len(api.get("/v1/audit?action=requester.erased")["data"]) == 2


def test_notes_about_an_erased_customer_can_be_erased_although_its_profile_has_nothing(api):
    api.post("/v1/requesters", {"id": ID})
    pseudonym = api.delete(PATH)["pseudonym"]
    payment = {"amount": 5, "currency": "EUR", "requesterId": pseudonym, "note": "A transfer of Ada Lovelace"}
    paid = api.post("/v1/payments", payment, headers={"Idempotency-Key": "payment"})["id"]
    api.post(f"/v1/payments/{paid}/void", {"reason": "Ada Lovelace paid twice"})
    api.delete(f"/v1/requesters/{pseudonym}")
    [shown] = api.get("/v1/payments")["data"]
    assert (shown["note"], shown["voidReason"]) == (None, None)
    assert tables_with_traces() == set()


def test_an_erasure_is_audited(api):
    api.post("/v1/requesters", PERSON)
    api.delete(PATH)
    entry = AuditEntry.objects.get(action="requester.erased")
    assert entry.resource_id.startswith("erased_")
    assert entry.actor_type == "key"


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("is_of_version_before", [False, True])
def test_an_erasure_that_a_crash_interrupts_is_finished_by_upkeep(account, is_of_version_before):
    person = erasure.begin_erasure(Requester.objects.get(account=account, requester_id=ID))
    if is_of_version_before:
        person.erasing = {"id": ID, "texts": ["Ada Byron"], "later": ["Ada King"]}
        person.save()
    assert tables_with_traces() != set()
    assert erasure.finish_interrupted_erasures() == 1
    assert tables_with_traces() == set()
    assert erasure.finish_interrupted_erasures() == 0


def test_data_that_came_before_an_interrupted_erasure_was_finished_can_be_erased(api, account):
    api.post("/v1/requesters", {"id": ID})
    pseudonym = erasure.begin_erasure(Requester.objects.get(account=account, requester_id=ID)).requester_id
    given = {name: PERSON[name] for name in ("name", "email", "notes", "metadata")}
    assert api.patch(f"/v1/requesters/{pseudonym}", given).status == 200
    assert api.delete(f"/v1/requesters/{pseudonym}")["pseudonym"] == pseudonym
    assert api.get(f"/v1/requesters/{pseudonym}")["name"] is None
    assert tables_with_traces() == set()


def test_the_number_of_statements_depends_neither_on_the_licences_nor_on_where_they_came_from(api, account):
    statements = []
    for licenses in (1, 2, 20):  # the first request also notes the key's use
        former, requester = (f"{word}_reader_with_{licenses}" for word in ("former", "current"))
        for id in (former, requester):
            for _ in range(licenses):
                factories.license(account, id)
        assert api.post(f"/v1/requesters/{former}/merge", {"into": requester}).status == 200
        with CaptureQueriesContext(connection) as captured:
            assert api.delete(f"/v1/requesters/{requester}").status == 200
        history = str([*AuditEntry.objects.values_list("changes"), *Event.objects.values_list("data", "previous")])
        assert (former in history, requester in history) == (False, False)
        statements.append(len(captured))
    assert statements[1] == statements[2]


def test_an_erasure_writes_only_decisions_with_personal_data(api, item):
    check = {"contentId": item.pk, "requester": ID}
    for further in ({}, {}, {"context": CONTEXT}):
        assert api.post("/v1/access/check", {**check, **further}).status == 200
    with CaptureQueriesContext(connection) as captured:
        assert api.delete(PATH).status == 200
    [update] = [one["sql"] for one in captured if "UPDATE analytics_accessevent" in one["sql"]]
    assert update.startswith("1 times: ")
    assert tables_with_traces() == set()


@pytest.mark.usefixtures("person")
def test_on_sqlite_an_erasure_lets_others_write_between_its_parts(api, item, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's writers do not wait for each other")
    parts = []

    @contextmanager
    def count_the_part():
        before = Redaction.objects.count()
        yield
        parts.append((before, Redaction.objects.count()))

    monkeypatch.setattr(erased_copies, "ROWS", 2)
    monkeypatch.setattr(erased_copies, "part_of_a_write", count_the_part)
    for _ in range(7):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": ID, "context": CONTEXT})
    assert api.delete(PATH).status == 200
    assert len(parts) > AccessEvent.objects.count() / 2
    assert set(parts) == {(0, 0)}
    assert tables_with_traces() == set()


@pytest.mark.usefixtures("person")
def test_only_personal_columns_of_append_only_tables_can_be_redacted():
    with redacting():
        for rows, change in (
            (AuditEntry.objects.all(), {"actor_name": "x"}),
            (LedgerEntry.objects.all(), {"amount": 1}),
        ):
            with pytest.raises(Exception, match=r"only grows|append-only"), transaction.atomic():
                rows.update(**change)
    with pytest.raises(Exception, match="only grows"), transaction.atomic():
        AuditEntry.objects.update(resource_title="x")


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time.")
@pytest.mark.usefixtures("person")
def test_an_erasure_waits_for_no_decisions_of_another_installation_on_the_same_server(api, monkeypatch):
    monkeypatch.setattr(recordings, "PATIENCE_SECONDS", 0)
    name = f"{connection.settings_dict['NAME']}_beside"
    copy_on_postgresql(name)  # a copy's tables have the same numbers as the original's
    settings = connection.get_connection_params()
    with psycopg.connect(**{**settings, "dbname": name}) as other:
        other.execute("LOCK TABLE analytics_accessevent IN ROW EXCLUSIVE MODE")
        assert api.delete(PATH).status == 200
    with psycopg.connect(**{**settings, "dbname": "postgres"}, autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
