// Where money is, by the type of an answer: the names of amounts, and of objects of amounts.
// Generated. See tests/clients.
export const AMOUNTS: Record<string, string[]> = {
  AccessOffer: ["amount", "refundable", "refunded"],
  Decision: ["amount", "refundable", "refunded"],
  DecisionBatch: ["amount", "refundable", "refunded"],
  LedgerEntry: ["amount", "refundable", "refunded"],
  License: ["amount"],
  LicenseBulkOutcomes: ["amount"],
  ObservedReport: ["amount", "refundable", "refunded"],
  OfferList: ["amount", "refundable", "refunded"],
  RevenueReport: ["byLicenseType", "changePercent", "projectedMonthly", "revenue", "total"],
  SentEvent: ["adjustments", "amount", "byLicenseType", "changePercent", "closing", "licenses", "opening", "projectedMonthly", "refundable", "refunded", "revenue", "usage"],
  Simulation: ["amount"],
  Statement: ["adjustments", "closing", "licenses", "opening", "total", "usage"],
  StatementLine: ["amount"],
};
