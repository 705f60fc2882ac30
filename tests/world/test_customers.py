"""Customers: a merge, an erasure, and a billing system that sent the same licences twice."""

from collections import Counter
from typing import Any

import pytest

from tests.world.model.expected import Expected
from tests.world.publisher import ADA, FORMER, KEPT, SYNCHRONISED


def requesters(month: Expected) -> Counter[str]:
    return Counter(row["requester"]["id"] for row in month.rows("decisions"))


def test_no_table_log_list_or_file_has_the_data_of_who_was_erased(month: Expected) -> None:
    assert month.found["traces"] == []


def test_records_of_erased_requesters_are_kept_under_the_pseudonym(month: Expected) -> None:
    [ada] = month.diary.erased
    assert ada.former == ADA
    assert requesters(month)[ada.pseudonym] > 0
    lists = ("ledger", "statements", "licences", "wallets")
    assert [any(row["requesterId"] == ada.pseudonym for row in month.rows(name)) for name in lists] == [True] * 4


def test_the_merged_ones_decisions_are_the_others_from_the_merge_on(month: Expected) -> None:
    [carried] = month.diary.carried
    own: dict[str, list[Any]] = {FORMER: [], KEPT: []}
    for row in month.rows("decisions"):
        if row["requester"]["id"] in own:
            own[row["requester"]["id"]].append(row["created"] > f"{carried.at:%Y-%m-%dT%H:%M:%S.%fZ}")
    assert set(own[FORMER]) == {False}
    assert set(own[KEPT]) == {False, True}


def test_after_a_merge_the_former_one_has_nothing_left_and_both_statements_add_up(month: Expected) -> None:
    latest: dict[tuple[str, str], Any] = {}
    for row in sorted(month.rows("statements"), key=lambda row: row["month"]):
        if row["requesterId"] in (FORMER, KEPT) and row["credits"]:
            one, key = row["credits"], (row["requesterId"], row["currency"])
            assert one["opening"] == latest.get(key, {"closing": 0})["closing"]
            moved = one["granted"] - one["spent"] - one["expired"] + one["refunded"]
            assert one["opening"] + moved == one["closing"]
            latest[key] = one
    assert {unit: latest[FORMER, unit]["closing"] for unit in ("USD", "access")} == {"USD": 0, "access": 0}
    balances: Counter[str] = Counter()
    for row in month.rows("wallets"):
        if row["requesterId"] in (FORMER, KEPT):
            balances[row["unit"]] += row["balance"]
    assert {unit: latest[KEPT, unit]["closing"] for unit in ("USD", "access")} == balances


def test_licences_that_were_synchronised_twice_are_there_once(month: Expected) -> None:
    found = Counter(row["externalId"] for row in month.rows("licences") if row["externalId"])
    assert found == {f"subscription-{n}": 1 for n in range(SYNCHRONISED)}


@pytest.mark.parametrize("kind", ["refund", "promotional", "paid"])
def test_grants_of_every_kind_were_made(month: Expected, kind: str) -> None:
    assert any(row["kind"] == kind for rows in month.found["grants"].values() for row in rows)
