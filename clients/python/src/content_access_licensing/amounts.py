"""Where money is: by the type of an answer the names of amounts. Generated. See tests/clients."""

AMOUNTS: dict[str, frozenset[str]] = {
    "AccessOffer": frozenset(["amount"]),
    "Decision": frozenset(["amount"]),
    "DecisionBatch": frozenset(["amount"]),
    "LedgerEntry": frozenset(["amount"]),
    "License": frozenset(["amount"]),
    "LicenseBulkOutcomes": frozenset(["amount"]),
    "ObservedReport": frozenset(["amount"]),
    "OfferList": frozenset(["amount"]),
    "RevenueReport": frozenset(["byLicenseType", "changePercent", "projectedMonthly", "revenue", "total"]),
    "SentEvent": frozenset(
        [
            "adjustments",
            "amount",
            "byLicenseType",
            "changePercent",
            "closing",
            "licenses",
            "opening",
            "projectedMonthly",
            "revenue",
            "usage",
        ]
    ),
    "Simulation": frozenset(["amount"]),
    "Statement": frozenset(["adjustments", "closing", "licenses", "opening", "total", "usage"]),
    "StatementLine": frozenset(["amount"]),
}
