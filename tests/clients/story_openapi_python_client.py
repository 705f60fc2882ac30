"""The README's story with a client by openapi-python-client: `python … BASE_URL API_KEY` prints the results."""

import json
import sys

from content_access_licensing_api_client import AuthenticatedClient, models
from content_access_licensing_api_client.api.access import check_access
from content_access_licensing_api_client.api.analytics import get_revenue_report
from content_access_licensing_api_client.api.content import create_content, get_content, list_content, update_content
from content_access_licensing_api_client.api.licenses import create_license
from content_access_licensing_api_client.api.policies import create_policy, get_policy, update_policy

base_url, api_key = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=api_key, httpx_args={"trust_env": False})

item = create_content.sync(client=client, body=models.ContentRequest(title="Markets", external_id="my-first"))
assert isinstance(item, models.Content)
conditions = models.Conditions(license_type=["commercial", "enterprise"], has_valid_license=True)
allow = models.AllowRule(action="allow", priority=1, conditions=conditions, permissions=["full_access"])
deny = models.DenyRule(
    action="deny", priority=99, conditions=models.Conditions(default=True), message="Buy a licence."
)
policy = create_policy.sync(client=client, body=models.PolicyRequest(name="Licensed only", rules=[allow, deny]))
assert isinstance(policy, models.Policy)

# What was read can be written back.
read = get_policy.sync(id=policy.id, client=client)
assert isinstance(read, models.Policy)
# Only replies may have values that are not known yet, so they have types of their own.
change = models.PatchedPolicyRequest.from_dict({"name": "Licensed", "rules": [rule.to_dict() for rule in read.rules]})
again = update_policy.sync(id=policy.id, client=client, body=change)
assert isinstance(again, models.Policy)
assert again.to_dict()["rules"] == policy.to_dict()["rules"]

update_content.sync(id=item.id, client=client, body=models.PatchedContentRequest(policy_id=policy.id))
denied = check_access.sync(client=client, body=models.Check(external_id="my-first", requester="org_acme"))
assert isinstance(denied, models.Decision)
explained = check_access.sync(
    client=client,
    body=models.Check(
        external_id="my-first",
        requester=models.Requester(id="org_acme"),
        context=models.Context(ip="203.0.113.9"),
        permission="commercial_use",
        explain=True,
        dry_run=True,
    ),
)
assert isinstance(explained, models.Decision)
vouched = models.Requester(id="org_acme", license_type="commercial", has_valid_license=True)
allowed = check_access.sync(client=client, body=models.Check(external_id="my-first", requester=vouched))
assert isinstance(allowed, models.Decision)
shown = get_content.sync(id=item.id, client=client)
assert isinstance(shown, models.Content)
price = models.MoneyRequest(amount=0.05, currency=models.Currency.USD)
wanted = models.LicenseRequest(requester_id="org_globex", license_type="commercial", price_per_access=price)
issued = create_license.sync(client=client, body=wanted)
assert isinstance(issued, models.License)
charged = check_access.sync(client=client, body=models.Check(external_id="my-first", requester="org_globex"))
assert isinstance(charged, models.Decision)
report = get_revenue_report.sync(client=client, period=models.GetRevenueReportPeriod.VALUE_0)
assert isinstance(report, models.RevenueReport)

found = list_content.sync(client=client, typein=[models.ContentType.ARTICLE, models.ContentType.REPORT])
assert isinstance(found, models.PaginatedContentList)
file = client.get_httpx_client().get("/v1/access/decisions", params={"format": "csv"})
missing = get_content.sync(id="cnt_unknown", client=client)
assert isinstance(missing, models.Error)

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
