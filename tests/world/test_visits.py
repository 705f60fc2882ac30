"""Traffic at the edge: the reports of pages and crawlers equal counts of the visitors' requests."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from tests.world.actors.readers import REFERRERS
from tests.world.model.expected import Expected, Recorded
from tests.world.publisher import HOST

OPERATORS = {"gptbot": "OpenAI", "perplexitybot": "Perplexity", "googlebot": "Google"}
OUTCOMES = ("allowed", "observed", "denied")
READ_HOSTS = {"www.perplexity.ai": "perplexity.ai"}  # a host of the table covers its subdomains


def visits(month: Expected) -> list[Recorded]:
    return [one for one in month.recorded if one.asked.is_visit and one.verdicts]


def outcome(visit: Recorded) -> str:
    verdict = visit.verdicts[0]
    return "observed" if verdict.observed else "allowed" if verdict.allowed else "denied"


def crawler_of(visit: Recorded) -> str | None:
    kind, _, name = visit.asked.requester.partition(":")
    return name if kind in ("crawler", "unverified") else None


def counted(found: Iterable[Recorded], key: Callable[[Recorded], str | None]) -> dict[str, dict[str, int]]:
    """Return requests by outcome for each key that is not None."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        if (name := key(one)) is not None:
            counts[name][outcome(one)] += 1
    return {name: {"requests": one.total(), **{each: one[each] for each in OUTCOMES}} for name, one in counts.items()}


def shown(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in ("requests", *OUTCOMES)}


def test_the_page_report_counts_every_visit_once(month: Expected) -> None:
    report = month.found["reports"]["pages"]
    expected = counted(visits(month), lambda one: f"https://{HOST}{one.asked.page}")
    assert {row["url"]: shown(row) for row in report["pages"]} == expected
    total = counted(visits(month), lambda _: "all")["all"]
    assert shown(report["summary"]) == total
    days = counted(visits(month), lambda one: f"{one.at:%Y-%m-%d}")
    assert {row["date"]: shown(row) for row in report["timeSeries"]} == days


def test_the_import_of_a_log_summed_up_its_denials_by_reason(month: Expected) -> None:
    reasons = Counter(one.verdicts[0].observed for one in visits(month) if one.asked.way == "log")
    del reasons[None]
    result = month.found["log import"]
    assert {row["reason"]: row["count"] for row in result["byReason"]} == reasons
    assert result["refused"] == reasons.total() > 0


def test_the_crawler_report_counts_what_each_operator_took(month: Expected) -> None:
    report = month.found["reports"]["crawlers"]
    expected = counted(visits(month), lambda one: OPERATORS.get(crawler_of(one) or ""))
    assert {row["operator"]: shown(row) for row in report["byOperator"]} == expected
    verified = Counter(
        OPERATORS[crawler_of(one) or ""] for one in visits(month) if one.asked.requester.startswith("crawler:")
    )
    assert {row["operator"]: row["verified"] for row in report["byOperator"]} == {
        name: verified[name] for name in expected
    }


def test_readers_count_for_the_operator_that_sent_them(month: Expected) -> None:
    report = month.found["reports"]["crawlers"]
    reads = [one.asked for one in visits(month) if not one.asked.is_free]  # HEAD shows no page
    sent = Counter(asked.referrer for asked in reads if REFERRERS.get(asked.referrer or ""))
    assert {row["host"]: row["referrals"] for row in report["referrers"]} == {
        READ_HOSTS.get(host or "", host): number for host, number in sent.items()
    }
    crawls = counted(visits(month), lambda one: OPERATORS.get(crawler_of(one) or ""))
    readers = {REFERRERS[host or ""]: number for host, number in sent.items()}
    for row in report["byOperator"]:
        referrals = readers.get(row["operator"], 0)
        ratio = Decimal(crawls[row["operator"]]["requests"]) / referrals if referrals else None
        rounded = ratio and float(ratio.quantize(Decimal("0.01"), ROUND_HALF_EVEN))
        assert (row["referrals"], row["crawlsPerReferral"] and float(row["crawlsPerReferral"])) == (referrals, rounded)
    assert set(readers) == {"OpenAI", "Perplexity"}
