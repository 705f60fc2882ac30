"""A state machine that generates histories of customers who owe money, and keeps their books in plain Python."""

from calendar import monthrange
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.factories import ALLOW_LICENSED
from tests.wallets.histories import Histories

DAY = timedelta(days=1)
CUSTOMERS = st.sampled_from(["org_a", "org_b"])
MONEY = st.sampled_from(["0.000001", "0.07", "3", "1234.5"]).map(Decimal)
CURRENCIES = st.sampled_from(["EUR", "JPY"])
CREDIT = "USD"
EVERY = {"month": 1, "quarter": 3, "year": 12}
Owner = tuple[str, str]  # customer and currency


class Charge:
    """A charge that can be refunded: how a refund names it, who owes it, and what is left of it."""

    def __init__(self, name: dict[str, str], owner: Owner, amount: Decimal) -> None:
        self.name, self.owner, self.left = name, owner, amount


class Books(Histories):
    """Histories of two customers and the books of both."""

    @initialize()
    def open_books(self) -> None:
        self.owed: Counter[Owner] = Counter()
        self.revenue: Counter[Owner] = Counter()
        self.charges: list[Charge] = []
        self.licenses: list[dict[str, Any]] = []
        self.payments: list[tuple[str, Owner, Decimal]] = []  # not void
        self.wallets: dict[str, str] = {}  # by customer
        self.credit: Counter[str] = Counter()
        self.merged: dict[str, str] = {}
        self.closed: dict[str, Any] = {}
        self.keys = 0
        policy = self.post("/v1/policies", name="Licensed", rules=[ALLOW_LICENSED])["id"]
        self.item = self.post("/v1/content", title="Item", policyId=policy)["id"]
        for customer in ("org_a", "org_b"):
            self.post("/v1/requesters", id=customer)

    def post_thrice(self, path: str, body: dict[str, Any]) -> Any:
        """Send a request three times at once, with one externalId: it counts once."""
        self.keys += 1
        replies = self.send_all([("POST", path, {**body, "externalId": f"key-{self.keys}"})] * 3)
        assert sorted(reply.status for reply in replies) == [200, 200, 201], replies
        assert len({reply.body["id"] for reply in replies}) == 1
        return replies[0].body

    def book(self, owner: Owner, amount: Decimal, name: dict[str, str] | None = None) -> None:
        self.owed[owner] += amount
        self.revenue[owner] += amount
        if name is not None:
            self.charges.append(Charge(name, owner, amount))

    @rule(
        customer=CUSTOMERS,
        price=st.none() | MONEY,
        fee=st.none() | st.tuples(MONEY, st.sampled_from(list(EVERY))),
        per_access=st.none() | MONEY,
        currency=CURRENCIES,
    )
    def issue(self, customer: str, price: Any, fee: Any, per_access: Any, currency: str) -> None:
        customer, owner = self.current(customer), (self.current(customer), currency)
        terms: dict[str, Any] = {}
        if price is not None:
            terms["price"] = {"amount": str(price), "currency": currency}
        if fee is not None:
            terms["fee"] = {"amount": str(fee[0]), "currency": currency, "every": fee[1]}
        if per_access is not None:
            terms["pricePerAccess"] = {"amount": str(per_access), "currency": currency}
        held = self.post("/v1/licenses", requesterId=customer, licenseType="commercial", **terms)
        if price is not None:
            self.book(owner, price, {"licenseId": held["id"]})
        start = datetime.fromisoformat(held["startsAt"])
        self.licenses.append({"id": held["id"], "owner": owner, "start": start, "fee": fee, "periods": 0})
        self.charge_fees()

    def charge_fees(self) -> None:
        """Charge the fees of all periods that have begun."""
        for held in self.licenses:
            while held["fee"] is not None:
                amount, every = held["fee"]
                begin = months_later(held["start"], held["periods"] * EVERY[every])
                if begin > self.now():
                    break
                held["periods"] += 1
                path = f"/v1/revenue?licenseId={held['id']}&type=fee"
                entries = [entry for entry in self.pages(path) if entry["occurredAt"][:10] == f"{begin:%Y-%m-%d}"]
                assert len(entries) == 1, (held, entries)
                self.book(held["owner"], amount, {"entryId": entries[0]["id"]})

    @rule(which=st.integers(0, 9))
    def revoke(self, which: int) -> None:
        if self.licenses:
            held = self.licenses[which % len(self.licenses)]
            self.charge_fees()
            self.post(f"/v1/licenses/{held['id']}/revoke")
            held["fee"] = None

    @rule(customer=CUSTOMERS, times=st.integers(1, 3))
    def check(self, customer: str, times: int) -> None:
        body = {"contentId": self.item, "requester": customer}
        for reply in self.send_all([("POST", "/v1/access/check", body)] * times):
            if reply.body["charge"]:
                charge = reply.body["charge"]
                owner = (self.current(customer), charge["currency"])
                self.book(owner, Decimal(str(charge["amount"])), {"decisionId": reply.body["id"]})

    @rule(which=st.integers(0, 99), amount=st.none() | MONEY)
    def refund(self, which: int, amount: Decimal | None) -> None:
        """Refund a charge, wholly or in part; what exceeds the rest is refused."""
        if not self.charges:
            return
        charge = self.charges[which % len(self.charges)]
        refunded = charge.left if amount is None else amount
        body = {**charge.name, **({} if amount is None else {"amount": str(amount)})}
        if refunded > charge.left or not charge.left:
            assert self.send("POST", "/v1/refunds", body).status == 422
            return
        entry = self.post_thrice("/v1/refunds", body)
        assert Decimal(str(entry["amount"])) == -refunded
        charge.left -= refunded
        self.book((self.current(charge.owner[0]), charge.owner[1]), -refunded)

    @rule(customer=CUSTOMERS, amount=MONEY, sign=st.sampled_from([1, -1]), currency=CURRENCIES)
    def adjust(self, customer: str, amount: Decimal, sign: int, currency: str) -> None:
        customer = self.current(customer)
        self.post_thrice("/v1/revenue", {"requesterId": customer, "amount": str(sign * amount), "currency": currency})
        self.book((customer, currency), sign * amount)

    @rule(
        customer=CUSTOMERS,
        amount=MONEY,
        kind=st.sampled_from(["payment", "payout"]),
        currency=CURRENCIES | st.just(CREDIT),
    )
    def pay(self, customer: str, amount: Decimal, kind: str, currency: str) -> None:
        body = {"requesterId": self.current(customer), "amount": str(amount), "currency": currency, "kind": kind}
        made = self.post_thrice("/v1/payments", body)
        effect = amount if kind == "payout" else -amount
        self.owed[self.current(customer), currency] += effect
        self.payments.append((made["id"], (self.current(customer), currency), effect))

    @rule(which=st.integers(0, 99))
    def void(self, which: int) -> None:
        if self.payments:
            payment, owner, effect = self.payments.pop(which % len(self.payments))
            replies = self.send_all([("POST", f"/v1/payments/{payment}/void", {"reason": "Typing error"})] * 2)
            assert sorted(reply.status for reply in replies) == [200, 409], replies
            self.owed[owner] -= effect

    @rule(customer=CUSTOMERS, amount=MONEY)
    def grant(self, customer: str, amount: Decimal) -> None:
        """Add credit in a currency in which nothing is charged."""
        customer = self.current(customer)
        if customer not in self.wallets:
            self.wallets[customer] = self.post("/v1/wallets", requesterId=customer, unit=CREDIT)["id"]
        self.post_thrice(f"/v1/wallets/{self.wallets[customer]}/grants", {"amount": str(amount)})
        self.credit[customer] += amount

    @rule()
    def merge(self) -> None:
        """Merge the customers. Credit, the money that paid for it, and later charges go to the other one.

        Debts, and what else was paid in advance, stay on the merged one's statements.
        """
        if not self.merged:
            self.charge_fees()
            self.post("/v1/requesters/org_b/merge", into="org_a")
            self.merged["org_b"] = "org_a"
            if "org_b" in self.wallets:
                self.wallets.setdefault("org_a", self.wallets.pop("org_b"))
            credit = self.credit.pop("org_b", Decimal(0))
            self.credit["org_a"] += credit
            prepaid = min(max(-self.owed["org_b", CREDIT], Decimal(0)), credit)
            self.owed["org_b", CREDIT] += prepaid
            self.owed["org_a", CREDIT] -= prepaid
            for held in self.licenses:
                held["owner"] = (self.current(held["owner"][0]), held["owner"][1])

    def current(self, customer: str) -> str:
        return self.merged.get(customer, customer)

    @rule(days=st.sampled_from([1, 20, 31, 100]))
    def advance(self, days: int) -> None:
        self.wait(DAY * days)

    @rule()
    def tidy(self) -> None:
        self.clean_up()

    @rule()
    def compare(self) -> None:
        """Assert that statements, ledger, reports and the model agree, and that closed statements never change."""
        self.charge_fees()
        closing: dict[Owner, Decimal] = {}
        credit: dict[str, Decimal] = {}
        for statement in self.pages("/v1/statements?sort=created"):
            owner = (statement["requesterId"], statement["currency"])
            assert decimal(statement["opening"]) == closing.get(owner, 0), statement
            closing[owner] = decimal(statement["closing"])
            if statement["credits"]:
                assert decimal(statement["credits"]["opening"]) == credit.get(owner[0], 0), statement
                credit[owner[0]] = decimal(statement["credits"]["closing"])
            if statement["status"] == "closed":
                assert self.closed.setdefault(statement["id"], statement) == statement
        assert without_zeros(closing) == without_zeros(self.owed), (closing, self.owed)
        assert without_zeros(credit) == without_zeros(self.credit), (credit, self.credit)
        booked: Counter[Owner] = Counter()
        for entry in self.pages("/v1/revenue"):
            booked[entry["requesterId"], entry["currency"]] += decimal(entry["amount"])
        assert without_zeros(booked) == without_zeros(self.revenue)
        by_currency: Counter[str] = Counter()
        for (_, currency), amount in self.revenue.items():
            by_currency[currency] += amount
        report = self.send("GET", "/v1/analytics/revenue?period=all&currency=EUR").body
        shown = {amount["currency"]: decimal(amount["amount"]) for amount in report["byCurrency"]}
        assert without_zeros(shown) == without_zeros(by_currency)

    def teardown(self) -> None:
        if hasattr(self, "owed"):
            self.compare()


def decimal(number: Any) -> Decimal:
    return Decimal(str(number))


def without_zeros(amounts: Any) -> dict[Any, Decimal]:
    return {key: amount for key, amount in amounts.items() if amount}


def months_later(start: datetime, months: int) -> datetime:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return start.replace(year=year, month=month + 1, day=min(start.day, monthrange(year, month + 1)[1]))
