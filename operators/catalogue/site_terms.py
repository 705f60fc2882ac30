"""Pages of a site: its terms, the documents published from them, and its proxy's files."""

from collections import Counter
from io import BytesIO

from asgiref.sync import async_to_sync
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase

from accounts.models import Unknown
from licensing.edge.audiences import sentences
from licensing.edge.current_crawlers import agents_for_robots
from licensing.edge.middleware import license_server
from licensing.edge.observed import BROWSERS, MAX_PRICED, PROGRAMS, ObservedFigures
from licensing.edge.proxies.downloads import note_download, outdated_downloads
from licensing.edge.proxies.files import PROXY_KINDS, proxy_file
from licensing.edge.proxies.page_access import describe as describe_pages
from licensing.edge.publishing.documents import compiled_rules, terms_of_site, write_documents
from licensing.edge.publishing.publication import Publication
from licensing.edge.site_lint import lint_site, lint_sizes
from licensing.edge.site_published import lint_published
from licensing.sites.models import Site
from operators.base.figures.terms import format_sums
from operators.base.mixins import AdminMixin
from operators.base.pages import page
from operators.catalogue.site_proxies import proxy_file_state


def sentences_about(site: Site) -> list[tuple[str, str]]:
    """Return each audience of the site with the sentence about it."""
    return sentences(compiled_rules(site), denies_unknown=site.unknown == Unknown.DENY)


def terms_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    """Show the page; a POST also fetches what the site currently publishes."""
    publication = Publication(
        site.host,
        terms_of_site(site),
        site.account.name,
        license_server(request, site.host),
        agents_for_robots(),
    )
    documents = write_documents(publication)
    return page(
        request,
        model_admin,
        "operators/catalogue/site_terms.html",
        title=f"The terms of {site.host}",
        original=site,
        sentences=sentences_about(site),
        own_terms=sum(1 for item in {term.item for term in publication.terms} if item is not None),
        findings=[*lint_site(site), *lint_sizes(documents)],
        published=async_to_sync(lint_published)(publication) if request.method == "POST" else None,
        rules=site.rules.select_related("policy").order_by("position"),
        documents=[(path, body.decode()) for path, body in documents.items()],
    )


def observed_facts(report: ObservedFigures, visits: int) -> list[tuple[str, str]]:
    """Return the observed denials, of so many visits, as facts for a confirmation page."""
    facts = [("Would have been refused in 30 days", f"{report.total:,} of {max(visits, report.total):,} asked about")]
    if report.at_stake:
        which = f" (of the newest {report.priced:,})" if report.priced < report.payable else ""
        facts.append(("Revenue at stake", f"{format_sums(report.at_stake)}{which}"))
    for row in report.requesters:
        name = row["name"] or row["requester_id"]
        figure = f"{row['count']:,}"
        if sums := report.by_requester.get(row["requester_id"]):
            figure += f", {format_sums(sums)}"
        facts.append((name, figure))
    return facts


def anonymous_facts(counts: Counter[str]) -> list[tuple[str, str]]:
    """Return the anonymous visitors among them as facts, by what their User-Agents name."""
    if not counts:
        return []
    named = (
        f"{counts[BROWSERS]:,} by browsers (people, or programs that pretend), {counts[PROGRAMS]:,} by other programs"
    )
    which = f" (of the newest {MAX_PRICED:,})" if counts.total() == MAX_PRICED else ""
    return [("Anonymous among them", f"{named}{which}")]


def proxy_files_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    """Show each proxy with what to fill in, and the pages that stay open while the service is down."""
    pages = describe_pages(site)
    return page(
        request,
        model_admin,
        "operators/catalogue/proxy_files.html",
        title=f"Proxy files of {site.host}",
        original=site,
        proxies=PROXY_KINDS,
        pages=pages,
        state=proxy_file_state(site, outdated_downloads(site, pages)),
    )


def proxy_file_download(site: Site, proxy: str) -> HttpResponseBase:
    """Return the file as an attachment. Raises Http404 for an unknown proxy."""
    if proxy not in PROXY_KINDS:
        raise Http404
    file = proxy_file(site, proxy)
    note_download(site, proxy, file.digest)
    content = BytesIO(file.content.encode())
    return FileResponse(content, as_attachment=True, filename=file.name, content_type="text/plain; charset=utf-8")
