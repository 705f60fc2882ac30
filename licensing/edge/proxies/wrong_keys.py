"""Notes, for operators, proxies that ask with a wrong key: one that is unknown, or one for other hosts."""

import logging
from contextlib import suppress

from kit.http.errors import ApiError, HostNotAllowed, InvalidApiKey
from kit.http.headers import TrustedProxies
from kit.storage.light_tasks import moment
from kit.telemetry.repeated_log import RepeatedLog
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.head import Head
from licensing.edge.original import peer_address, read_original
from licensing.sites.refused_proxies import RefusedProxy


def note_unknown_key(sender: Sender, head: Head, proxies: TrustedProxies, error: ApiError) -> None:
    """Note at the site that a trusted proxy asks about it with a key that the service does not know.

    Anybody else could name any site.
    """
    is_unknown = isinstance(error, InvalidApiKey) and getattr(sender, "grant", None) is None
    if not is_unknown or not proxies.is_trusted_peer(str(peer_address(head))):
        return
    with suppress(ApiError):  # no readable page
        sender.callers.note_refused_proxy(RefusedProxy(read_original(head, proxies).host), moment())


def note_other_key(sender: Sender, host: str, faults: RepeatedLog, log: logging.Logger) -> None:
    """Note at the account's site, and log, that a proxy asks about it with a key for other hosts."""
    grant = sender.grant
    sender.callers.note_refused_proxy(RefusedProxy(host, grant.account_id, grant.key_id), moment())
    fault = f"A proxy asked about {host} with a key for other hosts ({grant.key_id}), so everybody is refused there."
    faults.log(log, logging.WARNING, HostNotAllowed.code, fault)
