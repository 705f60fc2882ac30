"""Histories of prepaid requesters that chance makes up, against the model."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.factories import ALLOW_LICENSED
from tests.wallets.model import Model, Portion, Refill

HOUR = timedelta(hours=1)
ACCESS = "access"
PRICES = {"cheap": Decimal("0.05"), "dear": Decimal("0.12"), "free": None}
REASONS = {ACCESS: "quota_exceeded", "USD": "credits_exhausted"}
MONEY = st.sampled_from(["0.05", "0.1", "0.17", "0.3", "0.000001", "1"]).map(Decimal)
WHOLE = st.integers(1, 12).map(Decimal)
Amounts = tuple[Decimal, Decimal]
Hours = int | None
Key = str | None
ITEMS = st.sampled_from(list(PRICES))


class Spent(NamedTuple):
    """A decision that was charged: what each wallet paid."""

    decision: str
    paid: list[tuple[str, Decimal]]


class Wallets(RuleBasedStateMachine):
    """One requester with a licence of each item. Subclasses say how it reaches the service, and what time it is."""

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The reply; it has `status` and `body`."""
        raise NotImplementedError

    def send_all(self, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to checks that are sent at the same moment."""
        raise NotImplementedError

    def now(self) -> datetime:
        raise NotImplementedError

    def wait(self, time: timedelta) -> None:
        raise NotImplementedError

    # --- What there is -----------------------------------------------------------------------------------------------

    @initialize(money=st.booleans(), quota=st.booleans(), of_license=st.sampled_from([None, "USD", ACCESS]))
    def open_wallets(self, money: bool, quota: bool, of_license: str | None) -> None:
        self.models: dict[str, Model] = {}
        self.payers: dict[tuple[str | None, str], str] = {}  # the wallet of a licence or the requester, by unit
        self.spent: list[Spent] = []
        self.refunded: set[str] = set()
        self.keys: dict[str, tuple[str, str]] = {}  # of each externalId its wallet and grant
        self.revoked: set[str] = set()
        self.checks = 0
        self.items, self.licenses = {}, {}
        policy, watched = (
            self.post("/v1/policies", name="Licensed", rules=[ALLOW_LICENSED], mode=mode)["id"]
            for mode in ("enforce", "observe")
        )
        for name, price in PRICES.items():
            self.items[name] = self.post("/v1/content", title=name, policyId=policy)["id"]
            terms: dict[str, Any] = {"requesterId": "org", "licenseType": "commercial"}
            if price is not None:
                terms["pricePerAccess"] = {"amount": str(price), "currency": "USD"}
            self.licenses[name] = self.post("/v1/licenses", contentIds=[self.items[name]], **terms)["id"]
        self.watched = self.post("/v1/content", title="watched", policyId=watched)["id"]
        self.post("/v1/licenses", requesterId="org", licenseType="commercial", contentIds=[self.watched])
        for unit in ["USD"] * money + [ACCESS] * quota:
            self.open(unit, None)
        if of_license:
            self.open(of_license, "dear")

    def open(self, unit: str, held: str | None) -> None:
        made = self.post("/v1/wallets", requesterId="org", unit=unit, licenseId=held and self.licenses[held])
        self.models[made["id"]] = Model(unit)
        self.payers[held, unit] = made["id"]

    def post(self, path: str, **body: Any) -> Any:
        reply = self.send("POST", path, body)
        assert reply.status in (200, 201), (reply.status, reply.content)
        return reply.body

    def wallet(self, number: int) -> tuple[str, Model]:
        id_ = list(self.models)[number % len(self.models)]
        self.models[id_].roll_to(self.now())
        return id_, self.models[id_]

    @property
    def has_wallets(self) -> bool:
        return bool(getattr(self, "models", None))

    @precondition(lambda self: self.has_wallets)
    @rule(
        number=st.integers(0, 2),
        amounts=st.tuples(MONEY, WHOLE),
        priority=st.sampled_from([0, 128, 255]),
        begins=st.sampled_from([None, 1, 5, 30]),
        lasts=st.sampled_from([None, 2, 24, 50]),
        key=st.sampled_from([None, "a", "b"]),
    )
    def grant(self, number: int, amounts: Amounts, priority: int, begins: Hours, lasts: Hours, key: Key) -> None:
        id_, model = self.wallet(number)
        amount = amounts[model.unit == ACCESS]
        begin = self.now() + HOUR * (begins or 0)
        end = begin + HOUR * lasts if lasts else None
        body = {
            "amount": str(amount),
            "priority": priority,
            "externalId": key,
            "effectiveAt": begin.isoformat() if begins else None,
            "expiresAt": end and end.isoformat(),
        }
        reply = self.send("POST", f"/v1/wallets/{id_}/grants", body)
        if key is not None and key in self.keys:
            wallet, grant = self.keys[key]
            assert reply.status == (200 if wallet == id_ else 409), reply
            assert wallet != id_ or reply.body["id"] == grant
            return
        assert reply.status == 201, reply
        if key is not None:
            self.keys[key] = id_, reply.body["id"]
        model.portions.append(Portion(reply.body["id"], amount, moment(reply.body["effectiveAt"]), end, priority))
        model.roll_to(self.now())

    @precondition(lambda self: self.has_wallets)
    @rule(number=st.integers(0, 2), which=st.integers(0, 9))
    def void(self, number: int, which: int) -> None:
        id_, model = self.wallet(number)
        granted = [one for one in model.portions if one.id is not None]
        if granted:
            one = granted[which % len(granted)]
            self.post(f"/v1/wallets/{id_}/grants/{one.id}/void")
            model.void(one)

    @precondition(lambda self: self.has_wallets)
    @rule(number=st.integers(0, 2), floor=st.sampled_from([0, 0, -1, -3]))
    def change_floor(self, number: int, floor: int) -> None:
        id_, model = self.wallet(number)
        reply = self.send("PATCH", f"/v1/wallets/{id_}", {"floor": floor})
        if floor > model.balance:
            assert (reply.status, reply.body["error"]["param"]) == (422, "floor")
        else:
            assert reply.status == 200, reply
            model.floor = Decimal(floor)

    @precondition(lambda self: self.has_wallets)
    @rule(
        number=st.integers(0, 2), terms=st.none() | st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(2, 5))
    )
    def change_refill(self, number: int, terms: tuple[int, int, int] | None) -> None:
        id_, model = self.wallet(number)
        refill = None
        if terms:
            refill = {"amount": terms[0], "every": "day", "rollover": {"min": terms[1], "max": terms[2]}}
        reply = self.send("PATCH", f"/v1/wallets/{id_}", {"refill": refill})
        assert reply.status == 200, reply
        # A real clock moves on; the service says when it began.
        anchor = moment(reply.body["refill"]["anchor"]) if refill else self.now()
        model.set_refill(Refill(*map(Decimal, terms)) if terms else None, anchor)

    @precondition(lambda self: not getattr(self, "revoked", None))
    @rule(name=ITEMS)
    def revoke(self, name: str) -> None:
        self.post(f"/v1/licenses/{self.licenses[name]}/revoke")
        self.revoked.add(name)

    @precondition(lambda self: getattr(self, "spent", None))
    @rule(which=st.integers(0, 99), part=st.sampled_from([1, 2]))
    def refund(self, which: int, part: int) -> None:
        """Of money alone; a second one of the same decision is refused."""
        one = self.spent[which % len(self.spent)]
        paid = next(((wallet, amount) for wallet, amount in one.paid if self.models[wallet].unit == "USD"), None)
        if paid is None:
            return
        wallet, amount = paid[0], paid[1] / part
        body = {"amount": str(-amount), "currency": "USD", "decisionId": one.decision}
        reply = self.send("POST", "/v1/revenue", body)
        if reply.status == 422 and one.decision in self.refunded:
            return
        assert one.decision not in self.refunded or part == 2, reply
        assert reply.status == 201, reply
        self.refunded.add(one.decision)
        model = self.models[wallet]
        model.roll_to(self.now())
        grants = self.send("GET", f"/v1/wallets/{wallet}/grants").body["data"]
        made = next(grant for grant in grants if grant["kind"] == "refund")
        model.portions.append(Portion(made["id"], amount, moment(made["effectiveAt"]), entry="refund"))
        model.roll_to(self.now())

    @rule(name=ITEMS, times=st.integers(1, 4))
    def check(self, name: str, times: int) -> None:
        """One after the other, each sent twice with one Idempotency-Key."""
        for _ in range(times):
            self.checks += 1
            body = {"contentId": self.items[name], "requester": "org"}
            headers = {"Idempotency-Key": f"check-{self.checks}"}
            first, again = (self.send("POST", "/v1/access/check", body, **headers) for _ in range(2))
            assert first.body == again.body
            self.expect(name, first.body)

    @rule(names=st.lists(ITEMS, min_size=1, max_size=6))
    def check_batch(self, names: list[str]) -> None:
        checks = [{"contentId": self.items[name]} for name in names]
        answers = self.post("/v1/access/check/batch", requester="org", checks=checks)["data"]
        for name, answer in zip(names, answers, strict=True):
            self.expect(name, answer)

    @rule(name=ITEMS, times=st.integers(2, 8))
    def check_at_once(self, name: str, times: int) -> None:
        answers = self.send_all([{"contentId": self.items[name], "requester": "org"}] * times)
        # Whichever came first: those that passed did so before those that did not.
        for answer in sorted(answers, key=lambda one: not one["allowed"]):
            self.expect(name, answer, is_ordered=False)

    @rule(name=ITEMS)
    def check_without_effect(self, name: str) -> None:
        dry = self.post("/v1/access/check", contentId=self.items[name], requester="org", dryRun=True)
        assert (dry["allowed"], dry["reason"]) == self.verdict(name)[:2]
        assert self.post("/v1/access/check", contentId=self.watched, requester="org")["allowed"] is True

    def expect(self, name: str, answer: dict[str, Any], *, is_ordered: bool = True) -> None:
        allowed, reason, spends = self.verdict(name)
        assert (answer["allowed"], answer["reason"]) == (allowed, reason), (name, answer, self.models)
        if allowed and spends:
            for wallet, amount in spends:
                self.models[wallet].spend(amount)
            self.spent.append(Spent(answer["id"], spends))
            wallet = spends[-1][0]
            if is_ordered:
                left = Decimal(str(answer["credits"]["remaining"]))
                assert (answer["credits"]["walletId"], left) == (wallet, self.models[wallet].available)

    def verdict(self, name: str) -> tuple[bool, str | None, list[tuple[str, Decimal]]]:
        if name in self.revoked:
            return False, "no_license", []
        for model in self.models.values():
            model.roll_to(self.now())
        spends = []
        for unit, amount in ((ACCESS, Decimal(1)), ("USD", PRICES[name])):
            wallet = self.payers.get((name, unit)) or self.payers.get((None, unit))
            if wallet and amount:
                spends.append((wallet, amount))
        for wallet, amount in spends:
            model = self.models[wallet]
            if model.balance - amount < model.floor:
                return False, REASONS[model.unit], []
        return True, None, spends

    @rule(hours=st.sampled_from([1, 5, 24, 60]))
    def advance(self, hours: int) -> None:
        self.wait(HOUR * hours)

    @precondition(lambda self: self.has_wallets)
    @rule(number=st.integers(0, 2))
    def compare_entries(self, number: int) -> None:
        id_, model = self.wallet(number)
        listed = list(self.pages(f"/v1/wallets/{id_}/entries"))
        found = sorted((one["type"], Decimal(str(one["amount"]))) for one in listed)
        assert found == sorted(model.entries)
        assert sum((amount for _, amount in found), Decimal(0)) == model.balance
        paid = sorted((one.decision, amount) for one in self.spent for wallet, amount in one.paid if wallet == id_)
        assert paid == sorted(
            (one["decisionId"], -Decimal(str(one["amount"]))) for one in listed if one["type"] == "spend"
        )

    def pages(self, path: str) -> Any:
        page = self.send("GET", f"{path}?limit=100").body
        yield from page["data"]
        while page["hasMore"]:
            page = self.send("GET", f"{path}?limit=100&cursor={page['nextCursor']}").body
            yield from page["data"]

    @invariant()
    def balances_agree(self) -> None:
        for number in range(len(getattr(self, "models", {}))):
            id_, model = self.wallet(number)
            shown = Decimal(str(self.send("GET", f"/v1/wallets/{id_}").body["balance"]))
            assert shown == model.balance, (id_, shown, model)
            assert shown >= model.floor
            left = {one["id"]: Decimal(str(one["remaining"])) for one in self.pages(f"/v1/wallets/{id_}/grants")}
            for one in model.portions:
                if one.id is not None:
                    assert left[one.id] == (one.left if one.started or one.over else one.amount), (one, left)

    def teardown(self) -> None:
        for number in range(len(getattr(self, "models", {}))):
            self.compare_entries(number)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
