"""Where money is: by the type of an answer the names of amounts. Generated. See tests/clients."""

AMOUNTS: dict[str, frozenset[str]] = {
    "AccessOffer": frozenset(["amount", "refundable", "refunded"]),
    "Decision": frozenset(["amount", "refundable", "refunded"]),
    "DecisionBatch": frozenset(["amount", "refundable", "refunded"]),
    "LedgerEntry": frozenset(["amount", "refundable", "refunded"]),
    "License": frozenset(["amount"]),
    "LicenseBulkOutcomes": frozenset(["amount"]),
    "ObservedReport": frozenset(["amount", "refundable", "refunded"]),
    "OfferList": frozenset(["amount", "refundable", "refunded"]),
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
            "refundable",
            "refunded",
            "revenue",
            "usage",
        ]
    ),
    "Simulation": frozenset(["amount"]),
    "Statement": frozenset(["adjustments", "closing", "licenses", "opening", "total", "usage"]),
    "StatementLine": frozenset(["amount"]),
}
