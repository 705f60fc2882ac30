// Where money is, by the type of an answer: the names of amounts, and of objects of amounts.
// Generated. See tests/clients.
export const AMOUNTS: Record<string, string[]> = {
  AccessOffer: ["amount", "refundable", "refunded"],
  CreditAccess: ["available", "balance"],
  Decision: ["amount", "available", "refundable", "refunded", "required"],
  DecisionBatch: ["amount", "available", "refundable", "refunded", "required"],
  Grant: ["amount", "remaining"],
  LedgerEntry: ["amount", "refundable", "refunded"],
  License: ["amount"],
  LicenseBulkOutcomes: ["amount"],
  ObservedReport: ["amount", "refundable", "refunded"],
  OfferList: ["amount", "refundable", "refunded"],
  RevenueReport: ["byLicenseType", "changePercent", "projectedMonthly", "revenue", "total"],
  SentEvent: ["adjustments", "amount", "available", "balance", "byLicenseType", "changePercent", "closing", "floor", "licenses", "max", "min", "opening", "projectedMonthly", "refundable", "refunded", "required", "revenue", "usage", "value"],
  Simulation: ["amount"],
  Statement: ["adjustments", "closing", "licenses", "opening", "total", "usage"],
  StatementLine: ["amount"],
  Wallet: ["amount", "balance", "floor", "max", "min", "value"],
  WalletEntry: ["amount"],
};
