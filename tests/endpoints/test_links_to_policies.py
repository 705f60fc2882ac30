from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from kit.http.errors import ApiError, InUse, ValidationFailed
from licensing.content.models import Content
from licensing.content.services import create_content, keep_policies
from licensing.policies.services import delete_policy
from licensing.sites.services import create_site
from tests import factories
from tests.lock_waits import in_thread, open_session, wait_until_blocked

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")


def link(account, policy) -> Content:
    return create_content(account.pk, {"title": "Linked", "policy_id": policy.pk})


def link_site(account, policy) -> object:
    rules = [{"pattern": "/*", "policy_id": policy.pk}]
    return create_site(account.pk, {"host": "pub.example", "rules": rules})


def keep_of_a_bulk_request(account, policy) -> object:
    with transaction.atomic():
        return keep_policies(account.pk, [policy.pk])


def outcome(work: Callable[..., object], *arguments: object) -> object:
    """Return what `work` returns, or the type of the error that it raises."""
    try:
        return in_thread(work, *arguments)
    except ApiError as error:
        return type(error)


def wait_for_lock_of_this_session(work: Future[object]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [pid] = cursor.fetchone()
    with open_session(autocommit=True) as observer:
        assert wait_until_blocked(work, pid, observer)


@on_postgresql
@pytest.mark.parametrize("write", [link, link_site])
@pytest.mark.parametrize("is_deleted_first", [True, False])
def test_a_link_and_a_deletion_wait_for_each_other_and_the_later_is_refused(account, policy, write, is_deleted_first):
    works = [(write, account, policy), (delete_policy, policy)]
    earlier, later = reversed(works) if is_deleted_first else works
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            earlier[0](*earlier[1:])
            waiting = pool.submit(outcome, *later)
            wait_for_lock_of_this_session(waiting)
        assert waiting.result(30) is (ValidationFailed if is_deleted_first else InUse)


@on_postgresql
@pytest.mark.parametrize("write", [link, link_site, keep_of_a_bulk_request])
def test_two_links_to_the_same_policy_do_not_wait_for_each_other(account, policy, write):
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        link(account, policy)
        assert pool.submit(outcome, write, account, policy).result(30)


def test_no_item_has_a_deleted_policy_after_a_race(account):
    for _ in range(5):
        policy = factories.policy(account)
        with ThreadPoolExecutor(4) as pool:
            links = [pool.submit(outcome, link, account, policy) for _ in range(3)]
            deletion = pool.submit(outcome, delete_policy, policy).result(30)
            items = [one.result(30) for one in links]
        policy.refresh_from_db()
        assert deletion in (None, InUse)
        assert (policy.deleted_at is None) == any(isinstance(item, Content) for item in items)
