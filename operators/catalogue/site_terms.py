"""The page with a site's policies, the documents published from them, and findings about both."""

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from licensing.edge.documents import Publication, terms_of_site, written
from licensing.edge.middleware import license_server
from licensing.edge.site_lint import lint_site
from licensing.edge.site_published import look_at
from licensing.policies.in_words import describe
from licensing.sites.models import Site
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.mixins import AdminMixin


def terms_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    """Show the page; a POST also fetches what the site currently publishes."""
    told = Publication(site.host, terms_of_site(site), site.account.name, license_server(request))
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
        findings=lint_site(site),
        published=async_to_sync(look_at)(told) if request.method == "POST" else None,
        rules=rules,
        documents=[(path, body.decode()) for path, body in written(told).items()],
        back=change_url(site),
    )
