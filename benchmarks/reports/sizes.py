"""Disk size of the rollups and of their sources."""

USAGE = ("hourlyusage", "contentyear", "contentmonth", "requesteryear", "requestermonth")
REVENUE = ("tierrevenue", "contentrevenue", "requesterrevenue", "contentrevenueyear", "requesterrevenueyear")


def sentences(sizes: dict[str, int]) -> str:
    """Describe the sizes, given the bytes of each table with its indexes."""

    def of(*names: str) -> float:
        return sum(sizes[f"analytics_{name}"] for name in names) / 2**20

    events, ledger, usage, revenue = of("accessevent"), of("ledgerentry"), of(*USAGE), of(*REVENUE)
    return (
        f"With their indexes, the events take {events:,.0f} MiB and the ledger {ledger:,.0f} MiB; the usage rollups "
        f"{usage:,.0f} MiB, {usage / events:.1%} of the events; the revenue rollups {revenue:,.0f} MiB, "
        f"{revenue / (events + ledger):.1%} of events and ledger."
    )
