"""Sites that reports name by their ids."""

from kit.http.errors import InvalidRequest
from kit.values import ids
from licensing.sites.models import Site

SITE_ID = {"type": "string", "pattern": f"^site_{ids.TEXT}$"}


def site_named(account_id: str, site_id: str | None) -> Site | None:
    """Return the account's site, or None if none is named. Raises InvalidRequest for an unknown site."""
    if site_id is None:
        return None
    own = Site.objects.filter(account_id=account_id)
    site = own.filter(pk=site_id).first() if ids.decode("site", site_id) is not None else None
    if site is None:
        raise InvalidRequest("There is no such site.", param="siteId")
    return site
