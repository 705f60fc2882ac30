// Where money is, by the type of an answer: the names of amounts, and of objects of amounts.
// Generated. See tests/clients.
export const AMOUNTS: Record<string, string[]> = {
  AccessOffer: ["amount"],
  Decision: ["amount"],
  DecisionBatch: ["amount"],
  LedgerEntry: ["amount"],
  License: ["amount"],
  LicenseBulkOutcomes: ["amount"],
  ObservedReport: ["amount"],
  OfferList: ["amount"],
  RevenueReport: ["byLicenseType", "changePercent", "projectedMonthly", "revenue", "total"],
  SentEvent: ["adjustments", "amount", "byLicenseType", "changePercent", "closing", "licenses", "opening", "projectedMonthly", "revenue", "usage"],
  Simulation: ["amount"],
  Statement: ["adjustments", "closing", "licenses", "opening", "total", "usage"],
  StatementLine: ["amount"],
};
