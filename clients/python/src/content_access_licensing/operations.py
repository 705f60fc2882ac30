"""Every operation of the API as a method. Generated. See tests/clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from content_access_licensing.protocol import Call, Query, call
from content_access_licensing.responses import AsyncStream, Stream

if TYPE_CHECKING:
    from content_access_licensing import types


class Operations:
    def send(self, call: Call) -> Any:
        raise NotImplementedError

    def pages(self, call: Call) -> Stream[Any]:
        raise NotImplementedError

    def check_access(self, body: types.Check, *, idempotency_key: str | None = None) -> types.Decision:
        """Check access."""
        return cast(
            "types.Decision",
            self.send(call("POST", "/v1/access/check", body=body, answer="Decision", idempotency_key=idempotency_key)),
        )

    def check_access_batch(self, body: types.Batch, *, idempotency_key: str | None = None) -> types.DecisionBatch:
        """Check access to many items."""
        return cast(
            "types.DecisionBatch",
            self.send(
                call(
                    "POST",
                    "/v1/access/check/batch",
                    body=body,
                    answer="DecisionBatch",
                    idempotency_key=idempotency_key,
                )
            ),
        )

    def list_decisions(self, query: Query | None = None) -> Stream[types.Decision]:
        """List decisions."""
        return self.pages(call("GET", "/v1/access/decisions", query=query, answer="Decision"))

    def get_decision(self, id: str, query: Query | None = None) -> types.Decision:
        """Get a decision."""
        return cast(
            "types.Decision",
            self.send(call("GET", f"/v1/access/decisions/{quote(id, safe='')}", query=query, answer="Decision")),
        )

    def get_offers(self, query: Query | None = None) -> types.AccessOffer:
        """Get the offers for an access."""
        return cast(
            "types.AccessOffer", self.send(call("GET", "/v1/access/offers", query=query, answer="AccessOffer"))
        )

    def get_offers_batch(
        self, body: types.OfferBatchRequest, *, idempotency_key: str | None = None
    ) -> types.OfferList:
        """Get the offers for many accesses."""
        return cast(
            "types.OfferList",
            self.send(
                call("POST", "/v1/access/offers/batch", body=body, answer="OfferList", idempotency_key=idempotency_key)
            ),
        )

    def get_own_account(self, query: Query | None = None) -> types.OwnAccount:
        """Get the account of the key."""
        return cast("types.OwnAccount", self.send(call("GET", "/v1/accounts/me", query=query)))

    def update_own_account(self, body: types.PatchedAccountChangeRequest) -> types.OwnAccount:
        """Change the account of the key."""
        return cast("types.OwnAccount", self.send(call("PATCH", "/v1/accounts/me", body=body)))

    def get_crawlers(self, query: Query | None = None) -> types.CrawlerReportShown:
        """Get crawler analytics."""
        return cast(
            "types.CrawlerReportShown",
            self.send(call("GET", "/v1/analytics/crawlers", query=query, answer="CrawlerReportShown")),
        )

    def get_observed(self, query: Query | None = None) -> types.ObservedReport:
        """Get observed denials."""
        return cast(
            "types.ObservedReport",
            self.send(call("GET", "/v1/analytics/observed", query=query, answer="ObservedReport")),
        )

    def get_pages(self, query: Query | None = None) -> types.PageReportShown:
        """Get page analytics."""
        return cast("types.PageReportShown", self.send(call("GET", "/v1/analytics/pages", query=query)))

    def get_revenue_report(self, query: Query | None = None) -> types.RevenueReport:
        """Get revenue analytics."""
        return cast(
            "types.RevenueReport", self.send(call("GET", "/v1/analytics/revenue", query=query, answer="RevenueReport"))
        )

    def get_usage_report(self, query: Query | None = None) -> types.UsageReport:
        """Get usage analytics."""
        return cast("types.UsageReport", self.send(call("GET", "/v1/analytics/usage", query=query)))

    def get_visitors(self, query: Query | None = None) -> types.VisitorReportShown:
        """Get visitor analytics."""
        return cast("types.VisitorReportShown", self.send(call("GET", "/v1/analytics/visitors", query=query)))

    def list_api_keys(self, query: Query | None = None) -> Stream[types.ApiKey]:
        """List API keys."""
        return self.pages(call("GET", "/v1/api-keys", query=query))

    def create_api_key(self, body: types.ApiKeyRequest, *, idempotency_key: str | None = None) -> types.CreatedApiKey:
        """Create an API key."""
        return cast(
            "types.CreatedApiKey",
            self.send(call("POST", "/v1/api-keys", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def get_api_key(self, id: str, query: Query | None = None) -> types.ApiKey:
        """Get an API key."""
        return cast("types.ApiKey", self.send(call("GET", f"/v1/api-keys/{quote(id, safe='')}", query=query)))

    def update_api_key(
        self, id: str, body: types.PatchedApiKeyChangeRequest, *, if_match: str | None = None
    ) -> types.ApiKey:
        """Change an API key."""
        return cast(
            "types.ApiKey",
            self.send(call("PATCH", f"/v1/api-keys/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    def revoke_api_key(self, id: str, *, if_match: str | None = None) -> types.ApiKey:
        """Revoke an API key."""
        return cast("types.ApiKey", self.send(call("DELETE", f"/v1/api-keys/{quote(id, safe='')}", if_match=if_match)))

    def rotate_api_key(
        self, id: str, body: types.RotationRequest, *, idempotency_key: str | None = None
    ) -> types.CreatedApiKey:
        """Rotate an API key."""
        return cast(
            "types.CreatedApiKey",
            self.send(
                call(
                    "POST",
                    f"/v1/api-keys/{quote(id, safe='')}/rotate",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def upsert_api_keys(
        self, body: types.ApiKeyBulkRequest, *, idempotency_key: str | None = None
    ) -> types.ApiKeyBulkOutcomes:
        """Create and change API keys in bulk."""
        return cast(
            "types.ApiKeyBulkOutcomes",
            self.send(call("POST", "/v1/api-keys/bulk", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def find_api_key(self, body: types.KeyTextRequest, *, idempotency_key: str | None = None) -> types.ApiKey:
        """Find an API key by its full text."""
        return cast(
            "types.ApiKey",
            self.send(call("POST", "/v1/api-keys/find", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def list_audit_entries(self, query: Query | None = None) -> Stream[types.AuditEntry]:
        """List changes."""
        return self.pages(call("GET", "/v1/audit", query=query))

    def get_audit_entry(self, id: str, query: Query | None = None) -> types.AuditEntry:
        """Get a change."""
        return cast("types.AuditEntry", self.send(call("GET", f"/v1/audit/{quote(id, safe='')}", query=query)))

    def list_content(self, query: Query | None = None) -> Stream[types.Content]:
        """List content."""
        return self.pages(call("GET", "/v1/content", query=query, answer="Content"))

    def create_content(self, body: types.ContentRequest, *, idempotency_key: str | None = None) -> types.Content:
        """Create content."""
        return cast(
            "types.Content",
            self.send(
                call("POST", "/v1/content", body=body, answer="Content", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def get_content(self, id: str, query: Query | None = None) -> types.Content:
        """Get content."""
        return cast(
            "types.Content", self.send(call("GET", f"/v1/content/{quote(id, safe='')}", query=query, answer="Content"))
        )

    def update_content(
        self, id: str, body: types.PatchedContentRequest, *, if_match: str | None = None
    ) -> types.Content:
        """Update content."""
        return cast(
            "types.Content",
            self.send(
                call("PATCH", f"/v1/content/{quote(id, safe='')}", body=body, answer="Content", if_match=if_match)
            ),
        )

    def delete_content(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete content."""
        return cast("types.Deleted", self.send(call("DELETE", f"/v1/content/{quote(id, safe='')}", if_match=if_match)))

    def upsert_content(self, body: types.BulkRequest, *, idempotency_key: str | None = None) -> types.BulkOutcomes:
        """Create and update content in bulk."""
        return cast(
            "types.BulkOutcomes",
            self.send(
                call(
                    "POST",
                    "/v1/content/bulk",
                    body=body,
                    answer="BulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_crawlers(self) -> types.CrawlerTable:
        """List known crawlers."""
        return cast("types.CrawlerTable", self.send(call("GET", "/v1/crawlers")))

    def list_events(self, query: Query | None = None) -> Stream[types.Event]:
        """List events."""
        return self.pages(call("GET", "/v1/events", query=query, answer="Event"))

    def get_event(self, id: str, query: Query | None = None) -> types.Event:
        """Get an event."""
        return cast(
            "types.Event", self.send(call("GET", f"/v1/events/{quote(id, safe='')}", query=query, answer="Event"))
        )

    def redeliver_event(
        self, id: str, body: types.RedeliveryRequest, *, idempotency_key: str | None = None
    ) -> types.Event:
        """Deliver an event once more."""
        return cast(
            "types.Event",
            self.send(
                call(
                    "POST",
                    f"/v1/events/{quote(id, safe='')}/redeliver",
                    body=body,
                    answer="Event",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_license_clients(self, query: Query | None = None) -> Stream[types.LicenseClient]:
        """List licence clients."""
        return self.pages(call("GET", "/v1/license-clients", query=query))

    def create_license_client(
        self, body: types.LicenseClientRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseClientWithSecret:
        """Create a licence client."""
        return cast(
            "types.LicenseClientWithSecret",
            self.send(call("POST", "/v1/license-clients", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def get_license_client(self, id: str, query: Query | None = None) -> types.LicenseClient:
        """Get a licence client."""
        return cast(
            "types.LicenseClient", self.send(call("GET", f"/v1/license-clients/{quote(id, safe='')}", query=query))
        )

    def revoke_license_client(self, id: str, *, if_match: str | None = None) -> types.LicenseClient:
        """Revoke a licence client."""
        return cast(
            "types.LicenseClient",
            self.send(call("DELETE", f"/v1/license-clients/{quote(id, safe='')}", if_match=if_match)),
        )

    def rotate_license_client(
        self, id: str, body: types.SecretRotationRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseClientWithSecret:
        """Rotate a licence client's secret."""
        return cast(
            "types.LicenseClientWithSecret",
            self.send(
                call(
                    "POST",
                    f"/v1/license-clients/{quote(id, safe='')}/rotate",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_licenses(self, query: Query | None = None) -> Stream[types.License]:
        """List licences."""
        return self.pages(call("GET", "/v1/licenses", query=query, answer="License"))

    def create_license(self, body: types.LicenseRequest, *, idempotency_key: str | None = None) -> types.License:
        """Issue a licence."""
        return cast(
            "types.License",
            self.send(
                call("POST", "/v1/licenses", body=body, answer="License", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def get_license(self, id: str, query: Query | None = None) -> types.License:
        """Get a licence."""
        return cast(
            "types.License",
            self.send(call("GET", f"/v1/licenses/{quote(id, safe='')}", query=query, answer="License")),
        )

    def update_license(
        self, id: str, body: types.PatchedLicenseRequest, *, if_match: str | None = None
    ) -> types.License:
        """Change a licence."""
        return cast(
            "types.License",
            self.send(
                call("PATCH", f"/v1/licenses/{quote(id, safe='')}", body=body, answer="License", if_match=if_match)
            ),
        )

    def revoke_license(
        self, id: str, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> types.License:
        """Revoke a licence."""
        return cast(
            "types.License",
            self.send(
                call(
                    "POST",
                    f"/v1/licenses/{quote(id, safe='')}/revoke",
                    answer="License",
                    idempotency_key=idempotency_key,
                    keyed=True,
                    if_match=if_match,
                )
            ),
        )

    def upsert_licenses(
        self, body: types.LicenseBulkRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseBulkOutcomes:
        """Issue and change licences in bulk."""
        return cast(
            "types.LicenseBulkOutcomes",
            self.send(
                call(
                    "POST",
                    "/v1/licenses/bulk",
                    body=body,
                    answer="LicenseBulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_payments(self, query: Query | None = None) -> Stream[types.Payment]:
        """List payments."""
        return self.pages(call("GET", "/v1/payments", query=query, answer="Payment"))

    def create_payment(self, body: types.PaymentRequest, *, idempotency_key: str | None = None) -> types.Payment:
        """Record a payment."""
        return cast(
            "types.Payment",
            self.send(
                call("POST", "/v1/payments", body=body, answer="Payment", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def get_payment(self, id: str, query: Query | None = None) -> types.Payment:
        """Get a payment."""
        return cast(
            "types.Payment",
            self.send(call("GET", f"/v1/payments/{quote(id, safe='')}", query=query, answer="Payment")),
        )

    def void_payment(self, id: str, body: types.VoidRequest, *, idempotency_key: str | None = None) -> types.Payment:
        """Void a payment."""
        return cast(
            "types.Payment",
            self.send(
                call(
                    "POST",
                    f"/v1/payments/{quote(id, safe='')}/void",
                    body=body,
                    answer="Payment",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_policies(self, query: Query | None = None) -> Stream[types.Policy]:
        """List policies."""
        return self.pages(call("GET", "/v1/policies", query=query, answer="Policy"))

    def create_policy(self, body: types.PolicyRequest, *, idempotency_key: str | None = None) -> types.Policy:
        """Create a policy."""
        return cast(
            "types.Policy",
            self.send(
                call("POST", "/v1/policies", body=body, answer="Policy", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def get_policy(self, id: str, query: Query | None = None) -> types.Policy:
        """Get a policy."""
        return cast(
            "types.Policy", self.send(call("GET", f"/v1/policies/{quote(id, safe='')}", query=query, answer="Policy"))
        )

    def update_policy(self, id: str, body: types.PatchedPolicyRequest, *, if_match: str | None = None) -> types.Policy:
        """Update a policy."""
        return cast(
            "types.Policy",
            self.send(
                call("PATCH", f"/v1/policies/{quote(id, safe='')}", body=body, answer="Policy", if_match=if_match)
            ),
        )

    def delete_policy(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete a policy."""
        return cast(
            "types.Deleted", self.send(call("DELETE", f"/v1/policies/{quote(id, safe='')}", if_match=if_match))
        )

    def rollback_policy(
        self, id: str, body: types.RollbackRequest, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> types.Policy:
        """Roll a policy back."""
        return cast(
            "types.Policy",
            self.send(
                call(
                    "POST",
                    f"/v1/policies/{quote(id, safe='')}/rollback",
                    body=body,
                    answer="Policy",
                    idempotency_key=idempotency_key,
                    keyed=True,
                    if_match=if_match,
                )
            ),
        )

    def simulate_policy(
        self, id: str, body: types.SimulationBodyRequest, *, idempotency_key: str | None = None
    ) -> types.Simulation:
        """Simulate a policy."""
        return cast(
            "types.Simulation",
            self.send(
                call(
                    "POST",
                    f"/v1/policies/{quote(id, safe='')}/simulate",
                    body=body,
                    answer="Simulation",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_policy_versions(self, id: str, query: Query | None = None) -> Stream[types.PolicyRevision]:
        """List a policy's versions."""
        return self.pages(
            call("GET", f"/v1/policies/{quote(id, safe='')}/versions", query=query, answer="PolicyRevision")
        )

    def upsert_policies(
        self, body: types.PolicyBulkRequest, *, idempotency_key: str | None = None
    ) -> types.PolicyBulkOutcomes:
        """Create and update policies in bulk."""
        return cast(
            "types.PolicyBulkOutcomes",
            self.send(
                call(
                    "POST",
                    "/v1/policies/bulk",
                    body=body,
                    answer="PolicyBulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def lint_policy(self, body: types.DraftRequest, *, idempotency_key: str | None = None) -> types.Lint:
        """Lint a policy."""
        return cast(
            "types.Lint",
            self.send(call("POST", "/v1/policies/lint", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def create_refund(self, body: types.RefundRequest, *, idempotency_key: str | None = None) -> types.LedgerEntry:
        """Refund a charge."""
        return cast(
            "types.LedgerEntry",
            self.send(
                call(
                    "POST", "/v1/refunds", body=body, answer="LedgerEntry", idempotency_key=idempotency_key, keyed=True
                )
            ),
        )

    def list_requesters(self, query: Query | None = None) -> Stream[types.RequesterProfile]:
        """List requesters."""
        return self.pages(call("GET", "/v1/requesters", query=query))

    def create_requester(
        self, body: types.RequesterProfileRequest, *, idempotency_key: str | None = None
    ) -> types.RequesterProfile:
        """Create a requester."""
        return cast(
            "types.RequesterProfile",
            self.send(call("POST", "/v1/requesters", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def get_requester(self, id: str, query: Query | None = None) -> types.RequesterProfile:
        """Get a requester."""
        return cast(
            "types.RequesterProfile", self.send(call("GET", f"/v1/requesters/{quote(id, safe='')}", query=query))
        )

    def update_requester(
        self, id: str, body: types.PatchedRequesterProfileChangeRequest, *, if_match: str | None = None
    ) -> types.RequesterProfile:
        """Update a requester."""
        return cast(
            "types.RequesterProfile",
            self.send(call("PATCH", f"/v1/requesters/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    def delete_requester(self, id: str, *, if_match: str | None = None) -> types.Erased:
        """Erase a requester's personal data."""
        return cast(
            "types.Erased", self.send(call("DELETE", f"/v1/requesters/{quote(id, safe='')}", if_match=if_match))
        )

    def merge_requester(
        self, id: str, body: types.MergeRequest, *, idempotency_key: str | None = None
    ) -> types.RequesterProfile:
        """Merge a requester into another."""
        return cast(
            "types.RequesterProfile",
            self.send(
                call(
                    "POST",
                    f"/v1/requesters/{quote(id, safe='')}/merge",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def create_portal_session(
        self, id: str, body: types.PortalSessionRequest, *, idempotency_key: str | None = None
    ) -> types.PortalSession:
        """Create a portal session."""
        return cast(
            "types.PortalSession",
            self.send(
                call(
                    "POST",
                    f"/v1/requesters/{quote(id, safe='')}/portal-sessions",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_ledger_entries(self, query: Query | None = None) -> Stream[types.LedgerEntry]:
        """List ledger entries."""
        return self.pages(call("GET", "/v1/revenue", query=query, answer="LedgerEntry"))

    def create_ledger_entry(
        self, body: types.AdjustmentRequest, *, idempotency_key: str | None = None
    ) -> types.LedgerEntry:
        """Add an adjustment."""
        return cast(
            "types.LedgerEntry",
            self.send(
                call(
                    "POST", "/v1/revenue", body=body, answer="LedgerEntry", idempotency_key=idempotency_key, keyed=True
                )
            ),
        )

    def get_ledger_entry(self, id: str, query: Query | None = None) -> types.LedgerEntry:
        """Get a ledger entry."""
        return cast(
            "types.LedgerEntry",
            self.send(call("GET", f"/v1/revenue/{quote(id, safe='')}", query=query, answer="LedgerEntry")),
        )

    def list_sites(self, query: Query | None = None) -> Stream[types.Site]:
        """List sites."""
        return self.pages(call("GET", "/v1/sites", query=query))

    def create_site(self, body: types.SiteRequest, *, idempotency_key: str | None = None) -> types.Site:
        """Create a site."""
        return cast(
            "types.Site", self.send(call("POST", "/v1/sites", body=body, idempotency_key=idempotency_key, keyed=True))
        )

    def get_site(self, id: str, query: Query | None = None) -> types.Site:
        """Get a site."""
        return cast("types.Site", self.send(call("GET", f"/v1/sites/{quote(id, safe='')}", query=query)))

    def update_site(self, id: str, body: types.PatchedSiteRequest, *, if_match: str | None = None) -> types.Site:
        """Update a site."""
        return cast(
            "types.Site", self.send(call("PATCH", f"/v1/sites/{quote(id, safe='')}", body=body, if_match=if_match))
        )

    def delete_site(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete a site."""
        return cast("types.Deleted", self.send(call("DELETE", f"/v1/sites/{quote(id, safe='')}", if_match=if_match)))

    def get_proxy_config(self, id: str, query: Query | None = None) -> types.ProxyConfig:
        """Get the file for a site's proxy."""
        return cast(
            "types.ProxyConfig", self.send(call("GET", f"/v1/sites/{quote(id, safe='')}/proxy-config", query=query))
        )

    def verify_site(self, id: str, *, idempotency_key: str | None = None) -> types.Site:
        """Verify a site's host."""
        return cast(
            "types.Site",
            self.send(
                call("POST", f"/v1/sites/{quote(id, safe='')}/verify", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def list_statements(self, query: Query | None = None) -> Stream[types.Statement]:
        """List statements."""
        return self.pages(call("GET", "/v1/statements", query=query, answer="Statement"))

    def get_statement(self, id: str, query: Query | None = None) -> types.Statement:
        """Get a statement."""
        return cast(
            "types.Statement",
            self.send(call("GET", f"/v1/statements/{quote(id, safe='')}", query=query, answer="Statement")),
        )

    def list_statement_lines(self, id: str, query: Query | None = None) -> Stream[types.StatementLine]:
        """List a statement's lines."""
        return self.pages(
            call("GET", f"/v1/statements/{quote(id, safe='')}/lines", query=query, answer="StatementLine")
        )

    def list_statement_payments(self, id: str, query: Query | None = None) -> Stream[types.StatementPayment]:
        """List a statement's payments."""
        return self.pages(
            call("GET", f"/v1/statements/{quote(id, safe='')}/payments", query=query, answer="StatementPayment")
        )

    def list_wallets(self, query: Query | None = None) -> Stream[types.Wallet]:
        """List wallets."""
        return self.pages(call("GET", "/v1/wallets", query=query, answer="Wallet"))

    def create_wallet(self, body: types.WalletRequest, *, idempotency_key: str | None = None) -> types.Wallet:
        """Create a wallet."""
        return cast(
            "types.Wallet",
            self.send(
                call("POST", "/v1/wallets", body=body, answer="Wallet", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def get_wallet(self, id: str, query: Query | None = None) -> types.Wallet:
        """Get a wallet."""
        return cast(
            "types.Wallet", self.send(call("GET", f"/v1/wallets/{quote(id, safe='')}", query=query, answer="Wallet"))
        )

    def update_wallet(
        self, id: str, body: types.PatchedWalletChangeRequest, *, if_match: str | None = None
    ) -> types.Wallet:
        """Update a wallet."""
        return cast(
            "types.Wallet",
            self.send(
                call("PATCH", f"/v1/wallets/{quote(id, safe='')}", body=body, answer="Wallet", if_match=if_match)
            ),
        )

    def get_wallet_access(self, id: str, query: Query | None = None) -> types.CreditAccess:
        """Ask whether a wallet could pay."""
        return cast(
            "types.CreditAccess",
            self.send(call("GET", f"/v1/wallets/{quote(id, safe='')}/access", query=query, answer="CreditAccess")),
        )

    def list_wallet_entries(self, id: str, query: Query | None = None) -> Stream[types.WalletEntry]:
        """List a wallet's entries."""
        return self.pages(call("GET", f"/v1/wallets/{quote(id, safe='')}/entries", query=query, answer="WalletEntry"))

    def list_grants(self, id: str, query: Query | None = None) -> Stream[types.Grant]:
        """List a wallet's grants."""
        return self.pages(call("GET", f"/v1/wallets/{quote(id, safe='')}/grants", query=query, answer="Grant"))

    def create_grant(self, id: str, body: types.GrantRequest, *, idempotency_key: str | None = None) -> types.Grant:
        """Grant credit."""
        return cast(
            "types.Grant",
            self.send(
                call(
                    "POST",
                    f"/v1/wallets/{quote(id, safe='')}/grants",
                    body=body,
                    answer="Grant",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def get_grant(self, id: str, grant_id: str) -> types.Grant:
        """Get a grant."""
        return cast(
            "types.Grant",
            self.send(
                call("GET", f"/v1/wallets/{quote(id, safe='')}/grants/{quote(grant_id, safe='')}", answer="Grant")
            ),
        )

    def void_grant(self, id: str, grant_id: str, *, idempotency_key: str | None = None) -> types.Grant:
        """Void a grant."""
        return cast(
            "types.Grant",
            self.send(
                call(
                    "POST",
                    f"/v1/wallets/{quote(id, safe='')}/grants/{quote(grant_id, safe='')}/void",
                    answer="Grant",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_webhooks(self, query: Query | None = None) -> Stream[types.WebhookEndpoint]:
        """List webhook endpoints."""
        return self.pages(call("GET", "/v1/webhooks", query=query))

    def create_webhook(
        self, body: types.WebhookEndpointRequest, *, idempotency_key: str | None = None
    ) -> types.Secret:
        """Create a webhook endpoint."""
        return cast(
            "types.Secret",
            self.send(call("POST", "/v1/webhooks", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def get_webhook(self, id: str, query: Query | None = None) -> types.WebhookEndpoint:
        """Get a webhook endpoint."""
        return cast("types.WebhookEndpoint", self.send(call("GET", f"/v1/webhooks/{quote(id, safe='')}", query=query)))

    def update_webhook(
        self, id: str, body: types.PatchedWebhookEndpointRequest, *, if_match: str | None = None
    ) -> types.WebhookEndpoint:
        """Update a webhook endpoint."""
        return cast(
            "types.WebhookEndpoint",
            self.send(call("PATCH", f"/v1/webhooks/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    def delete_webhook(self, id: str, *, if_match: str | None = None) -> types.DeletedEndpoint:
        """Delete a webhook endpoint."""
        return cast(
            "types.DeletedEndpoint", self.send(call("DELETE", f"/v1/webhooks/{quote(id, safe='')}", if_match=if_match))
        )

    def list_webhook_deliveries(self, id: str, query: Query | None = None) -> Stream[types.WebhookAttempt]:
        """List a webhook endpoint's deliveries."""
        return self.pages(call("GET", f"/v1/webhooks/{quote(id, safe='')}/deliveries", query=query))

    def ping_webhook(self, id: str, *, idempotency_key: str | None = None) -> types.Event:
        """Ping a webhook endpoint."""
        return cast(
            "types.Event",
            self.send(
                call(
                    "POST",
                    f"/v1/webhooks/{quote(id, safe='')}/ping",
                    answer="Event",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def recover_webhook(
        self, id: str, body: types.RecoveryRequest, *, idempotency_key: str | None = None
    ) -> types.Recovered:
        """Recover a webhook endpoint's events."""
        return cast(
            "types.Recovered",
            self.send(
                call(
                    "POST",
                    f"/v1/webhooks/{quote(id, safe='')}/recover",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def rotate_webhook(self, id: str, *, idempotency_key: str | None = None) -> types.Secret:
        """Rotate a webhook endpoint's secret."""
        return cast(
            "types.Secret",
            self.send(
                call("POST", f"/v1/webhooks/{quote(id, safe='')}/rotate", idempotency_key=idempotency_key, keyed=True)
            ),
        )


class AsyncOperations:
    async def send(self, call: Call) -> Any:
        raise NotImplementedError

    def pages(self, call: Call) -> AsyncStream[Any]:
        raise NotImplementedError

    async def check_access(self, body: types.Check, *, idempotency_key: str | None = None) -> types.Decision:
        """Check access."""
        return cast(
            "types.Decision",
            await self.send(
                call("POST", "/v1/access/check", body=body, answer="Decision", idempotency_key=idempotency_key)
            ),
        )

    async def check_access_batch(
        self, body: types.Batch, *, idempotency_key: str | None = None
    ) -> types.DecisionBatch:
        """Check access to many items."""
        return cast(
            "types.DecisionBatch",
            await self.send(
                call(
                    "POST",
                    "/v1/access/check/batch",
                    body=body,
                    answer="DecisionBatch",
                    idempotency_key=idempotency_key,
                )
            ),
        )

    def list_decisions(self, query: Query | None = None) -> AsyncStream[types.Decision]:
        """List decisions."""
        return self.pages(call("GET", "/v1/access/decisions", query=query, answer="Decision"))

    async def get_decision(self, id: str, query: Query | None = None) -> types.Decision:
        """Get a decision."""
        return cast(
            "types.Decision",
            await self.send(call("GET", f"/v1/access/decisions/{quote(id, safe='')}", query=query, answer="Decision")),
        )

    async def get_offers(self, query: Query | None = None) -> types.AccessOffer:
        """Get the offers for an access."""
        return cast(
            "types.AccessOffer", await self.send(call("GET", "/v1/access/offers", query=query, answer="AccessOffer"))
        )

    async def get_offers_batch(
        self, body: types.OfferBatchRequest, *, idempotency_key: str | None = None
    ) -> types.OfferList:
        """Get the offers for many accesses."""
        return cast(
            "types.OfferList",
            await self.send(
                call("POST", "/v1/access/offers/batch", body=body, answer="OfferList", idempotency_key=idempotency_key)
            ),
        )

    async def get_own_account(self, query: Query | None = None) -> types.OwnAccount:
        """Get the account of the key."""
        return cast("types.OwnAccount", await self.send(call("GET", "/v1/accounts/me", query=query)))

    async def update_own_account(self, body: types.PatchedAccountChangeRequest) -> types.OwnAccount:
        """Change the account of the key."""
        return cast("types.OwnAccount", await self.send(call("PATCH", "/v1/accounts/me", body=body)))

    async def get_crawlers(self, query: Query | None = None) -> types.CrawlerReportShown:
        """Get crawler analytics."""
        return cast(
            "types.CrawlerReportShown",
            await self.send(call("GET", "/v1/analytics/crawlers", query=query, answer="CrawlerReportShown")),
        )

    async def get_observed(self, query: Query | None = None) -> types.ObservedReport:
        """Get observed denials."""
        return cast(
            "types.ObservedReport",
            await self.send(call("GET", "/v1/analytics/observed", query=query, answer="ObservedReport")),
        )

    async def get_pages(self, query: Query | None = None) -> types.PageReportShown:
        """Get page analytics."""
        return cast("types.PageReportShown", await self.send(call("GET", "/v1/analytics/pages", query=query)))

    async def get_revenue_report(self, query: Query | None = None) -> types.RevenueReport:
        """Get revenue analytics."""
        return cast(
            "types.RevenueReport",
            await self.send(call("GET", "/v1/analytics/revenue", query=query, answer="RevenueReport")),
        )

    async def get_usage_report(self, query: Query | None = None) -> types.UsageReport:
        """Get usage analytics."""
        return cast("types.UsageReport", await self.send(call("GET", "/v1/analytics/usage", query=query)))

    async def get_visitors(self, query: Query | None = None) -> types.VisitorReportShown:
        """Get visitor analytics."""
        return cast("types.VisitorReportShown", await self.send(call("GET", "/v1/analytics/visitors", query=query)))

    def list_api_keys(self, query: Query | None = None) -> AsyncStream[types.ApiKey]:
        """List API keys."""
        return self.pages(call("GET", "/v1/api-keys", query=query))

    async def create_api_key(
        self, body: types.ApiKeyRequest, *, idempotency_key: str | None = None
    ) -> types.CreatedApiKey:
        """Create an API key."""
        return cast(
            "types.CreatedApiKey",
            await self.send(call("POST", "/v1/api-keys", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def get_api_key(self, id: str, query: Query | None = None) -> types.ApiKey:
        """Get an API key."""
        return cast("types.ApiKey", await self.send(call("GET", f"/v1/api-keys/{quote(id, safe='')}", query=query)))

    async def update_api_key(
        self, id: str, body: types.PatchedApiKeyChangeRequest, *, if_match: str | None = None
    ) -> types.ApiKey:
        """Change an API key."""
        return cast(
            "types.ApiKey",
            await self.send(call("PATCH", f"/v1/api-keys/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    async def revoke_api_key(self, id: str, *, if_match: str | None = None) -> types.ApiKey:
        """Revoke an API key."""
        return cast(
            "types.ApiKey", await self.send(call("DELETE", f"/v1/api-keys/{quote(id, safe='')}", if_match=if_match))
        )

    async def rotate_api_key(
        self, id: str, body: types.RotationRequest, *, idempotency_key: str | None = None
    ) -> types.CreatedApiKey:
        """Rotate an API key."""
        return cast(
            "types.CreatedApiKey",
            await self.send(
                call(
                    "POST",
                    f"/v1/api-keys/{quote(id, safe='')}/rotate",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def upsert_api_keys(
        self, body: types.ApiKeyBulkRequest, *, idempotency_key: str | None = None
    ) -> types.ApiKeyBulkOutcomes:
        """Create and change API keys in bulk."""
        return cast(
            "types.ApiKeyBulkOutcomes",
            await self.send(call("POST", "/v1/api-keys/bulk", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def find_api_key(self, body: types.KeyTextRequest, *, idempotency_key: str | None = None) -> types.ApiKey:
        """Find an API key by its full text."""
        return cast(
            "types.ApiKey",
            await self.send(call("POST", "/v1/api-keys/find", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    def list_audit_entries(self, query: Query | None = None) -> AsyncStream[types.AuditEntry]:
        """List changes."""
        return self.pages(call("GET", "/v1/audit", query=query))

    async def get_audit_entry(self, id: str, query: Query | None = None) -> types.AuditEntry:
        """Get a change."""
        return cast("types.AuditEntry", await self.send(call("GET", f"/v1/audit/{quote(id, safe='')}", query=query)))

    def list_content(self, query: Query | None = None) -> AsyncStream[types.Content]:
        """List content."""
        return self.pages(call("GET", "/v1/content", query=query, answer="Content"))

    async def create_content(self, body: types.ContentRequest, *, idempotency_key: str | None = None) -> types.Content:
        """Create content."""
        return cast(
            "types.Content",
            await self.send(
                call("POST", "/v1/content", body=body, answer="Content", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_content(self, id: str, query: Query | None = None) -> types.Content:
        """Get content."""
        return cast(
            "types.Content",
            await self.send(call("GET", f"/v1/content/{quote(id, safe='')}", query=query, answer="Content")),
        )

    async def update_content(
        self, id: str, body: types.PatchedContentRequest, *, if_match: str | None = None
    ) -> types.Content:
        """Update content."""
        return cast(
            "types.Content",
            await self.send(
                call("PATCH", f"/v1/content/{quote(id, safe='')}", body=body, answer="Content", if_match=if_match)
            ),
        )

    async def delete_content(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete content."""
        return cast(
            "types.Deleted", await self.send(call("DELETE", f"/v1/content/{quote(id, safe='')}", if_match=if_match))
        )

    async def upsert_content(
        self, body: types.BulkRequest, *, idempotency_key: str | None = None
    ) -> types.BulkOutcomes:
        """Create and update content in bulk."""
        return cast(
            "types.BulkOutcomes",
            await self.send(
                call(
                    "POST",
                    "/v1/content/bulk",
                    body=body,
                    answer="BulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def list_crawlers(self) -> types.CrawlerTable:
        """List known crawlers."""
        return cast("types.CrawlerTable", await self.send(call("GET", "/v1/crawlers")))

    def list_events(self, query: Query | None = None) -> AsyncStream[types.Event]:
        """List events."""
        return self.pages(call("GET", "/v1/events", query=query, answer="Event"))

    async def get_event(self, id: str, query: Query | None = None) -> types.Event:
        """Get an event."""
        return cast(
            "types.Event",
            await self.send(call("GET", f"/v1/events/{quote(id, safe='')}", query=query, answer="Event")),
        )

    async def redeliver_event(
        self, id: str, body: types.RedeliveryRequest, *, idempotency_key: str | None = None
    ) -> types.Event:
        """Deliver an event once more."""
        return cast(
            "types.Event",
            await self.send(
                call(
                    "POST",
                    f"/v1/events/{quote(id, safe='')}/redeliver",
                    body=body,
                    answer="Event",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_license_clients(self, query: Query | None = None) -> AsyncStream[types.LicenseClient]:
        """List licence clients."""
        return self.pages(call("GET", "/v1/license-clients", query=query))

    async def create_license_client(
        self, body: types.LicenseClientRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseClientWithSecret:
        """Create a licence client."""
        return cast(
            "types.LicenseClientWithSecret",
            await self.send(
                call("POST", "/v1/license-clients", body=body, idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_license_client(self, id: str, query: Query | None = None) -> types.LicenseClient:
        """Get a licence client."""
        return cast(
            "types.LicenseClient",
            await self.send(call("GET", f"/v1/license-clients/{quote(id, safe='')}", query=query)),
        )

    async def revoke_license_client(self, id: str, *, if_match: str | None = None) -> types.LicenseClient:
        """Revoke a licence client."""
        return cast(
            "types.LicenseClient",
            await self.send(call("DELETE", f"/v1/license-clients/{quote(id, safe='')}", if_match=if_match)),
        )

    async def rotate_license_client(
        self, id: str, body: types.SecretRotationRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseClientWithSecret:
        """Rotate a licence client's secret."""
        return cast(
            "types.LicenseClientWithSecret",
            await self.send(
                call(
                    "POST",
                    f"/v1/license-clients/{quote(id, safe='')}/rotate",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_licenses(self, query: Query | None = None) -> AsyncStream[types.License]:
        """List licences."""
        return self.pages(call("GET", "/v1/licenses", query=query, answer="License"))

    async def create_license(self, body: types.LicenseRequest, *, idempotency_key: str | None = None) -> types.License:
        """Issue a licence."""
        return cast(
            "types.License",
            await self.send(
                call("POST", "/v1/licenses", body=body, answer="License", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_license(self, id: str, query: Query | None = None) -> types.License:
        """Get a licence."""
        return cast(
            "types.License",
            await self.send(call("GET", f"/v1/licenses/{quote(id, safe='')}", query=query, answer="License")),
        )

    async def update_license(
        self, id: str, body: types.PatchedLicenseRequest, *, if_match: str | None = None
    ) -> types.License:
        """Change a licence."""
        return cast(
            "types.License",
            await self.send(
                call("PATCH", f"/v1/licenses/{quote(id, safe='')}", body=body, answer="License", if_match=if_match)
            ),
        )

    async def revoke_license(
        self, id: str, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> types.License:
        """Revoke a licence."""
        return cast(
            "types.License",
            await self.send(
                call(
                    "POST",
                    f"/v1/licenses/{quote(id, safe='')}/revoke",
                    answer="License",
                    idempotency_key=idempotency_key,
                    keyed=True,
                    if_match=if_match,
                )
            ),
        )

    async def upsert_licenses(
        self, body: types.LicenseBulkRequest, *, idempotency_key: str | None = None
    ) -> types.LicenseBulkOutcomes:
        """Issue and change licences in bulk."""
        return cast(
            "types.LicenseBulkOutcomes",
            await self.send(
                call(
                    "POST",
                    "/v1/licenses/bulk",
                    body=body,
                    answer="LicenseBulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_payments(self, query: Query | None = None) -> AsyncStream[types.Payment]:
        """List payments."""
        return self.pages(call("GET", "/v1/payments", query=query, answer="Payment"))

    async def create_payment(self, body: types.PaymentRequest, *, idempotency_key: str | None = None) -> types.Payment:
        """Record a payment."""
        return cast(
            "types.Payment",
            await self.send(
                call("POST", "/v1/payments", body=body, answer="Payment", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_payment(self, id: str, query: Query | None = None) -> types.Payment:
        """Get a payment."""
        return cast(
            "types.Payment",
            await self.send(call("GET", f"/v1/payments/{quote(id, safe='')}", query=query, answer="Payment")),
        )

    async def void_payment(
        self, id: str, body: types.VoidRequest, *, idempotency_key: str | None = None
    ) -> types.Payment:
        """Void a payment."""
        return cast(
            "types.Payment",
            await self.send(
                call(
                    "POST",
                    f"/v1/payments/{quote(id, safe='')}/void",
                    body=body,
                    answer="Payment",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_policies(self, query: Query | None = None) -> AsyncStream[types.Policy]:
        """List policies."""
        return self.pages(call("GET", "/v1/policies", query=query, answer="Policy"))

    async def create_policy(self, body: types.PolicyRequest, *, idempotency_key: str | None = None) -> types.Policy:
        """Create a policy."""
        return cast(
            "types.Policy",
            await self.send(
                call("POST", "/v1/policies", body=body, answer="Policy", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_policy(self, id: str, query: Query | None = None) -> types.Policy:
        """Get a policy."""
        return cast(
            "types.Policy",
            await self.send(call("GET", f"/v1/policies/{quote(id, safe='')}", query=query, answer="Policy")),
        )

    async def update_policy(
        self, id: str, body: types.PatchedPolicyRequest, *, if_match: str | None = None
    ) -> types.Policy:
        """Update a policy."""
        return cast(
            "types.Policy",
            await self.send(
                call("PATCH", f"/v1/policies/{quote(id, safe='')}", body=body, answer="Policy", if_match=if_match)
            ),
        )

    async def delete_policy(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete a policy."""
        return cast(
            "types.Deleted", await self.send(call("DELETE", f"/v1/policies/{quote(id, safe='')}", if_match=if_match))
        )

    async def rollback_policy(
        self, id: str, body: types.RollbackRequest, *, idempotency_key: str | None = None, if_match: str | None = None
    ) -> types.Policy:
        """Roll a policy back."""
        return cast(
            "types.Policy",
            await self.send(
                call(
                    "POST",
                    f"/v1/policies/{quote(id, safe='')}/rollback",
                    body=body,
                    answer="Policy",
                    idempotency_key=idempotency_key,
                    keyed=True,
                    if_match=if_match,
                )
            ),
        )

    async def simulate_policy(
        self, id: str, body: types.SimulationBodyRequest, *, idempotency_key: str | None = None
    ) -> types.Simulation:
        """Simulate a policy."""
        return cast(
            "types.Simulation",
            await self.send(
                call(
                    "POST",
                    f"/v1/policies/{quote(id, safe='')}/simulate",
                    body=body,
                    answer="Simulation",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_policy_versions(self, id: str, query: Query | None = None) -> AsyncStream[types.PolicyRevision]:
        """List a policy's versions."""
        return self.pages(
            call("GET", f"/v1/policies/{quote(id, safe='')}/versions", query=query, answer="PolicyRevision")
        )

    async def upsert_policies(
        self, body: types.PolicyBulkRequest, *, idempotency_key: str | None = None
    ) -> types.PolicyBulkOutcomes:
        """Create and update policies in bulk."""
        return cast(
            "types.PolicyBulkOutcomes",
            await self.send(
                call(
                    "POST",
                    "/v1/policies/bulk",
                    body=body,
                    answer="PolicyBulkOutcomes",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def lint_policy(self, body: types.DraftRequest, *, idempotency_key: str | None = None) -> types.Lint:
        """Lint a policy."""
        return cast(
            "types.Lint",
            await self.send(call("POST", "/v1/policies/lint", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def create_refund(
        self, body: types.RefundRequest, *, idempotency_key: str | None = None
    ) -> types.LedgerEntry:
        """Refund a charge."""
        return cast(
            "types.LedgerEntry",
            await self.send(
                call(
                    "POST", "/v1/refunds", body=body, answer="LedgerEntry", idempotency_key=idempotency_key, keyed=True
                )
            ),
        )

    def list_requesters(self, query: Query | None = None) -> AsyncStream[types.RequesterProfile]:
        """List requesters."""
        return self.pages(call("GET", "/v1/requesters", query=query))

    async def create_requester(
        self, body: types.RequesterProfileRequest, *, idempotency_key: str | None = None
    ) -> types.RequesterProfile:
        """Create a requester."""
        return cast(
            "types.RequesterProfile",
            await self.send(call("POST", "/v1/requesters", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def get_requester(self, id: str, query: Query | None = None) -> types.RequesterProfile:
        """Get a requester."""
        return cast(
            "types.RequesterProfile", await self.send(call("GET", f"/v1/requesters/{quote(id, safe='')}", query=query))
        )

    async def update_requester(
        self, id: str, body: types.PatchedRequesterProfileChangeRequest, *, if_match: str | None = None
    ) -> types.RequesterProfile:
        """Update a requester."""
        return cast(
            "types.RequesterProfile",
            await self.send(call("PATCH", f"/v1/requesters/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    async def delete_requester(self, id: str, *, if_match: str | None = None) -> types.Erased:
        """Erase a requester's personal data."""
        return cast(
            "types.Erased", await self.send(call("DELETE", f"/v1/requesters/{quote(id, safe='')}", if_match=if_match))
        )

    async def merge_requester(
        self, id: str, body: types.MergeRequest, *, idempotency_key: str | None = None
    ) -> types.RequesterProfile:
        """Merge a requester into another."""
        return cast(
            "types.RequesterProfile",
            await self.send(
                call(
                    "POST",
                    f"/v1/requesters/{quote(id, safe='')}/merge",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def create_portal_session(
        self, id: str, body: types.PortalSessionRequest, *, idempotency_key: str | None = None
    ) -> types.PortalSession:
        """Create a portal session."""
        return cast(
            "types.PortalSession",
            await self.send(
                call(
                    "POST",
                    f"/v1/requesters/{quote(id, safe='')}/portal-sessions",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_ledger_entries(self, query: Query | None = None) -> AsyncStream[types.LedgerEntry]:
        """List ledger entries."""
        return self.pages(call("GET", "/v1/revenue", query=query, answer="LedgerEntry"))

    async def create_ledger_entry(
        self, body: types.AdjustmentRequest, *, idempotency_key: str | None = None
    ) -> types.LedgerEntry:
        """Add an adjustment."""
        return cast(
            "types.LedgerEntry",
            await self.send(
                call(
                    "POST", "/v1/revenue", body=body, answer="LedgerEntry", idempotency_key=idempotency_key, keyed=True
                )
            ),
        )

    async def get_ledger_entry(self, id: str, query: Query | None = None) -> types.LedgerEntry:
        """Get a ledger entry."""
        return cast(
            "types.LedgerEntry",
            await self.send(call("GET", f"/v1/revenue/{quote(id, safe='')}", query=query, answer="LedgerEntry")),
        )

    def list_sites(self, query: Query | None = None) -> AsyncStream[types.Site]:
        """List sites."""
        return self.pages(call("GET", "/v1/sites", query=query))

    async def create_site(self, body: types.SiteRequest, *, idempotency_key: str | None = None) -> types.Site:
        """Create a site."""
        return cast(
            "types.Site",
            await self.send(call("POST", "/v1/sites", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def get_site(self, id: str, query: Query | None = None) -> types.Site:
        """Get a site."""
        return cast("types.Site", await self.send(call("GET", f"/v1/sites/{quote(id, safe='')}", query=query)))

    async def update_site(self, id: str, body: types.PatchedSiteRequest, *, if_match: str | None = None) -> types.Site:
        """Update a site."""
        return cast(
            "types.Site",
            await self.send(call("PATCH", f"/v1/sites/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    async def delete_site(self, id: str, *, if_match: str | None = None) -> types.Deleted:
        """Delete a site."""
        return cast(
            "types.Deleted", await self.send(call("DELETE", f"/v1/sites/{quote(id, safe='')}", if_match=if_match))
        )

    async def get_proxy_config(self, id: str, query: Query | None = None) -> types.ProxyConfig:
        """Get the file for a site's proxy."""
        return cast(
            "types.ProxyConfig",
            await self.send(call("GET", f"/v1/sites/{quote(id, safe='')}/proxy-config", query=query)),
        )

    async def verify_site(self, id: str, *, idempotency_key: str | None = None) -> types.Site:
        """Verify a site's host."""
        return cast(
            "types.Site",
            await self.send(
                call("POST", f"/v1/sites/{quote(id, safe='')}/verify", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    def list_statements(self, query: Query | None = None) -> AsyncStream[types.Statement]:
        """List statements."""
        return self.pages(call("GET", "/v1/statements", query=query, answer="Statement"))

    async def get_statement(self, id: str, query: Query | None = None) -> types.Statement:
        """Get a statement."""
        return cast(
            "types.Statement",
            await self.send(call("GET", f"/v1/statements/{quote(id, safe='')}", query=query, answer="Statement")),
        )

    def list_statement_lines(self, id: str, query: Query | None = None) -> AsyncStream[types.StatementLine]:
        """List a statement's lines."""
        return self.pages(
            call("GET", f"/v1/statements/{quote(id, safe='')}/lines", query=query, answer="StatementLine")
        )

    def list_statement_payments(self, id: str, query: Query | None = None) -> AsyncStream[types.StatementPayment]:
        """List a statement's payments."""
        return self.pages(
            call("GET", f"/v1/statements/{quote(id, safe='')}/payments", query=query, answer="StatementPayment")
        )

    def list_wallets(self, query: Query | None = None) -> AsyncStream[types.Wallet]:
        """List wallets."""
        return self.pages(call("GET", "/v1/wallets", query=query, answer="Wallet"))

    async def create_wallet(self, body: types.WalletRequest, *, idempotency_key: str | None = None) -> types.Wallet:
        """Create a wallet."""
        return cast(
            "types.Wallet",
            await self.send(
                call("POST", "/v1/wallets", body=body, answer="Wallet", idempotency_key=idempotency_key, keyed=True)
            ),
        )

    async def get_wallet(self, id: str, query: Query | None = None) -> types.Wallet:
        """Get a wallet."""
        return cast(
            "types.Wallet",
            await self.send(call("GET", f"/v1/wallets/{quote(id, safe='')}", query=query, answer="Wallet")),
        )

    async def update_wallet(
        self, id: str, body: types.PatchedWalletChangeRequest, *, if_match: str | None = None
    ) -> types.Wallet:
        """Update a wallet."""
        return cast(
            "types.Wallet",
            await self.send(
                call("PATCH", f"/v1/wallets/{quote(id, safe='')}", body=body, answer="Wallet", if_match=if_match)
            ),
        )

    async def get_wallet_access(self, id: str, query: Query | None = None) -> types.CreditAccess:
        """Ask whether a wallet could pay."""
        return cast(
            "types.CreditAccess",
            await self.send(
                call("GET", f"/v1/wallets/{quote(id, safe='')}/access", query=query, answer="CreditAccess")
            ),
        )

    def list_wallet_entries(self, id: str, query: Query | None = None) -> AsyncStream[types.WalletEntry]:
        """List a wallet's entries."""
        return self.pages(call("GET", f"/v1/wallets/{quote(id, safe='')}/entries", query=query, answer="WalletEntry"))

    def list_grants(self, id: str, query: Query | None = None) -> AsyncStream[types.Grant]:
        """List a wallet's grants."""
        return self.pages(call("GET", f"/v1/wallets/{quote(id, safe='')}/grants", query=query, answer="Grant"))

    async def create_grant(
        self, id: str, body: types.GrantRequest, *, idempotency_key: str | None = None
    ) -> types.Grant:
        """Grant credit."""
        return cast(
            "types.Grant",
            await self.send(
                call(
                    "POST",
                    f"/v1/wallets/{quote(id, safe='')}/grants",
                    body=body,
                    answer="Grant",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def get_grant(self, id: str, grant_id: str) -> types.Grant:
        """Get a grant."""
        return cast(
            "types.Grant",
            await self.send(
                call("GET", f"/v1/wallets/{quote(id, safe='')}/grants/{quote(grant_id, safe='')}", answer="Grant")
            ),
        )

    async def void_grant(self, id: str, grant_id: str, *, idempotency_key: str | None = None) -> types.Grant:
        """Void a grant."""
        return cast(
            "types.Grant",
            await self.send(
                call(
                    "POST",
                    f"/v1/wallets/{quote(id, safe='')}/grants/{quote(grant_id, safe='')}/void",
                    answer="Grant",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    def list_webhooks(self, query: Query | None = None) -> AsyncStream[types.WebhookEndpoint]:
        """List webhook endpoints."""
        return self.pages(call("GET", "/v1/webhooks", query=query))

    async def create_webhook(
        self, body: types.WebhookEndpointRequest, *, idempotency_key: str | None = None
    ) -> types.Secret:
        """Create a webhook endpoint."""
        return cast(
            "types.Secret",
            await self.send(call("POST", "/v1/webhooks", body=body, idempotency_key=idempotency_key, keyed=True)),
        )

    async def get_webhook(self, id: str, query: Query | None = None) -> types.WebhookEndpoint:
        """Get a webhook endpoint."""
        return cast(
            "types.WebhookEndpoint", await self.send(call("GET", f"/v1/webhooks/{quote(id, safe='')}", query=query))
        )

    async def update_webhook(
        self, id: str, body: types.PatchedWebhookEndpointRequest, *, if_match: str | None = None
    ) -> types.WebhookEndpoint:
        """Update a webhook endpoint."""
        return cast(
            "types.WebhookEndpoint",
            await self.send(call("PATCH", f"/v1/webhooks/{quote(id, safe='')}", body=body, if_match=if_match)),
        )

    async def delete_webhook(self, id: str, *, if_match: str | None = None) -> types.DeletedEndpoint:
        """Delete a webhook endpoint."""
        return cast(
            "types.DeletedEndpoint",
            await self.send(call("DELETE", f"/v1/webhooks/{quote(id, safe='')}", if_match=if_match)),
        )

    def list_webhook_deliveries(self, id: str, query: Query | None = None) -> AsyncStream[types.WebhookAttempt]:
        """List a webhook endpoint's deliveries."""
        return self.pages(call("GET", f"/v1/webhooks/{quote(id, safe='')}/deliveries", query=query))

    async def ping_webhook(self, id: str, *, idempotency_key: str | None = None) -> types.Event:
        """Ping a webhook endpoint."""
        return cast(
            "types.Event",
            await self.send(
                call(
                    "POST",
                    f"/v1/webhooks/{quote(id, safe='')}/ping",
                    answer="Event",
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def recover_webhook(
        self, id: str, body: types.RecoveryRequest, *, idempotency_key: str | None = None
    ) -> types.Recovered:
        """Recover a webhook endpoint's events."""
        return cast(
            "types.Recovered",
            await self.send(
                call(
                    "POST",
                    f"/v1/webhooks/{quote(id, safe='')}/recover",
                    body=body,
                    idempotency_key=idempotency_key,
                    keyed=True,
                )
            ),
        )

    async def rotate_webhook(self, id: str, *, idempotency_key: str | None = None) -> types.Secret:
        """Rotate a webhook endpoint's secret."""
        return cast(
            "types.Secret",
            await self.send(
                call("POST", f"/v1/webhooks/{quote(id, safe='')}/rotate", idempotency_key=idempotency_key, keyed=True)
            ),
        )
