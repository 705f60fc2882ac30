import sqlite3
from contextlib import closing

import pytest
from django.db import connection
from django.utils import timezone

from licensing.access.bodies import parse_check
from licensing.access.checks import check_access
from tests import factories


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no lock of all writers.")
def test_a_dry_run_waits_for_no_writer():
    account = factories.account()
    item = factories.content(account)
    check = parse_check({"contentId": item.pk, "requester": "org_acme", "dryRun": True})
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        [answer] = check_access(account.pk, [check], timezone.now())
    assert not answer.decision.allowed


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_is_followed_by_writing_transactions():
    account = factories.account()
    item = factories.content(account)
    for dry_run in (True, False):
        body = {"contentId": item.pk, "requester": "org_acme", "dryRun": dry_run}
        [answer] = check_access(account.pk, [parse_check(body)], timezone.now())
        assert (answer.id is None) == dry_run
