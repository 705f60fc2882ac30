"""Notes at a site that a proxy asks about it with a key that is unknown, or for other hosts.

Other refusals are noted at the key (accounts.keys.callers). An unknown key has no row, and one for other hosts works
for its own site meanwhile.
"""

from datetime import datetime, timedelta

from django.db.models import Case, F, Q, Value, When
from msgspec import Struct

from licensing.sites.models import Site, at_hosts

NOTED_EVERY = timedelta(minutes=1)
REFUSED_WITHIN = timedelta(days=1)
BEGINS_ANEW_AFTER = timedelta(hours=1)  # without a refusal
MAX_NOTED = 10_000
UNKNOWN_KEY = "The service does not know its key."
OTHER_KEY = "Its key is for other hosts."
# When this process last noted a refusal of a key (None: unknown) about the account's host.
noted: dict[tuple[str, str | None, str | None], datetime] = {}


class RefusedProxy(Struct, frozen=True):
    """A proxy that was refused when it asked about a host. Without `account_id` its key is unknown."""

    host: str
    account_id: str | None = None
    key_id: str | None = None

    def is_to_note(self, now: datetime) -> bool:
        last = noted.get((self.host, self.account_id, self.key_id))
        return last is None or now - last >= NOTED_EVERY


def note_refused_proxy(proxy: RefusedProxy, now: datetime) -> None:
    """Write the refusal to the site of the host, unless one of this key was written less than a minute ago.

    A refused key that is known takes the place of an unknown one, because it refuses visitors. With an unknown key,
    the site must be the only one that has the host.
    """
    if len(noted) >= MAX_NOTED:
        noted.clear()  # safe, because the condition below enforces the minute, too
    noted[proxy.host, proxy.account_id, proxy.key_id] = now
    sites = Site.objects.filter(at_hosts([proxy.host]))
    if proxy.account_id is not None:
        sites = sites.filter(account_id=proxy.account_id)
    site_ids = list(sites.values_list("pk", flat=True)[:2])
    if len(site_ids) != 1:
        return
    is_same_key = Q(refused_key=proxy.key_id) if proxy.key_id else Q(refused_key=None)
    goes_on = is_same_key & Q(refused_at__gt=now - BEGINS_ANEW_AFTER)
    is_due = Q(refused_at=None) | Q(refused_at__lte=now - NOTED_EVERY)
    if proxy.key_id is not None:
        is_due |= ~is_same_key
    Site.objects.filter(is_due, pk=site_ids[0]).update(
        refused_since=Case(When(goes_on, then=F("refused_since")), default=Value(now)),
        refused_at=now,
        refused_key=proxy.key_id,
    )


def is_refused(now: datetime) -> Q:
    """Return the condition for sites whose proxy was refused within a day."""
    return Q(refused_at__gt=now - REFUSED_WITHIN)
