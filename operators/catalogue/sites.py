"""Sites: which policies apply to a host's pages, and whether they are enforced."""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Protocol

from django.contrib import admin, messages
from django.db.models import Count, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import action, display

from analytics.windows import Window
from kit.rest.heavy_mark import heavy
from licensing.content.models import Content
from licensing.edge.observed import count_programs, observed_denials, observed_report
from licensing.edge.proxies.downloads import outdated_downloads
from licensing.policies.modes import Mode
from licensing.sites import services as site_services
from licensing.sites.models import Site
from licensing.sites.other_hosts import recent_hosts
from licensing.sites.verification import dns_record, file_url, txt_name
from licensing.visits.page_report import count_visits
from licensing.visits.reading import VisitSelection, whole_days
from operators.base.fields import Values
from operators.base.filters import RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.lists.columns import column, time_column
from operators.base.pages import EmptyState
from operators.catalogue.log_import import LogUploads
from operators.catalogue.site_form import FURTHER_FIELDSETS, SiteForm
from operators.catalogue.site_proxies import (
    last_question,
    proxy_file_state,
    proxy_file_summary,
    refused_proxies,
)
from operators.catalogue.site_terms import (
    anonymous_facts,
    observed_facts,
    proxy_file_download,
    proxy_files_page,
    sentences_about,
    terms_page,
)

MAX_NAMED_HOSTS = 10  # hosts without a site
ITEMS_DECIDE_FIRST = (
    "Apart from pages with a registered item: the item’s policy decides there, and without one everybody is refused."
)
HAS_ITEMS = "has_items"  # the attribute of a site: whether its account has any
MODE_LABELS = {"enforce": "success", "observe": "warning", "disabled": "danger"}
OBSERVED_FOR = timedelta(days=30)


def uncovered_hosts(site: Site) -> list[str]:
    """Return a sentence about hosts without a site that visitors asked for recently, if there are any."""
    hosts = recent_hosts(site.account_id)
    if not hosts:
        return []
    host_names = ", ".join(hosts[:MAX_NAMED_HOSTS])
    if len(hosts) > MAX_NAMED_HOSTS:
        host_names += f" and {len(hosts) - MAX_NAMED_HOSTS:,} more"
    return [f"Hosts without a site, which visitors asked for in the last 30 days, are not covered: {host_names}."]


class WithRuleCount(Protocol):
    rule_count: int


@admin.register(Site)
class SiteAdmin(LogUploads):
    empty_state = EmptyState("A site sets the policies for the pages of a host that a proxy asks about.")
    list_display = ("host", "account", "carried_out", "unknown", "number_of_rules", "changed")
    list_select_related = ("account",)
    phone_row_columns = {"carried_out": "", "number_of_rules": "rules:", "changed": "changed"}
    fieldset_headings = {"mode": "How it decides"}
    list_filter = (("mode", ChoicesDropdownFilter), ("account", RelatedFilter))
    search_fields = ("host",)
    form = SiteForm
    add_fieldsets = (
        (None, {"fields": ("account", "host", "aliases", "mode", "unknown", "ask", "rules")}),
        *FURTHER_FIELDSETS,
    )
    shown_fields = (
        "in_short", "identifier", "account", "host", "aliases", "verified", "mode", "unknown", "ask", "rules",
        "last_question", "refused_proxies", "proxy_file", "changed",
    )  # fmt: skip
    fieldsets = ((None, {"fields": shown_fields}), *FURTHER_FIELDSETS)
    words_instead = {"rules": "rules_in_words", "aliases": "aliases_in_words"}
    rights = {"last_question": "analytics.view_accessevent", "refused_proxies": "accounts.view_apikey"}
    last_question = column("Last question of a proxy", last_question)
    refused_proxies = column("Refused proxies", refused_proxies)
    verified = time_column("Verified", "verified_at", empty="not verified")
    changed = time_column("Changed", "updated")
    autocomplete_fields = ("account",)
    actions_detail = ("enforce", "terms", "proxy_files", "import_log", "verify_host", "delete_site")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        return super().get_queryset(request).annotate(rule_count=Count("rules"))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Site | None:
        """Return the site with all that its page reads several times, such as its rules and their policies."""
        site = super().get_object(request, object_id, from_field)
        if site is not None:
            prefetch_related_objects([site], "rules__policy", "aliases")
            setattr(site, HAS_ITEMS, Content.objects.of(site.account_id).exists())
        return site

    def editable_state(self, obj: Site, fields: Iterable[str]) -> dict[str, object]:
        return {**super().editable_state(obj, fields), "rules": obj.rendered_rules, "aliases": obj.ordered_aliases}

    def create(self, request: HttpRequest, fields: Values) -> Site:
        return site_services.create_site(fields.pop("account").pk, fields)

    def update(self, request: HttpRequest, obj: Site, fields: Values) -> Site:
        site = site_services.update_site(obj, fields)
        outdated = outdated_downloads(site)
        if outdated:
            self.message_user(request, proxy_file_state(site, outdated), messages.WARNING)
        return site

    def hidden_actions(self, site: Site) -> list[str]:
        return ["enforce"] if site.mode == Mode.ENFORCE else []

    @confirmed_action("Enforce", "gavel", "enforce")
    def enforce(self, request: HttpRequest, site: Site) -> Confirmation:
        """Show the observed denials, and a button to enforce them."""

        def perform() -> str:
            """Say whether the proxy's file has to be downloaded again."""
            changed = site_services.update_site(site, {"mode": Mode.ENFORCE.value})
            done = f"The decisions on {site.host} are carried out."
            outdated = outdated_downloads(changed)
            return format_html("{} {}", done, proxy_file_state(changed, outdated)) if outdated else done

        now = timezone.now()
        denials = observed_denials(site.account_id, now - OBSERVED_FOR, now, site)
        report = observed_report(denials)
        window = whole_days(Window(now - OBSERVED_FOR, now, "day"))
        visits = count_visits(VisitSelection([site.account_id], window, site))
        return Confirmation(
            title=f"Enforce the decisions on {site.host}?",
            facts=[*observed_facts(report, visits), *anonymous_facts(count_programs(denials, site.account_id))],
            effects=[
                "Denials that are only observed now are enforced from the next request on.",
                "Policies in observe mode stay in observe mode.",
                "Page caches and CDNs go on serving what they have stored: empty them afterwards.",
                "If a proxy uses a file of this site, download it again afterwards: one from before keeps every page "
                "open while the service is down, unless the site enforced when it was downloaded.",
                *uncovered_hosts(site),
            ],
            button="Enforce it",
            perform=perform,
        )

    @action(description="Published terms", icon="contract", permissions=["view"], url_path="terms")
    def terms(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the policies and the documents generated from them."""
        return terms_page(request, self, self.require_object(request, object_id))

    @action(description="Proxy files", icon="download", permissions=["view"], url_path="proxy-files")
    def proxy_files(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show the files for the site's proxy; `for` downloads one."""
        site = self.require_object(request, object_id)
        if "for" in request.GET:
            return proxy_file_download(site, request.GET["for"])
        return proxy_files_page(request, self, site)

    @heavy
    @confirmed_action("Verify host", "verified", "verify")
    def verify_host(self, request: HttpRequest, site: Site) -> Confirmation:
        """Show what to publish at the host, and a button to verify it."""
        return Confirmation(
            title=f"Verify the host {site.host}?",
            facts=[
                ("Record", dns_record(site.pk)),
                ("As a line of the file", file_url(site.host)),
                ("Or as a TXT record of", txt_name(site.host)),
            ],
            effects=[
                "First publish the record in one of these places, and keep it there.",
                "The first verified site of a host publishes its terms, even if other accounts have a site for it.",
            ],
            button="Verify it",
            perform=partial(site_services.verify_now, site),
            done=f"The host {site.host} is verified.",
        )

    @confirmed_action("Delete", "delete", "remove", permission="deleting", danger=True)
    def delete_site(self, request: HttpRequest, site: Site) -> Confirmation:
        return Confirmation(
            title=f"Delete the site {site.host}?",
            facts=[("Account", str(site.account)), ("Rules", str(len(site.rendered_rules)))],
            effects=[
                "All its pages are let through at once, except those of items.",
                "Decisions on its pages remain.",
            ],
            button="Delete it",
            perform=partial(site_services.delete_site, site),
            done=f"The site {site.host} is deleted.",
            next_page="admin:licensing_site_changelist",
        )

    @display(description="Mode", ordering="mode", label=MODE_LABELS)
    def carried_out(self, site: Site) -> str:
        return site.mode

    @display(description="Rules", ordering="rule_count")
    def number_of_rules(self, site: WithRuleCount) -> int:
        return site.rule_count

    @display(description="Proxy’s file")
    def proxy_file(self, site: Site) -> str:
        return proxy_file_summary(site)

    @display(description="Who may do what")
    def in_short(self, site: Site) -> str:
        lines = [sentence for _, sentence in sentences_about(site)]
        if getattr(site, HAS_ITEMS):
            lines.append(ITEMS_DECIDE_FIRST)
        return format_html_join("", "<p>{}</p>", ((line,) for line in lines))

    @display(description="Aliases")
    def aliases_in_words(self, site: Site) -> str:
        return ", ".join(site.ordered_aliases)

    @display(description="Rules")
    def rules_in_words(self, site: Site) -> str:
        rows = ((rule["pattern"], rule["policyId"] or "no policy") for rule in site.rendered_rules)
        return format_html_join("", "<p>{}: {}</p>", rows)
