"""Proves that an account controls a host: by a record in a file or in DNS.

Accounts can enter any host name, so the file is fetched by the guarded client (kit.outbound): https, public addresses
only, no redirects. The record contains the site's id, which is not secret: only somebody who controls the host can
publish it.
"""

import asyncio

import dns.asyncresolver
import dns.exception
import dns.resolver
from msgspec import Struct

from kit.outbound.client import Client, Reply, Unreachable
from kit.outbound.destinations import DestinationRefused

FILE = "/.well-known/content-access-licensing.txt"
LABEL = "_content-access-licensing"  # prefix of the TXT records' names
# of a fetch
TIMEOUT_SECONDS = 5
MAX_BYTES = 64 * 1024
GONE_STATUSES = (404, 410)


class VerificationSource(Struct, frozen=True):
    """The records found in one place, or the `problem` that prevented reading them."""

    name: str  # a URL or DNS name
    records: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def finding(self) -> str:
        """Explain why this place does not have the expected record."""
        if self.problem:
            return f"{self.name}: {self.problem}"
        finding = "there are other records" if self.records else "there is no record"
        return f"{self.name}: {finding}."


class Evidence(Struct, frozen=True):
    """The records that a host published at the time of a look-up."""

    host: str
    file: VerificationSource
    txt: VerificationSource

    def proves(self, record: str) -> bool:
        return record in self.file.records or record in self.txt.records

    def disproves(self, record: str) -> bool:
        """Whether both places could be read and neither has the record."""
        return not (self.proves(record) or self.file.problem or self.txt.problem)


def dns_record(site_id: str) -> str:
    return f"content-access-licensing={site_id}"


def file_url(host: str) -> str:
    return f"https://{host}{FILE}"


def txt_name(host: str) -> str:
    return f"{LABEL}.{host}"


async def look_at_host(host: str) -> Evidence:
    file, txt = await asyncio.gather(read_file(host), read_txt(host))
    return Evidence(host, file, txt)


async def fetch(url: str) -> Reply:
    headers = {"User-Agent": "content-access-licensing"}
    return await Client().send("GET", url, headers, seconds=TIMEOUT_SECONDS, most_bytes=MAX_BYTES)


async def read_file(host: str) -> VerificationSource:
    url = file_url(host)
    try:
        reply = await fetch(url)
    except (DestinationRefused, Unreachable) as error:
        return VerificationSource(url, problem=str(error))
    if reply.status in GONE_STATUSES:
        return VerificationSource(url)
    if reply.status != 200:
        return VerificationSource(url, problem=f"it is answered with {reply.status}.")
    return VerificationSource(
        url, frozenset(line.strip() for line in reply.body.decode("utf-8", "replace").splitlines())
    )


async def read_txt(host: str, resolver: dns.asyncresolver.Resolver | None = None) -> VerificationSource:
    name = txt_name(host)
    try:
        resolver = resolver or dns.asyncresolver.Resolver()
        answer = await resolver.resolve(name, "TXT", search=False, lifetime=TIMEOUT_SECONDS)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return VerificationSource(name)
    except (dns.exception.DNSException, OSError):
        return VerificationSource(name, problem="the name servers do not answer.")
    return VerificationSource(
        name, frozenset(b"".join(record.strings).decode("ascii", "replace").strip() for record in answer)
    )
