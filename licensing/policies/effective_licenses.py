"""Resolve which of a requester's licences are valid for an item at a moment. Uses neither ORM nor HTTP."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import astuple, replace

from licensing.policies.facts import NOT_ASKED, NOTHING, Facts, HeldLicense, Values


class Term(Struct, frozen=True, gc=False):
    """A licence with its start and scope. An empty scope covers everything. `policies` are UUIDs in hex."""

    license: HeldLicense
    starts_at: datetime
    revoked: bool = False
    content_ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    policies: Sequence[str] = ()
    revoked_at: datetime | None = None

    def as_of(self, moment: datetime) -> "Term":
        """Return the licence as it was at a past moment: not revoked if it was revoked later."""
        is_later = self.revoked_at is not None and moment < self.revoked_at
        return replace(self, revoked=False) if is_later else self

    def is_valid(self, now: datetime) -> bool:
        end = self.license.expires_at
        return not self.revoked and self.starts_at <= now and (end is None or now < end)


class Standing(Struct, frozen=True, gc=False):
    """A requester's licences for an item at a moment, stored by the service or asserted by the caller.

    Its fields are the licence fields of Facts, in their order.
    """

    license_types: tuple[str, ...] = ()
    is_valid: bool = False
    has_lapsed: bool = False  # none is valid, and an unrevoked one has expired
    by_service: bool = True
    licenses: tuple[HeldLicense, ...] = ()


@lru_cache(maxsize=1_000)
def asserted_standing(license_type: str | None, has_valid_license: bool) -> Standing:
    """Return the standing that the caller asserts."""
    return Standing(
        licenses=(HeldLicense(license_type),) if license_type is not None or has_valid_license else (),
        license_types=(license_type,) if license_type is not None else (),
        is_valid=has_valid_license,
        by_service=False,
    )


def parse_asserted_standing(asserted: Mapping[str, object]) -> Standing:
    """Return the standing asserted in these members of the API's `requester`."""
    license_type = asserted.get("licenseType")
    return asserted_standing(
        license_type if isinstance(license_type, str) else None, asserted.get("hasValidLicense") is True
    )


def build_standing(licenses: Iterable[HeldLicense], *, has_lapsed: bool) -> Standing:
    """Return the standing of a requester with these valid licences."""
    valid = tuple(licenses)
    types = tuple(license_.license_type for license_ in valid if license_.license_type is not None)
    return Standing(types, bool(valid), has_lapsed and not valid, licenses=valid)


def standing_at(terms: Iterable[Term], now: datetime, presented_id: str | None = None) -> Standing | None:
    """Return the standing by the service's licences for an item, which must be sorted by start; None if none has
    started.

    Only the first valid licence per type is kept, because rules cannot distinguish others. A valid licence
    `presented_id` is used alone.
    """
    valid: dict[str | None, HeldLicense] = {}
    has_begun = has_lapsed = False
    for term in terms:
        if term.starts_at > now:
            break
        has_begun = True
        if presented_id is not None and term.license.id == presented_id and term.is_valid(now):
            return build_standing([term.license], has_lapsed=False)
        if term.revoked:
            continue
        if term.license.expires_at is not None and term.license.expires_at <= now:
            has_lapsed = True
        else:
            valid.setdefault(term.license.license_type, term.license)
    if not has_begun:
        return None
    return build_standing(valid.values(), has_lapsed=has_lapsed)


def build_facts(
    standing: Standing,
    now: datetime,
    requester_id: str,
    permission: str | None,
    of_item: Values,
    of_check: Values = NOTHING.facts,
    of_wallets: Values = NOT_ASKED,
) -> Facts:
    """Build the facts of a requester with this standing. `of_item`, `of_check` and `of_wallets` are values by
    source.
    """
    return Facts(now, requester_id, permission, *astuple(standing), *of_wallets, *of_item, *of_check)
