// Names of the fields that hold money, by type of reply: amounts, and objects of amounts.
// Generated. See tests/clients.
export const AMOUNTS: Record<string, string[]> = {
  AccessOffer: ["amount", "available", "refundable", "refunded", "required"],
  CrawlerReportShown: ["amount", "refundable", "refunded"],
  CreditAccess: ["available", "balance"],
  Decision: ["amount", "available", "refundable", "refunded", "required"],
  DecisionBatch: ["amount", "available", "refundable", "refunded", "required"],
  Grant: ["amount", "remaining"],
  LedgerEntry: ["amount", "refundable", "refunded"],
  License: ["amount"],
  LicenseBulkOutcomes: ["amount"],
  ObservedReport: ["amount", "refundable", "refunded"],
  OfferList: ["amount", "available", "refundable", "refunded", "required"],
  Payment: ["amount"],
  RevenueReport: ["byLicenseType", "changePercent", "projectedMonthly", "revenue", "total"],
  SentEvent: ["adjustments", "amount", "available", "balance", "byLicenseType", "changePercent", "charges", "closing", "expired", "floor", "granted", "licenses", "max", "min", "opening", "payments", "projectedMonthly", "refundable", "refunded", "refunds", "required", "revenue", "spent", "usage", "value"],
  Simulation: ["amount"],
  Statement: ["adjustments", "charges", "closing", "expired", "granted", "licenses", "opening", "payments", "refunded", "refunds", "spent", "total", "usage"],
  StatementLine: ["amount"],
  Wallet: ["amount", "balance", "floor", "max", "min", "value"],
  WalletEntry: ["amount"],
};
