"""The service's own host names, which are no sites: their documents would be the service's."""

from urllib.parse import urlsplit

from django.conf import settings

from kit.values.hosts import host_of_header


def is_own_host(host: str) -> bool:
    """Whether BASE_URL or ALLOWED_HOSTS names this host. Whole domains and `*` in ALLOWED_HOSTS do not count."""
    names = [urlsplit(settings.BASE_URL).netloc, *settings.ALLOWED_HOSTS]
    return host in {host_of_header(name) for name in names}
