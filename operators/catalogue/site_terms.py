"""The page with a site's policies, the documents published from them, and findings about both."""

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from accounts.models import Unknown
from licensing.edge.audiences import sentences
from licensing.edge.current_crawlers import agents_for_robots
from licensing.edge.middleware import license_server
from licensing.edge.publishing.documents import compiled_rules, terms_of_site, write_documents
from licensing.edge.publishing.publication import Publication
from licensing.edge.site_lint import lint_site
from licensing.edge.site_published import look_at
from licensing.policies.in_words import describe
from licensing.sites.models import Site
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.mixins import AdminMixin


def sentences_about(site: Site) -> list[tuple[str, str]]:
    """Return each audience of the site with the sentence about it."""
    return sentences(compiled_rules(site), denies_unknown=site.unknown == Unknown.DENY)


def terms_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    """Show the page; a POST also fetches what the site currently publishes."""
    told = Publication(site.host, terms_of_site(site), site.account.name, license_server(request), agents_for_robots())
    rules = [
        {
            "pattern": rule.pattern,
            "policy": rule.policy,
            "url": change_url(rule.policy) if rule.policy else "",
            "words": [describe(one) for one in rule.policy.rules] if rule.policy else [],
        }
        for rule in site.rules.select_related("policy").order_by("position")
    ]
    return page(
        request,
        model_admin,
        "operators/catalogue/site_terms.html",
        title=f"The terms of {site.host}",
        original=site,
        sentences=sentences_about(site),
        own_terms=sum(1 for one in {term.item for term in told.terms} if one is not None),
        findings=lint_site(site),
        published=async_to_sync(look_at)(told) if request.method == "POST" else None,
        rules=rules,
        documents=[(path, body.decode()) for path, body in write_documents(told).items()],
        back=change_url(site),
    )
