from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from accounts.models import Account
from licensing.imports import importer
from tests import factories
from tests.client import ApiClient
from tests.commands.importing import Import, Run, items, lines


def test_importing_again_changes_nothing(load: Import, api: ApiClient) -> None:
    data = lines(
        {"externalId": "1", "title": "A", "metadata": {"author": "Ann", "size": 1.0, "pages": 10**15, "free": True}},
        {"externalId": "2", "title": "Ä", "tags": ["x"], "metadata": {"publishedAt": "2026-01-31", "tags": []}},
    )
    load("a.jsonl", data)
    before = api.get("/v1/content")["data"]
    run = load("a.jsonl", data)
    assert (run["created"], run["updated"], run["unchanged"]) == (0, 0, 2)
    assert api.get("/v1/content")["data"] == before


def test_a_changed_row_updates_its_item_and_leaves_what_it_does_not_give(load: Import, api: ApiClient) -> None:
    load("a.csv", "externalId,title,tags,metadata.author\n1,A,x,Ann\n2,B,y,Ben\n")
    before = {item["externalId"]: item for item in api.get("/v1/content")["data"]}
    run = load("b.csv", "externalId,title,tags,metadata.category\n1,A2,,News\n2,B,,\n")
    assert (run["updated"], run["unchanged"]) == (1, 1)
    after = {item["externalId"]: item for item in api.get("/v1/content")["data"]}
    assert after["2"] == before["2"]
    assert (after["1"]["id"], after["1"]["created"]) == (before["1"]["id"], before["1"]["created"])
    assert (after["1"]["title"], after["1"]["tags"]) == ("A2", ["x"])
    assert after["1"]["metadata"] == {"author": "Ann", "category": "News"}
    assert after["1"]["updated"] > before["1"]["updated"]


def test_nulls_and_other_types_are_changes(load: Import, account: Account) -> None:
    load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": 1}}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": True}}))["updated"] == 1
    assert items(account)["1"].metadata_extra["flag"] is True


def test_a_json_null_clears_a_field_as_in_a_request(load: Import, account: Account) -> None:
    load("a.jsonl", lines({"externalId": "1", "title": "A", "source": "https://example.com/a"}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "source": None}))["updated"] == 1
    assert items(account)["1"].source is None


def test_rows_change_known_items_of_their_account(load: Import, account: Account) -> None:
    factories.content(account, external_id="1", title="Kept")
    run = load("a.csv", "externalId,tags\n1,new\n2,new\n")
    assert (run["updated"], run.errors) == (1, ["line 3: title: This field is required."])
    assert items(account)["1"].title == "Kept"


def test_of_rows_with_one_external_id_the_last_wins_each_time(load: Import, account: Account) -> None:
    data = "externalId,title\n1,First\n2,Other\n1,Last\n"
    assert (load("a.csv", data)["created"], items(account)["1"].title) == (2, "Last")
    run = load("a.csv", data)
    assert (run["updated"], run["unchanged"], run["superseded"]) == (0, 2, 1)


def test_a_deleted_item_is_made_anew(load: Import, account: Account, api: ApiClient) -> None:
    old = factories.content(account, external_id="1")
    api.delete(f"/v1/content/{old.pk}")
    assert load("a.csv", "externalId,title\n1,A\n")["created"] == 1
    assert items(account)["1"].pk != old.pk


def test_nothing_crosses_accounts(load: Import, other_account: Account) -> None:
    theirs = factories.content(other_account, external_id="1", title="Theirs")
    policy = factories.policy(other_account)
    run = load("a.csv", f"externalId,title,policyId\n1,Ours,\n2,Ours,{policy.pk}\n")
    assert run["created"] == 1
    assert run.errors == [f"line 3: policyId: There is no policy '{policy.pk}'."]
    theirs.refresh_from_db()
    assert theirs.title == "Theirs"


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_a_file_at_once_make_each_item_once(
    load: Import, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_have_looked = Barrier(2)
    look_up = importer.keep_policies

    def together(account_id: str, policy_ids: set[Any]) -> set[str]:
        with suppress(BrokenBarrierError):  # on SQLite the second reads only after the first has written
            both_have_looked.wait(0.3)
        return look_up(account_id, policy_ids)

    def run(number: int) -> Run:
        try:
            return load(f"{number}.csv", "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(50)))
        finally:
            connection.close()

    monkeypatch.setattr(importer, "keep_policies", together)
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(run, range(2)))
    assert sorted((one["created"], one["unchanged"]) for one in runs) == [(0, 50), (50, 0)]
    assert len(items(account)) == 50


def test_of_an_interrupted_run_whole_batches_stay(
    load: Import, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(5))
    monkeypatch.setattr(importer, "BATCH_ROWS", 2)
    validated = importer.Import.validated

    def interrupted(self: importer.Import, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("externalId") == "3":
            raise KeyboardInterrupt
        return validated(self, body)

    with monkeypatch.context() as patch:
        patch.setattr(importer.Import, "validated", interrupted)
        with pytest.raises(CommandError, match="2 of 5 rows are done"):
            load("a.csv", data)
    assert sorted(items(account)) == ["0", "1"]
    assert (again := load("a.csv", data))["created"] == 3
    assert again["unchanged"] == 2
