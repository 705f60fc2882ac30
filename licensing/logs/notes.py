"""Notes of an import: fields that the format lacks or hides, a proxy's addresses, and requests imported before."""

import re
from collections.abc import Sequence
from datetime import timedelta

from kit.http.headers import parse_address
from licensing.logs.combined import words_behind_agent
from licensing.logs.format_strings import compile_format
from licensing.logs.formats import is_format_string
from licensing.logs.named_fields import parse_json_line, text_at
from licensing.logs.requests import Visit, first_address, shorten
from licensing.logs.totals import LogTotals
from licensing.sites.models import Site
from licensing.visits import proxy_networks
from licensing.visits.counting import edge_decisions

is_host_name = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}", re.ASCII | re.IGNORECASE).fullmatch
NO_AGENTS = "Lines of the common format have no User-Agent, so no crawler can be found in them."
UNREAD_HOST = (
    "Behind the User-Agent is {}, which the combined format does not read. If it is the host, lines of other hosts "
    "are counted, too: give the format string instead (docs/guides/logs.md)."
)
NO_HOST = (
    "The lines do not name a host, so all of them count for {}. If the account's other sites write to the same log, "
    "import one whose format has the host (docs/guides/logs.md): an import cannot be undone."
)
FORWARDED = (
    "The first address of each line counts as the visitor's. {:,} of the first {:,} lines have another, such as {}, "
    "perhaps from X-Forwarded-For. If the first is that of a CDN or a load balancer, no crawler is verified: give a "
    "format string that skips it (docs/guides/logs.md)."
)
FEW_NETWORKS = (
    "Nearly all of the first {:,} requests came from {}. If that is a CDN or a load balancer, no crawler is verified: "
    "import a log, or a field of it, that has the addresses of visitors (docs/guides/logs.md)."
)
IMPORTED_BEFORE = (
    "The site already has {:,} requests of other logs between {:%Y-%m-%d %H:%M} and {:%Y-%m-%d %H:%M} UTC. If this "
    "log has the same requests in another format, they count twice, and an import cannot be undone."
)
# Fewer than one in so many new requests are not noted: rotated logs share their first and last seconds.
NOTED_SHARE = 100
SECOND = timedelta(seconds=1)


def notes_about(site: Site, log_format: str, lines: Sequence[tuple[Visit, str]]) -> list[str]:
    """Return what a result has to say about fields that lines in this format, such as these, lack or hide."""
    if log_format == "common":
        return [NO_AGENTS]
    notes = []
    if log_format == "combined":
        words = [word for _, line in lines for word in words_behind_agent(line)]
        host = next(filter(is_host_name, words), None)
        if host is not None:
            notes.append(UNREAD_HOST.format(shorten(host)))
    if not notes and all(visit.host is None for visit, _ in lines):
        other_sites = Site.objects.filter(account_id=site.account_id).exclude(pk=site.pk)
        if other_sites.exists():
            notes.append(NO_HOST.format(site.host))
    others = []
    for visit, line in lines:
        other = parse_address(first_address(forwarded_address(log_format, line)))
        if other is not None and other.is_global and other != parse_address(visit.address):
            others.append(str(other))
    if len(others) * 2 > len(lines):
        notes.append(FORWARDED.format(len(others), len(lines), shorten(others[0])))
    return notes


def forwarded_address(log_format: str, line: str) -> str:
    """Return the addresses of X-Forwarded-For in a line of which another field counts; empty if it has none."""
    if log_format == "combined":
        return next((word for word in words_behind_agent(line) if parse_address(first_address(word))), "")
    if log_format == "nginx-json":
        row = parse_json_line(line)
        return text_at(row, ("http_x_forwarded_for",)) or ""
    if is_format_string(log_format):
        return compile_format(log_format).forwarded_address(line)
    return ""


def notes_about_networks(visits: Sequence[proxy_networks.Visit]) -> list[str]:
    networks = proxy_networks.find_proxy_networks(visits)
    if not networks:
        return []
    return [FEW_NETWORKS.format(len(visits), proxy_networks.describe_networks(networks))]


def notes_about_earlier_imports(site: Site, totals: LogTotals, *, dry_run: bool) -> list[str]:
    """Return a note if the site has requests of other logs from this log's time."""
    if not totals.imported or totals.first is None or totals.last is None:
        return []
    decisions = edge_decisions(totals.first.replace(microsecond=0), totals.last.replace(microsecond=0) + SECOND)
    imported = decisions.filter(account_id=site.account_id, facts__siteId=site.pk, facts__has_key="imported")
    others = imported.count() - totals.repeated - (0 if dry_run else totals.imported)
    if others <= totals.imported // NOTED_SHARE:
        return []
    return [IMPORTED_BEFORE.format(others, totals.first, totals.last)]
