"""The form of a site: its rules by lines, and the texts of its refusal page."""

import re
from typing import TYPE_CHECKING, TypedDict

from django import forms

from licensing.sites.models import Site
from licensing.sites.serializers import SiteSerializer
from operators.base.fields import LineListField, LinesField, split_lines
from operators.base.mixins import ServiceForm

if TYPE_CHECKING:
    from django.contrib.admin.options import _FieldOpts

TEXTS = ("name", "refusal_message", "link_url", "link_label")  # of the page for refused people
FURTHER_FIELDSETS: "tuple[tuple[str, _FieldOpts], ...]" = (
    ("Page for refused people", {"fields": TEXTS}),
    ("Violations of robots.txt", {"fields": ("robots_txt",)}),
)


class SiteRule(TypedDict):
    pattern: str
    policyId: str | None


class RuleLines(LineListField):
    """A rule per line: a pattern and, after a space, the id of its policy."""

    def prepare_value(self, value: object) -> object:
        if isinstance(value, list):
            return "\n".join(f"{rule['pattern']} {rule['policyId'] or ''}".strip() for rule in value)
        return value

    def to_python(self, value: str | None) -> list[SiteRule]:
        return [parse_rule(line) for line in split_lines(value or "")]


def parse_rule(line: str) -> SiteRule:
    pattern, *rest = re.split(r"\s+", line, maxsplit=1)
    return {"pattern": pattern, "policyId": rest[0] if rest else None}


class SiteForm(ServiceForm):
    serializer = SiteSerializer

    host = forms.CharField(max_length=253, help_text="For example news.example.")
    aliases = LinesField(
        required=False, help_text="Further hosts with the same pages, one per line, such as www.news.example."
    )
    rules = RuleLines(
        help_text=(
            "One pattern and policy id per line, as in “/premium/* pol_…”. A pattern is the beginning of a path; a "
            "final $ ends it. “/premium/*” does not match “/premium”: add “/premium$” if that page shows text. Pages "
            "of a pattern without a policy are unknown. The longest matching pattern applies."
        ),
    )

    class Meta:
        model = Site
        fields = ("account", "host", "mode", "unknown", "ask", *TEXTS, "robots_txt")
        labels = {"robots_txt": "robots.txt"}
        widgets = {
            "refusal_message": forms.Textarea(attrs={"rows": 3}),
            "robots_txt": forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        }
        help_texts = {
            "name": "The heading of the page. Empty: the host.",
            "refusal_message": "What the page says unless the rule that refuses has a message. Up to 500 characters.",
            "link_url": "Where the page links to, such as your page for subscriptions or licences. Empty: no link.",
            "link_label": "The text of the link, such as Subscribe. Empty: Get access.",
            "robots_txt": (
                "Your own robots.txt. Requests of crawlers that it disallows are counted on the page Crawlers. "
                "It is not published."
            ),
            "ask": "Crawlers: the proxy files ask about people only on pages that are not open to all of them.",
            "mode": "Observe records denials but answers them as allowed.",
            "unknown": "The outcome for a page that is not an item and matches no pattern with a policy.",
        }

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> object:
        if field_name == "rules" and not self.instance._state.adding:
            return self.instance.rendered_rules
        if field_name == "aliases" and not self.instance._state.adding:
            return self.instance.ordered_aliases
        return super().get_initial_for_field(field, field_name)

    def clean_robots_txt(self) -> str:
        """Return the text with newlines as crawlers read them; browsers send CRLF."""
        return (self.cleaned_data["robots_txt"] or "").replace("\r\n", "\n")
