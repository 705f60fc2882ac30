"""The page with a site's policies, the documents published from them, and the findings on both."""

from django.http import HttpRequest, HttpResponse

from licensing.edge.documents import DOCUMENTS, Publication, terms_of_site
from licensing.edge.middleware import license_server
from licensing.edge.site_lint import lint_site
from licensing.sites.models import Site
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.mixins import AdminMixin
from operators.policies.rules_in_words import describe


def terms_page(request: HttpRequest, model_admin: AdminMixin[Site], site: Site) -> HttpResponse:
    told = Publication(site.host, terms_of_site(site), license_server(request))
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
        rules=rules,
        documents=[(path, write(told).decode()) for path, (write, _) in DOCUMENTS.items()],
        back=change_url(site),
    )
