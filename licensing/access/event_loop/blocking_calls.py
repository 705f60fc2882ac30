"""Blocking calls of the gateway, run in threads. Each call serves all waiting requests."""

import logging
from collections.abc import Sequence
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from jwt import PyJWK

from accounts.keys.authentication import Grant, find_grants, read_by_digests
from accounts.keys.callers import Use, write_use
from accounts.plans.epochs import Changes, changes_since, current_epoch
from kit.http.error_replies import as_api_error, forget_frames
from kit.http.errors import ApiError, InvalidApiKey
from kit.storage.light_tasks import run_blocking
from kit.storage.microbatch import Work
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import find_requesters, keep_requesters
from licensing.access.subjects import LookupRequest, LookupResult, RequesterSnapshot
from licensing.access.tokens.license_tokens import find_key
from licensing.access.tokens.signing import Signer, current_signer
from licensing.requesters.reserved_keys import reserve_numbers
from licensing.sites.lookup import find_sites
from licensing.sites.other_hosts import keep_pages
from licensing.sites.refused_proxies import RefusedProxy, note_refused_proxy

Since = tuple[str, int]  # (account id, epoch)
AtHost = tuple[str, str]  # (account id, host)
Named = tuple[str, dict[str, str | None]]  # (account id, names by requester id): arguments of keep_requesters

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


def look_up_now(requests: Sequence[LookupRequest]) -> list[LookupResult]:
    """Look up the facts of all requests, once per account."""
    by_account: dict[str, LookupRequest] = {}
    for request in requests:
        merged = by_account.setdefault(request.account_id, LookupRequest(request.account_id, set(), set()))
        merged.selectors.update(request.selectors)
        merged.requesters.update(request.requesters)
    results = {account_id: look_up_account(merged) for account_id, merged in by_account.items()}
    return [results[request.account_id] for request in requests]


def look_up_account(request: LookupRequest) -> LookupResult:
    epoch = current_epoch(request.account_id)  # read first, so the facts are at least as new as the epoch
    items = find_items(request.account_id, request.selectors, epoch)
    requesters = find_requesters(request.account_id, request.requesters) if request.requesters else {}
    return LookupResult(epoch, items, requesters)


def changes_now(requests: Sequence[Since]) -> list[Changes | None]:
    changes = {since: changes_since(*since) for since in set(requests)}
    return [changes[since] for since in requests]


def keep_requesters_now(requests: Sequence[Named]) -> list[dict[str, RequesterSnapshot]]:
    names_by_account: dict[str, dict[str, str | None]] = {}
    for account_id, names in requests:
        account_names = names_by_account.setdefault(account_id, {})
        for requester_id, name in names.items():
            account_names[requester_id] = name or account_names.get(requester_id)
    requesters = {account_id: keep_requesters(account_id, names) for account_id, names in names_by_account.items()}
    return [
        {requester_id: requesters[account_id][requester_id] for requester_id in names}
        for account_id, names in requests
    ]


def reserve_now(counts: Sequence[int]) -> list[int]:
    """Reserve the sum of these counts of requester numbers."""
    return reserve_numbers(sum(counts))


def find_grants_now(texts: Sequence[str]) -> list[Grant | InvalidApiKey]:
    return run_blocking(find_grants(texts, read_by_digests))


def find_signer_now(requests: Sequence[None]) -> list[Signer | ApiError]:
    """Return the active signer for each waiting request."""
    try:
        return [current_signer()] * len(requests)
    except ApiError as error:
        return [error] * len(requests)


def find_keys_now(kids: Sequence[str]) -> list[PyJWK | None]:
    """Return the keys that verify licence tokens, by their ids."""
    keys = {kid: find_key(kid) for kid in set(kids)}
    return [keys[kid] for kid in kids]


def note_uses_now(uses: Sequence[Use | RefusedProxy]) -> list[None]:
    """Store the last uses of keys, and refused proxies.

    After a failure their requests succeed, and a use after a minute tries again.
    """
    keys = {(use.grant.key_id, use.refusal != ""): use for use in uses if isinstance(use, Use)}
    proxies = {proxy for proxy in uses if isinstance(proxy, RefusedProxy)}
    try:
        for use in keys.values():
            write_use(use, timezone.now())
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


def find_hosts_now(requests: Sequence[AtHost]) -> list[tuple[str, ...]]:
    """Return all hosts of the site that each host belongs to; empty without a site."""
    site_hosts = {}
    for account_id, host in set(requests):
        site = find_sites(account_id, [host], current_epoch(account_id)).get(host)
        site_hosts[account_id, host] = () if site is None else site.hosts
    return [site_hosts[request] for request in requests]


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
