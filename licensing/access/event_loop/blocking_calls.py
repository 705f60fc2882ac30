"""Blocking calls of the gateway, run in threads. Each call serves all waiting requests."""

import logging
from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from jwt import PyJWK

from accounts.keys.authentication import Grant, find_grants, read_by_digests
from accounts.keys.callers import Use, note
from accounts.plans.epochs import Changes, changes_since, current_epoch
from kit.http.errors import ApiError, InvalidApiKey, as_api_error, forget_frames
from kit.storage.light_tasks import run_blocking
from kit.storage.microbatch import Work
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import find_requesters, keep_requesters
from licensing.access.subjects import LookupRequest, LookupResult, RequesterSnapshot, Selector
from licensing.access.tokens.license_tokens import find_key
from licensing.access.tokens.signing import Signer, current_signer
from licensing.requesters.numbers import reserve
from licensing.sites.lookup import find_sites
from licensing.sites.other_hosts import keep_pages
from licensing.sites.refused_proxies import RefusedProxy, note_refused_proxy

Since = tuple[str, int]  # (account id, epoch)
AtHost = tuple[str, str]  # (account id, host)
Named = tuple[str, dict[str, str | None]]  # (account id, names by requester id): arguments of keep_requesters

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


def look_up_now(many: Sequence[LookupRequest]) -> list[LookupResult]:
    """Look up the facts of all requests, once per account."""
    together: dict[str, tuple[set[Selector], set[str]]] = {}
    for wanted in many:
        selectors, requesters = together.setdefault(wanted.account_id, (set(), set()))
        selectors |= wanted.selectors
        requesters |= wanted.requesters
    found = {account_id: look_up_account(account_id, *wanted) for account_id, wanted in together.items()}
    return [found[wanted.account_id] for wanted in many]


def look_up_account(account_id: str, selectors: Iterable[Selector], requesters: Iterable[str]) -> LookupResult:
    epoch = current_epoch(account_id)  # read first, so the facts are at least as new as the epoch
    items = find_items(account_id, selectors, epoch)
    return LookupResult(epoch, items, find_requesters(account_id, requesters) if requesters else {})


def changes_now(many: Sequence[Since]) -> list[Changes | None]:
    found = {since: changes_since(*since) for since in set(many)}
    return [found[since] for since in many]


def keep_requesters_now(many: Sequence[Named]) -> list[dict[str, RequesterSnapshot]]:
    together: dict[str, dict[str, str | None]] = {}
    for account_id, named in many:
        of_account = together.setdefault(account_id, {})
        for requester_id, name in named.items():
            of_account[requester_id] = name or of_account.get(requester_id)
    kept = {account_id: keep_requesters(account_id, named) for account_id, named in together.items()}
    return [{requester_id: kept[account_id][requester_id] for requester_id in named} for account_id, named in many]


def reserve_now(counts: Sequence[int]) -> list[int]:
    """Reserve the sum of these counts of requester numbers."""
    return reserve(sum(counts))


def find_grants_now(texts: Sequence[str]) -> list[Grant | InvalidApiKey]:
    return run_blocking(find_grants(texts, read_by_digests))


def find_signer_now(many: Sequence[None]) -> list[Signer | ApiError]:
    """Return the active signer for each waiting request."""
    try:
        return [current_signer()] * len(many)
    except ApiError as error:
        return [error] * len(many)


def find_keys_now(kids: Sequence[str]) -> list[PyJWK | None]:
    """Return the keys that verify licence tokens, by their ids."""
    found = {kid: find_key(kid) for kid in set(kids)}
    return [found[kid] for kid in kids]


def note_uses_now(uses: Sequence[Use | RefusedProxy]) -> list[None]:
    """Store the last uses of keys, and refused proxies.

    After a failure their requests succeed, and a use after a minute tries again.
    """
    keys = {(use.grant.key_id, use.refusal != ""): use for use in uses if isinstance(use, Use)}
    proxies = {proxy for proxy in uses if isinstance(proxy, RefusedProxy)}
    try:
        for use in keys.values():
            note(use, timezone.now())
        for proxy in proxies:
            note_refused_proxy(proxy, timezone.now())
    except (DatabaseError, InterfaceError) as error:
        logger.warning("The last use of a key could not be written: %s", error)
    return [None] * len(uses)


def keep_pages_now(account_ids: Sequence[str]) -> list[None]:
    """Create the items that visits of hosts without a site are recorded under."""
    for account_id in set(account_ids):
        keep_pages(account_id)
    return [None] * len(account_ids)


def find_hosts_now(many: Sequence[AtHost]) -> list[tuple[str, ...]]:
    """Return all hosts of the site that each host belongs to; empty without a site."""
    found = {}
    for account_id, host in set(many):
        site = find_sites(account_id, [host], current_epoch(account_id)).get(host)
        found[account_id, host] = () if site is None else site.hosts
    return [found[one] for one in many]


def run_each(works: Sequence[Work]) -> list[Exception | None]:
    """Run the works of all requests; return the error of each."""
    errors: list[Exception | None] = []
    for work in works:
        try:
            work()
        except ApiError as error:
            forget_frames(error)
            errors.append(error)
        except Exception as exc:
            if not connection.in_atomic_block:
                connection.close_if_unusable_or_obsolete()
            errors.append(as_api_error(exc))
        else:
            errors.append(None)
    return errors
