"""Notes at a key when it was last used, and since when proxies are refused with it: at most once a minute each."""

from datetime import datetime, timedelta

from django.db.models import Case, F, Q, Value, When
from msgspec import Struct

from accounts.keys import states
from accounts.keys.authentication import Grant
from accounts.keys.models import ApiKey

PRECISION = timedelta(minutes=1)
MAX_NOTED = 10_000
MAX_REFUSAL = 255  # characters; a message may name a host
noted: dict[tuple[str, bool], datetime] = {}  # when this process last wrote a use or a refusal, by Use.kind


class Use(Struct, frozen=True):
    """A request with a key. `refusal` says why a proxy was refused; it is empty for other requests."""

    grant: Grant
    refusal: str = ""

    @property
    def kind(self) -> tuple[str, bool]:
        return self.grant.key_id, bool(self.refusal)


def is_to_note(use: Use, now: datetime) -> bool:
    """Whether the last note is more than a minute old, as far as this process knows, or the digest is to be stored."""
    last = noted.get(use.kind)
    if last is None and not use.refusal and use.grant.new_digest is None:
        last = use.grant.last_used_at
    return last is None or now - last >= PRECISION


def note(use: Use, now: datetime) -> None:
    """Write the use or the refusal, unless one was written less than a minute ago."""
    if len(noted) >= MAX_NOTED:
        noted.clear()  # safe, because the conditions below enforce the minute too
    noted[use.kind] = now
    key = ApiKey.objects.filter(pk=use.grant.key_id)
    if use.refusal:
        since = Case(When(states.is_refused(now), then=F("refused_since")), default=Value(now))
        stale = Q(refused_at=None) | Q(refused_at__lte=now - PRECISION)
        key.filter(stale).update(refused_since=since, refused_at=now, refusal=use.refusal[:MAX_REFUSAL])
        return
    key.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - PRECISION)).update(last_used_at=now)
    if use.grant.new_digest is not None:
        key.update(digest=use.grant.new_digest)
