// Every operation of the API as a method. Generated. See tests/clients.
import type { Call, Query } from "./protocol.js";
import type { Schemas } from "./schema.js";

export abstract class Operations {
  abstract send<T extends object>(call: Call): Promise<T>;
  abstract pages<T extends object>(call: Call): AsyncGenerator<T>;

  /** Check access. */
  checkAccess(body: Schemas["Check"], options?: { idempotencyKey?: string }): Promise<Schemas["Decision"]> {
    return this.send({ method: "POST", path: `/v1/access/check`, body, answer: "Decision", ...options });
  }

  /** Check access to many items. */
  checkAccessBatch(body: Schemas["Batch"], options?: { idempotencyKey?: string }): Promise<Schemas["DecisionBatch"]> {
    return this.send({ method: "POST", path: `/v1/access/check/batch`, body, answer: "DecisionBatch", ...options });
  }

  /** List decisions. */
  listDecisions(query?: Query): AsyncGenerator<Schemas["Decision"]> {
    return this.pages({ method: "GET", path: `/v1/access/decisions`, query, answer: "Decision" });
  }

  /** Get a decision. */
  getDecision(id: string, query?: Query): Promise<Schemas["Decision"]> {
    return this.send({ method: "GET", path: `/v1/access/decisions/${encodeURIComponent(id)}`, query, answer: "Decision" });
  }

  /** Get the offers for an access. */
  getOffers(query?: Query): Promise<Schemas["AccessOffer"]> {
    return this.send({ method: "GET", path: `/v1/access/offers`, query, answer: "AccessOffer" });
  }

  /** Get the offers for many accesses. */
  getOffersBatch(body: Schemas["OfferBatchRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["OfferList"]> {
    return this.send({ method: "POST", path: `/v1/access/offers/batch`, body, answer: "OfferList", ...options });
  }

  /** Get the account of the key. */
  getOwnAccount(query?: Query): Promise<Schemas["OwnAccount"]> {
    return this.send({ method: "GET", path: `/v1/accounts/me`, query });
  }

  /** Change the account of the key. */
  updateOwnAccount(body: Schemas["PatchedAccountChangeRequest"]): Promise<Schemas["OwnAccount"]> {
    return this.send({ method: "PATCH", path: `/v1/accounts/me`, body });
  }

  /** Get crawler analytics. */
  getCrawlers(query?: Query): Promise<Schemas["CrawlerReportShown"]> {
    return this.send({ method: "GET", path: `/v1/analytics/crawlers`, query, answer: "CrawlerReportShown" });
  }

  /** Get observed denials. */
  getObserved(query?: Query): Promise<Schemas["ObservedReport"]> {
    return this.send({ method: "GET", path: `/v1/analytics/observed`, query, answer: "ObservedReport" });
  }

  /** Get page analytics. */
  getPages(query?: Query): Promise<Schemas["PageReportShown"]> {
    return this.send({ method: "GET", path: `/v1/analytics/pages`, query });
  }

  /** Get revenue analytics. */
  getRevenueReport(query?: Query): Promise<Schemas["RevenueReport"]> {
    return this.send({ method: "GET", path: `/v1/analytics/revenue`, query, answer: "RevenueReport" });
  }

  /** Get usage analytics. */
  getUsageReport(query?: Query): Promise<Schemas["UsageReport"]> {
    return this.send({ method: "GET", path: `/v1/analytics/usage`, query });
  }

  /** Get visitor analytics. */
  getVisitors(query?: Query): Promise<Schemas["VisitorReportShown"]> {
    return this.send({ method: "GET", path: `/v1/analytics/visitors`, query });
  }

  /** List API keys. */
  listApiKeys(query?: Query): AsyncGenerator<Schemas["ApiKey"]> {
    return this.pages({ method: "GET", path: `/v1/api-keys`, query });
  }

  /** Create an API key. */
  createApiKey(body: Schemas["ApiKeyRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["CreatedApiKey"]> {
    return this.send({ method: "POST", path: `/v1/api-keys`, body, keyed: true, ...options });
  }

  /** Get an API key. */
  getApiKey(id: string, query?: Query): Promise<Schemas["ApiKey"]> {
    return this.send({ method: "GET", path: `/v1/api-keys/${encodeURIComponent(id)}`, query });
  }

  /** Change an API key. */
  updateApiKey(id: string, body: Schemas["PatchedApiKeyChangeRequest"], options?: { ifMatch?: string }): Promise<Schemas["ApiKey"]> {
    return this.send({ method: "PATCH", path: `/v1/api-keys/${encodeURIComponent(id)}`, body, ...options });
  }

  /** Revoke an API key. */
  revokeApiKey(id: string, options?: { ifMatch?: string }): Promise<Schemas["ApiKey"]> {
    return this.send({ method: "DELETE", path: `/v1/api-keys/${encodeURIComponent(id)}`, ...options });
  }

  /** Rotate an API key. */
  rotateApiKey(id: string, body: Schemas["RotationRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["CreatedApiKey"]> {
    return this.send({ method: "POST", path: `/v1/api-keys/${encodeURIComponent(id)}/rotate`, body, keyed: true, ...options });
  }

  /** Create and change API keys in bulk. */
  upsertApiKeys(body: Schemas["ApiKeyBulkRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["ApiKeyBulkOutcomes"]> {
    return this.send({ method: "POST", path: `/v1/api-keys/bulk`, body, keyed: true, ...options });
  }

  /** Find an API key by its full text. */
  findApiKey(body: Schemas["KeyTextRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["ApiKey"]> {
    return this.send({ method: "POST", path: `/v1/api-keys/find`, body, keyed: true, ...options });
  }

  /** List changes. */
  listAuditEntries(query?: Query): AsyncGenerator<Schemas["AuditEntry"]> {
    return this.pages({ method: "GET", path: `/v1/audit`, query });
  }

  /** Get a change. */
  getAuditEntry(id: string, query?: Query): Promise<Schemas["AuditEntry"]> {
    return this.send({ method: "GET", path: `/v1/audit/${encodeURIComponent(id)}`, query });
  }

  /** List content. */
  listContent(query?: Query): AsyncGenerator<Schemas["Content"]> {
    return this.pages({ method: "GET", path: `/v1/content`, query, answer: "Content" });
  }

  /** Create content. */
  createContent(body: Schemas["ContentRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Content"]> {
    return this.send({ method: "POST", path: `/v1/content`, body, keyed: true, answer: "Content", ...options });
  }

  /** Get content. */
  getContent(id: string, query?: Query): Promise<Schemas["Content"]> {
    return this.send({ method: "GET", path: `/v1/content/${encodeURIComponent(id)}`, query, answer: "Content" });
  }

  /** Update content. */
  updateContent(id: string, body: Schemas["PatchedContentRequest"], options?: { ifMatch?: string }): Promise<Schemas["Content"]> {
    return this.send({ method: "PATCH", path: `/v1/content/${encodeURIComponent(id)}`, body, answer: "Content", ...options });
  }

  /** Delete content. */
  deleteContent(id: string, options?: { ifMatch?: string }): Promise<Schemas["Deleted"]> {
    return this.send({ method: "DELETE", path: `/v1/content/${encodeURIComponent(id)}`, ...options });
  }

  /** Create and update content in bulk. */
  upsertContent(body: Schemas["BulkRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["BulkOutcomes"]> {
    return this.send({ method: "POST", path: `/v1/content/bulk`, body, keyed: true, answer: "BulkOutcomes", ...options });
  }

  /** List known crawlers. */
  listCrawlers(): Promise<Schemas["CrawlerTable"]> {
    return this.send({ method: "GET", path: `/v1/crawlers` });
  }

  /** List events. */
  listEvents(query?: Query): AsyncGenerator<Schemas["Event"]> {
    return this.pages({ method: "GET", path: `/v1/events`, query, answer: "Event" });
  }

  /** Get an event. */
  getEvent(id: string, query?: Query): Promise<Schemas["Event"]> {
    return this.send({ method: "GET", path: `/v1/events/${encodeURIComponent(id)}`, query, answer: "Event" });
  }

  /** Deliver an event once more. */
  redeliverEvent(id: string, body: Schemas["RedeliveryRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Event"]> {
    return this.send({ method: "POST", path: `/v1/events/${encodeURIComponent(id)}/redeliver`, body, keyed: true, answer: "Event", ...options });
  }

  /** List licence clients. */
  listLicenseClients(query?: Query): AsyncGenerator<Schemas["LicenseClient"]> {
    return this.pages({ method: "GET", path: `/v1/license-clients`, query });
  }

  /** Create a licence client. */
  createLicenseClient(body: Schemas["LicenseClientRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["LicenseClientWithSecret"]> {
    return this.send({ method: "POST", path: `/v1/license-clients`, body, keyed: true, ...options });
  }

  /** Get a licence client. */
  getLicenseClient(id: string, query?: Query): Promise<Schemas["LicenseClient"]> {
    return this.send({ method: "GET", path: `/v1/license-clients/${encodeURIComponent(id)}`, query });
  }

  /** Revoke a licence client. */
  revokeLicenseClient(id: string, options?: { ifMatch?: string }): Promise<Schemas["LicenseClient"]> {
    return this.send({ method: "DELETE", path: `/v1/license-clients/${encodeURIComponent(id)}`, ...options });
  }

  /** Rotate a licence client's secret. */
  rotateLicenseClient(id: string, body: Schemas["SecretRotationRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["LicenseClientWithSecret"]> {
    return this.send({ method: "POST", path: `/v1/license-clients/${encodeURIComponent(id)}/rotate`, body, keyed: true, ...options });
  }

  /** List licences. */
  listLicenses(query?: Query): AsyncGenerator<Schemas["License"]> {
    return this.pages({ method: "GET", path: `/v1/licenses`, query, answer: "License" });
  }

  /** Issue a licence. */
  createLicense(body: Schemas["LicenseRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["License"]> {
    return this.send({ method: "POST", path: `/v1/licenses`, body, keyed: true, answer: "License", ...options });
  }

  /** Get a licence. */
  getLicense(id: string, query?: Query): Promise<Schemas["License"]> {
    return this.send({ method: "GET", path: `/v1/licenses/${encodeURIComponent(id)}`, query, answer: "License" });
  }

  /** Change a licence. */
  updateLicense(id: string, body: Schemas["PatchedLicenseRequest"], options?: { ifMatch?: string }): Promise<Schemas["License"]> {
    return this.send({ method: "PATCH", path: `/v1/licenses/${encodeURIComponent(id)}`, body, answer: "License", ...options });
  }

  /** Revoke a licence. */
  revokeLicense(id: string, options?: { idempotencyKey?: string; ifMatch?: string }): Promise<Schemas["License"]> {
    return this.send({ method: "POST", path: `/v1/licenses/${encodeURIComponent(id)}/revoke`, keyed: true, answer: "License", ...options });
  }

  /** Issue and change licences in bulk. */
  upsertLicenses(body: Schemas["LicenseBulkRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["LicenseBulkOutcomes"]> {
    return this.send({ method: "POST", path: `/v1/licenses/bulk`, body, keyed: true, answer: "LicenseBulkOutcomes", ...options });
  }

  /** List payments. */
  listPayments(query?: Query): AsyncGenerator<Schemas["Payment"]> {
    return this.pages({ method: "GET", path: `/v1/payments`, query, answer: "Payment" });
  }

  /** Record a payment. */
  createPayment(body: Schemas["PaymentRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Payment"]> {
    return this.send({ method: "POST", path: `/v1/payments`, body, keyed: true, answer: "Payment", ...options });
  }

  /** Get a payment. */
  getPayment(id: string, query?: Query): Promise<Schemas["Payment"]> {
    return this.send({ method: "GET", path: `/v1/payments/${encodeURIComponent(id)}`, query, answer: "Payment" });
  }

  /** Void a payment. */
  voidPayment(id: string, body: Schemas["VoidRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Payment"]> {
    return this.send({ method: "POST", path: `/v1/payments/${encodeURIComponent(id)}/void`, body, keyed: true, answer: "Payment", ...options });
  }

  /** List policies. */
  listPolicies(query?: Query): AsyncGenerator<Schemas["Policy"]> {
    return this.pages({ method: "GET", path: `/v1/policies`, query, answer: "Policy" });
  }

  /** Create a policy. */
  createPolicy(body: Schemas["PolicyRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Policy"]> {
    return this.send({ method: "POST", path: `/v1/policies`, body, keyed: true, answer: "Policy", ...options });
  }

  /** Get a policy. */
  getPolicy(id: string, query?: Query): Promise<Schemas["Policy"]> {
    return this.send({ method: "GET", path: `/v1/policies/${encodeURIComponent(id)}`, query, answer: "Policy" });
  }

  /** Update a policy. */
  updatePolicy(id: string, body: Schemas["PatchedPolicyRequest"], options?: { ifMatch?: string }): Promise<Schemas["Policy"]> {
    return this.send({ method: "PATCH", path: `/v1/policies/${encodeURIComponent(id)}`, body, answer: "Policy", ...options });
  }

  /** Delete a policy. */
  deletePolicy(id: string, options?: { ifMatch?: string }): Promise<Schemas["Deleted"]> {
    return this.send({ method: "DELETE", path: `/v1/policies/${encodeURIComponent(id)}`, ...options });
  }

  /** Roll a policy back. */
  rollbackPolicy(id: string, body: Schemas["RollbackRequest"], options?: { idempotencyKey?: string; ifMatch?: string }): Promise<Schemas["Policy"]> {
    return this.send({ method: "POST", path: `/v1/policies/${encodeURIComponent(id)}/rollback`, body, keyed: true, answer: "Policy", ...options });
  }

  /** Simulate a policy. */
  simulatePolicy(id: string, body: Schemas["SimulationBodyRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Simulation"]> {
    return this.send({ method: "POST", path: `/v1/policies/${encodeURIComponent(id)}/simulate`, body, keyed: true, answer: "Simulation", ...options });
  }

  /** List a policy's versions. */
  listPolicyVersions(id: string, query?: Query): AsyncGenerator<Schemas["PolicyRevision"]> {
    return this.pages({ method: "GET", path: `/v1/policies/${encodeURIComponent(id)}/versions`, query, answer: "PolicyRevision" });
  }

  /** Create and update policies in bulk. */
  upsertPolicies(body: Schemas["PolicyBulkRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["PolicyBulkOutcomes"]> {
    return this.send({ method: "POST", path: `/v1/policies/bulk`, body, keyed: true, answer: "PolicyBulkOutcomes", ...options });
  }

  /** Lint a policy. */
  lintPolicy(body: Schemas["DraftRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Lint"]> {
    return this.send({ method: "POST", path: `/v1/policies/lint`, body, keyed: true, ...options });
  }

  /** Refund a charge. */
  createRefund(body: Schemas["RefundRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["LedgerEntry"]> {
    return this.send({ method: "POST", path: `/v1/refunds`, body, keyed: true, answer: "LedgerEntry", ...options });
  }

  /** List requesters. */
  listRequesters(query?: Query): AsyncGenerator<Schemas["RequesterProfile"]> {
    return this.pages({ method: "GET", path: `/v1/requesters`, query });
  }

  /** Create a requester. */
  createRequester(body: Schemas["RequesterProfileRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["RequesterProfile"]> {
    return this.send({ method: "POST", path: `/v1/requesters`, body, keyed: true, ...options });
  }

  /** Get a requester. */
  getRequester(id: string, query?: Query): Promise<Schemas["RequesterProfile"]> {
    return this.send({ method: "GET", path: `/v1/requesters/${encodeURIComponent(id)}`, query });
  }

  /** Update a requester. */
  updateRequester(id: string, body: Schemas["PatchedRequesterProfileChangeRequest"], options?: { ifMatch?: string }): Promise<Schemas["RequesterProfile"]> {
    return this.send({ method: "PATCH", path: `/v1/requesters/${encodeURIComponent(id)}`, body, ...options });
  }

  /** Erase a requester's personal data. */
  deleteRequester(id: string, options?: { ifMatch?: string }): Promise<Schemas["Erased"]> {
    return this.send({ method: "DELETE", path: `/v1/requesters/${encodeURIComponent(id)}`, ...options });
  }

  /** Merge a requester into another. */
  mergeRequester(id: string, body: Schemas["MergeRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["RequesterProfile"]> {
    return this.send({ method: "POST", path: `/v1/requesters/${encodeURIComponent(id)}/merge`, body, keyed: true, ...options });
  }

  /** Create a portal session. */
  createPortalSession(id: string, body: Schemas["PortalSessionRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["PortalSession"]> {
    return this.send({ method: "POST", path: `/v1/requesters/${encodeURIComponent(id)}/portal-sessions`, body, keyed: true, ...options });
  }

  /** List ledger entries. */
  listLedgerEntries(query?: Query): AsyncGenerator<Schemas["LedgerEntry"]> {
    return this.pages({ method: "GET", path: `/v1/revenue`, query, answer: "LedgerEntry" });
  }

  /** Add an adjustment. */
  createLedgerEntry(body: Schemas["AdjustmentRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["LedgerEntry"]> {
    return this.send({ method: "POST", path: `/v1/revenue`, body, keyed: true, answer: "LedgerEntry", ...options });
  }

  /** Get a ledger entry. */
  getLedgerEntry(id: string, query?: Query): Promise<Schemas["LedgerEntry"]> {
    return this.send({ method: "GET", path: `/v1/revenue/${encodeURIComponent(id)}`, query, answer: "LedgerEntry" });
  }

  /** List sites. */
  listSites(query?: Query): AsyncGenerator<Schemas["Site"]> {
    return this.pages({ method: "GET", path: `/v1/sites`, query });
  }

  /** Create a site. */
  createSite(body: Schemas["SiteRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Site"]> {
    return this.send({ method: "POST", path: `/v1/sites`, body, keyed: true, ...options });
  }

  /** Get a site. */
  getSite(id: string, query?: Query): Promise<Schemas["Site"]> {
    return this.send({ method: "GET", path: `/v1/sites/${encodeURIComponent(id)}`, query });
  }

  /** Update a site. */
  updateSite(id: string, body: Schemas["PatchedSiteRequest"], options?: { ifMatch?: string }): Promise<Schemas["Site"]> {
    return this.send({ method: "PATCH", path: `/v1/sites/${encodeURIComponent(id)}`, body, ...options });
  }

  /** Delete a site. */
  deleteSite(id: string, options?: { ifMatch?: string }): Promise<Schemas["Deleted"]> {
    return this.send({ method: "DELETE", path: `/v1/sites/${encodeURIComponent(id)}`, ...options });
  }

  /** Get the file for a site's proxy. */
  getProxyConfig(id: string, query?: Query): Promise<Schemas["ProxyConfig"]> {
    return this.send({ method: "GET", path: `/v1/sites/${encodeURIComponent(id)}/proxy-config`, query });
  }

  /** Verify a site's host. */
  verifySite(id: string, options?: { idempotencyKey?: string }): Promise<Schemas["Site"]> {
    return this.send({ method: "POST", path: `/v1/sites/${encodeURIComponent(id)}/verify`, keyed: true, ...options });
  }

  /** List statements. */
  listStatements(query?: Query): AsyncGenerator<Schemas["Statement"]> {
    return this.pages({ method: "GET", path: `/v1/statements`, query, answer: "Statement" });
  }

  /** Get a statement. */
  getStatement(id: string, query?: Query): Promise<Schemas["Statement"]> {
    return this.send({ method: "GET", path: `/v1/statements/${encodeURIComponent(id)}`, query, answer: "Statement" });
  }

  /** List a statement's lines. */
  listStatementLines(id: string, query?: Query): AsyncGenerator<Schemas["StatementLine"]> {
    return this.pages({ method: "GET", path: `/v1/statements/${encodeURIComponent(id)}/lines`, query, answer: "StatementLine" });
  }

  /** List a statement's payments. */
  listStatementPayments(id: string, query?: Query): AsyncGenerator<Schemas["StatementPayment"]> {
    return this.pages({ method: "GET", path: `/v1/statements/${encodeURIComponent(id)}/payments`, query, answer: "StatementPayment" });
  }

  /** List wallets. */
  listWallets(query?: Query): AsyncGenerator<Schemas["Wallet"]> {
    return this.pages({ method: "GET", path: `/v1/wallets`, query, answer: "Wallet" });
  }

  /** Create a wallet. */
  createWallet(body: Schemas["WalletRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Wallet"]> {
    return this.send({ method: "POST", path: `/v1/wallets`, body, keyed: true, answer: "Wallet", ...options });
  }

  /** Get a wallet. */
  getWallet(id: string, query?: Query): Promise<Schemas["Wallet"]> {
    return this.send({ method: "GET", path: `/v1/wallets/${encodeURIComponent(id)}`, query, answer: "Wallet" });
  }

  /** Update a wallet. */
  updateWallet(id: string, body: Schemas["PatchedWalletChangeRequest"], options?: { ifMatch?: string }): Promise<Schemas["Wallet"]> {
    return this.send({ method: "PATCH", path: `/v1/wallets/${encodeURIComponent(id)}`, body, answer: "Wallet", ...options });
  }

  /** Ask whether a wallet could pay. */
  getWalletAccess(id: string, query?: Query): Promise<Schemas["CreditAccess"]> {
    return this.send({ method: "GET", path: `/v1/wallets/${encodeURIComponent(id)}/access`, query, answer: "CreditAccess" });
  }

  /** List a wallet's entries. */
  listWalletEntries(id: string, query?: Query): AsyncGenerator<Schemas["WalletEntry"]> {
    return this.pages({ method: "GET", path: `/v1/wallets/${encodeURIComponent(id)}/entries`, query, answer: "WalletEntry" });
  }

  /** List a wallet's grants. */
  listGrants(id: string, query?: Query): AsyncGenerator<Schemas["Grant"]> {
    return this.pages({ method: "GET", path: `/v1/wallets/${encodeURIComponent(id)}/grants`, query, answer: "Grant" });
  }

  /** Grant credit. */
  createGrant(id: string, body: Schemas["GrantRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Grant"]> {
    return this.send({ method: "POST", path: `/v1/wallets/${encodeURIComponent(id)}/grants`, body, keyed: true, answer: "Grant", ...options });
  }

  /** Get a grant. */
  getGrant(id: string, grant_id: string): Promise<Schemas["Grant"]> {
    return this.send({ method: "GET", path: `/v1/wallets/${encodeURIComponent(id)}/grants/${encodeURIComponent(grant_id)}`, answer: "Grant" });
  }

  /** Void a grant. */
  voidGrant(id: string, grant_id: string, options?: { idempotencyKey?: string }): Promise<Schemas["Grant"]> {
    return this.send({ method: "POST", path: `/v1/wallets/${encodeURIComponent(id)}/grants/${encodeURIComponent(grant_id)}/void`, keyed: true, answer: "Grant", ...options });
  }

  /** List webhook endpoints. */
  listWebhooks(query?: Query): AsyncGenerator<Schemas["WebhookEndpoint"]> {
    return this.pages({ method: "GET", path: `/v1/webhooks`, query });
  }

  /** Create a webhook endpoint. */
  createWebhook(body: Schemas["WebhookEndpointRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Secret"]> {
    return this.send({ method: "POST", path: `/v1/webhooks`, body, keyed: true, ...options });
  }

  /** Get a webhook endpoint. */
  getWebhook(id: string, query?: Query): Promise<Schemas["WebhookEndpoint"]> {
    return this.send({ method: "GET", path: `/v1/webhooks/${encodeURIComponent(id)}`, query });
  }

  /** Update a webhook endpoint. */
  updateWebhook(id: string, body: Schemas["PatchedWebhookEndpointRequest"], options?: { ifMatch?: string }): Promise<Schemas["WebhookEndpoint"]> {
    return this.send({ method: "PATCH", path: `/v1/webhooks/${encodeURIComponent(id)}`, body, ...options });
  }

  /** Delete a webhook endpoint. */
  deleteWebhook(id: string, options?: { ifMatch?: string }): Promise<Schemas["DeletedEndpoint"]> {
    return this.send({ method: "DELETE", path: `/v1/webhooks/${encodeURIComponent(id)}`, ...options });
  }

  /** List a webhook endpoint's deliveries. */
  listWebhookDeliveries(id: string, query?: Query): AsyncGenerator<Schemas["WebhookAttempt"]> {
    return this.pages({ method: "GET", path: `/v1/webhooks/${encodeURIComponent(id)}/deliveries`, query });
  }

  /** Ping a webhook endpoint. */
  pingWebhook(id: string, options?: { idempotencyKey?: string }): Promise<Schemas["Event"]> {
    return this.send({ method: "POST", path: `/v1/webhooks/${encodeURIComponent(id)}/ping`, keyed: true, answer: "Event", ...options });
  }

  /** Recover a webhook endpoint's events. */
  recoverWebhook(id: string, body: Schemas["RecoveryRequest"], options?: { idempotencyKey?: string }): Promise<Schemas["Recovered"]> {
    return this.send({ method: "POST", path: `/v1/webhooks/${encodeURIComponent(id)}/recover`, body, keyed: true, ...options });
  }

  /** Rotate a webhook endpoint's secret. */
  rotateWebhook(id: string, options?: { idempotencyKey?: string }): Promise<Schemas["Secret"]> {
    return this.send({ method: "POST", path: `/v1/webhooks/${encodeURIComponent(id)}/rotate`, keyed: true, ...options });
  }
}
