"""The README's story with a client by openapi-python-client: `python … BASE_URL API_KEY` prints the results."""

import json
import sys

from content_access_licensing_api_client import AuthenticatedClient
from content_access_licensing_api_client.api.access import check_access
from content_access_licensing_api_client.api.analytics import get_revenue_report
from content_access_licensing_api_client.api.content import create_content, get_content, list_content, update_content
from content_access_licensing_api_client.api.licenses import create_license
from content_access_licensing_api_client.api.policies import create_policy, get_policy, update_policy
from content_access_licensing_api_client.models import (
    AllowRule,
    Check,
    Conditions,
    Content,
    ContentRequest,
    ContentType,
    Context,
    Currency,
    Decision,
    DenyRule,
    Error,
    GetRevenueReportPeriod,
    License,
    LicenseRequest,
    MoneyRequest,
    PaginatedContentList,
    PatchedContentRequest,
    PatchedPolicyRequest,
    Policy,
    PolicyRequest,
    Requester,
    RevenueReport,
)

base_url, api_key = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=api_key, httpx_args={"trust_env": False})

item = create_content.sync(client=client, body=ContentRequest(title="Markets", external_id="my-first"))
assert isinstance(item, Content)
conditions = Conditions(license_type=["commercial", "enterprise"], has_valid_license=True)
allow = AllowRule(action="allow", priority=1, conditions=conditions, permissions=["full_access"])
deny = DenyRule(action="deny", priority=99, conditions=Conditions(default=True), message="Buy a licence.")
policy = create_policy.sync(client=client, body=PolicyRequest(name="Licensed only", rules=[allow, deny]))
assert isinstance(policy, Policy)

# What was read can be written back.
read = get_policy.sync(id=policy.id, client=client)
assert isinstance(read, Policy)
# Only replies may have values that are not known yet, so they have types of their own.
change = PatchedPolicyRequest.from_dict({"name": "Licensed", "rules": [rule.to_dict() for rule in read.rules]})
again = update_policy.sync(id=policy.id, client=client, body=change)
assert isinstance(again, Policy)
assert again.to_dict()["rules"] == policy.to_dict()["rules"]

update_content.sync(id=item.id, client=client, body=PatchedContentRequest(policy_id=policy.id))
denied = check_access.sync(client=client, body=Check(external_id="my-first", requester="org_acme"))
assert isinstance(denied, Decision)
explained = check_access.sync(
    client=client,
    body=Check(
        external_id="my-first",
        requester=Requester(id="org_acme"),
        context=Context(ip="203.0.113.9"),
        permission="commercial_use",
        explain=True,
        dry_run=True,
    ),
)
assert isinstance(explained, Decision)
vouched = Requester(id="org_acme", license_type="commercial", has_valid_license=True)
allowed = check_access.sync(client=client, body=Check(external_id="my-first", requester=vouched))
assert isinstance(allowed, Decision)
shown = get_content.sync(id=item.id, client=client)
assert isinstance(shown, Content)
price = MoneyRequest(amount=0.05, currency=Currency.USD)
wanted = LicenseRequest(requester_id="org_globex", license_type="commercial", price_per_access=price)
issued = create_license.sync(client=client, body=wanted)
assert isinstance(issued, License)
charged = check_access.sync(client=client, body=Check(external_id="my-first", requester="org_globex"))
assert isinstance(charged, Decision)
report = get_revenue_report.sync(client=client, period=GetRevenueReportPeriod.VALUE_0)
assert isinstance(report, RevenueReport)

found = list_content.sync(client=client, typein=[ContentType.ARTICLE, ContentType.REPORT])
assert isinstance(found, PaginatedContentList)
file = client.get_httpx_client().get("/v1/access/decisions", params={"format": "csv"})
missing = get_content.sync(id="cnt_unknown", client=client)
assert isinstance(missing, Error)

saw = {
    "denied": [denied.allowed, denied.reason],
    "explained": [explained.dry_run, bool(explained.trace)],
    "allowed": [allowed.allowed, allowed.permissions],
    "stats": shown.stats.to_dict() if shown.stats else None,
    "charge": charged.charge.to_dict() if charged.charge else None,
    "total": report.summary.total,
    "found": [one.title for one in found.data],
    "file": len(file.text.splitlines()),
    "missing": missing.error.code,
}
print(json.dumps(saw, default=str))
