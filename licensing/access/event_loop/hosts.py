"""The hosts that are served, by ALLOWED_HOSTS."""

from functools import lru_cache

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from kit.http.headers import LIMITS

MAX_HOST = LIMITS[b"host"].most  # bytes: a name of 253, and a port


def is_served(host: str) -> bool:
    return len(host) <= MAX_HOST and is_allowed(host)  # what is longer is no name, and would only fill the cache


@lru_cache(maxsize=1000)
def is_allowed(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
