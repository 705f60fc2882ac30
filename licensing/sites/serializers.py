"""Serializers for sites."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.models import Unknown
from kit.rest.fields import Array, Boolean, Choice, Host, Id, Several, Text, Timestamp, Url
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered
from licensing.policies.modes import MODES
from licensing.sites.models import AskedVisitors, Site
from licensing.sites.patterns import MAX_PATTERN, MAX_WILDCARDS, PATTERN, compile_pattern, pattern_error, size_error
from licensing.sites.refusal_texts import MAX_LINK_LABEL, MAX_LINK_URL, MAX_MESSAGE, MAX_NAME
from licensing.sites.services import RuleFields
from licensing.sites.verification import dns_record, file_url, txt_name

MAX_RULES = 200
MAX_ALIASES = 10
MAX_ROBOTS_TXT = 65_536


@extend_schema_field({"type": "string", "maxLength": MAX_PATTERN, "pattern": PATTERN, "example": "/premium/*"})
class PathPattern(Text):
    """A path pattern; checked by `pattern_error`."""


class SiteRuleSerializer(StrictSerializer):
    """A path pattern and the policy of its pages."""

    example = {"pattern": "/premium/*", "policyId": "pol_…"}

    pattern = PathPattern(
        max_length=MAX_PATTERN,
        help_text="The beginning of a path: `/feed.xml` also matches `/feed.xmlx`, `/feed.xml$` does not. `*` stands "
        f"for anything (at most {MAX_WILDCARDS} times) and a final `$` for the end. The longest wins.",
    )
    policyId = Id(
        "pol",
        max_length=100,
        required=False,
        allow_null=True,
        source="policy_id",
        help_text="Null: its pages are unknown, as if no pattern matched.",
    )

    def to_internal_value(self, data: object) -> Rendered:
        return {"policy_id": None, **super().to_internal_value(data)}

    def validate_pattern(self, text: str) -> str:
        error = pattern_error(text)
        if error:
            raise serializers.ValidationError(error)
        return text


class SiteRules(Several):
    def validate(self, rules: list[RuleFields]) -> list[RuleFields]:
        seen = set()
        for index, rule in enumerate(rules):
            pattern = compile_pattern(rule["pattern"])
            if pattern in seen:
                raise serializers.ValidationError({f"[{index}].pattern": ["Another rule has this pattern."]})
            seen.add(pattern)
        error = size_error(rule["pattern"] for rule in rules)
        if error:
            raise serializers.ValidationError(error)
        return rules


class VerificationSerializer(StrictSerializer):
    """How to verify the host: publish `record` in one of two places."""

    record = Text(read_only=True, help_text="A line of the file, or the value of a TXT record.")
    url = Text(read_only=True, help_text="The address of the file.")
    dnsName = Text(read_only=True, help_text="The name of the TXT record.")


class SiteSerializer(RowSerializer):
    """A host whose pages are decided at the edge, as the API shows and accepts it."""

    id = Id("site", read_only=True)
    object = Choice(choices=["site"], read_only=True)
    host = Host(help_text="Lower case, without scheme and port; one site for each host.")
    aliases = Array(
        child=Host(),
        required=False,
        max_length=MAX_ALIASES,
        help_text="Further hosts with the same pages, such as www.publisher.example.",
    )
    name = Text(
        max_length=MAX_NAME,
        required=False,
        allow_null=True,
        help_text="Heading of the refusal page. Null: the host.",
    )
    refusalMessage = Text(
        max_length=MAX_MESSAGE,
        required=False,
        allow_null=True,
        source="refusal_message",
        help_text="Text of the refusal page, unless the denying rule has a message.",
    )
    linkUrl = Url(
        max_length=MAX_LINK_URL,
        required=False,
        allow_null=True,
        source="link_url",
        help_text="Link of the refusal page, for example to your subscriptions. Null: no link.",
    )
    linkLabel = Text(
        max_length=MAX_LINK_LABEL,
        required=False,
        allow_null=True,
        source="link_label",
        help_text="Text of the link, for example Subscribe. Null: Get access.",
    )
    mode = Choice(
        choices=MODES,
        required=False,
        help_text="Whether decisions are enforced or only recorded. Default: `observe`.",
    )
    unknown = Choice(
        choices=Unknown.choices, required=False, help_text="What happens to pages without a policy. Default: `allow`."
    )
    ask = Choice(
        choices=AskedVisitors.choices,
        required=False,
        help_text="Whom proxies ask about: `crawlers` (default), and people on pages that are not open to all of "
        "them; or `everyone`. For the generated files.",
    )
    robotsTxt = Text(
        max_length=MAX_ROBOTS_TXT,
        required=False,
        allow_null=True,
        source="robots_txt",
        help_text="Your own robots.txt. Requests of crawlers that it disallows are counted as violations. Absent for "
        "public keys.",
    )
    rules = SiteRules(
        child=SiteRuleSerializer(),
        required=False,
        max_length=MAX_RULES,
        help_text="The policies of its pages. An item registered by its `source` keeps its own policy.",
    )
    verifiedAt = Timestamp(
        read_only=True, allow_null=True, help_text="When the host was verified as the account's; null if it is not."
    )
    verification = VerificationSerializer(read_only=True)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    uncoveredHosts = Array(
        child=Host(),
        read_only=True,
        help_text="Hosts without a site that visitors asked for in the last 30 days. Only in the reply to a PATCH "
        "that enforces the site.",
    )

    proxyFileChanged = Boolean(
        read_only=True,
        help_text="True if the file for the site's proxy has changed since it was last fetched, by whatever change: "
        "get it again. Only in replies to a PATCH.",
    )

    cleared = {"rules": [], "aliases": []}
    shown_once = frozenset({"uncoveredHosts", "proxyFileChanged"})
    for_secret_keys = frozenset({"robotsTxt"})
    sometimes = shown_once | for_secret_keys

    attributes = {"aliases": "ordered_aliases", "rules": "rendered_rules"}

    def show_verification(self, site: Site) -> Rendered:
        return {"record": dns_record(site.pk), "url": file_url(site.host), "dnsName": txt_name(site.host)}
