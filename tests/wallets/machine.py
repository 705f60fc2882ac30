"""A state machine that generates histories of prepaid requesters and compares them with the model."""

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.factories import ALLOW_LICENSED
from tests.wallets.histories import Histories, Request
from tests.wallets.model import Model, Portion, Refill

HOUR = timedelta(hours=1)
ACCESS = "access"
PRICES = {"cheap": Decimal("0.05"), "dear": Decimal("0.12"), "free": None}
EVENTS = {"wallet.low", "wallet.exhausted", "wallet.topped_up"}
REASONS = {ACCESS: "quota_exceeded", "USD": "credits_exhausted"}
MONEY = st.sampled_from(["0.05", "0.1", "0.17", "0.3", "0.000001", "1"]).map(Decimal)
WHOLE = st.integers(1, 12).map(Decimal)
THRESHOLDS = st.lists(
    st.sampled_from([{"percent": 50}, {"percent": 91}, {"value": 1}, {"value": "0.31"}]), max_size=2, unique_by=str
)
Amounts = tuple[Decimal, Decimal]
Hours = int | None
Key = str | None
ITEMS = st.sampled_from(list(PRICES))


class Spent(NamedTuple):
    """A charged decision, with the amount that each wallet paid."""

    decision: str
    paid: list[tuple[str, Decimal]]


class Wallets(Histories):
    """Histories of one requester with a licence for each item."""

    @initialize(
        money=st.booleans(),
        quota=st.booleans(),
        of_license=st.sampled_from([None, "USD", ACCESS]),
        thresholds=THRESHOLDS,
        credit=st.tuples(MONEY, WHOLE),
    )
    def open_wallets(
        self, money: bool, quota: bool, of_license: str | None, thresholds: list[Any], credit: Amounts
    ) -> None:
        self.thresholds = thresholds
        self.models: dict[str, Model] = {}
        self.payers: dict[tuple[str | None, str], str] = {}  # the wallet of a licence or the requester, by unit
        self.spent: list[Spent] = []
        self.refunded: set[str] = set()
        self.keys: dict[str, tuple[str, str]] = {}  # of each externalId its wallet and grant
        self.revoked: set[str] = set()
        self.closed: dict[str, Any] = {}  # statements of closed months
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
        for number in range(len(self.models)):  # so that most histories spend
            self.grant(number, credit, priority=128, begins=None, lasts=None, key=None)

    def open(self, unit: str, held: str | None) -> None:
        terms = {"licenseId": held and self.licenses[held], "thresholds": self.thresholds}
        made = self.post("/v1/wallets", requesterId="org", unit=unit, **terms)
        self.models[made["id"]] = Model(unit, thresholds=self.thresholds)
        self.payers[held, unit] = made["id"]

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
        # The first of simultaneous requests with an externalId adds the grant, and the others find it.
        reply, *again = sorted(
            self.send_all([("POST", f"/v1/wallets/{id_}/grants", body)] * (3 if key else 1)),
            key=lambda one: one.status,
            reverse=True,
        )
        if key is not None and key in self.keys:
            wallet, grant = self.keys[key]
            for one in (reply, *again):
                assert one.status == (200 if wallet == id_ else 409), one
                assert wallet != id_ or one.body["id"] == grant
            return
        assert reply.status == 201, reply
        assert {(one.status, one.body["id"]) for one in again} <= {(200, reply.body["id"])}, again
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
        assert reply.status == model.set_floor(Decimal(floor))
        assert reply.status == 200 or reply.body["error"]["param"] == "floor"

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
        # A real clock moves on, so take the service's start time.
        anchor = moment(reply.body["refill"]["anchor"]) if refill else self.now()
        model.set_refill(Refill(*map(Decimal, terms)) if terms else None, anchor)

    @precondition(lambda self: not getattr(self, "revoked", None))
    @rule(name=ITEMS)
    def revoke(self, name: str) -> None:
        self.post(f"/v1/licenses/{self.licenses[name]}/revoke")
        self.revoked.add(name)

    # No precondition: what simultaneous checks spend is not the same in each run, and Hypothesis needs the same rules.
    @rule(which=st.integers(0, 99), part=st.sampled_from([1, 2]))
    def refund(self, which: int, part: int) -> None:
        """Refund money only; a second refund of the same decision fails."""
        one = self.spent[which % len(self.spent)] if self.spent else Spent("", [])
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
        """Check `times` times; send each check twice with the same Idempotency-Key."""
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
        replies = self.send_all([self.request_check(name)] * times)
        # In any order: allowed checks came before denied ones.
        for reply in sorted(replies, key=lambda one: not one.body["allowed"]):
            self.expect(name, reply.body, is_ordered=False)

    @precondition(lambda self: self.has_wallets)
    @rule(
        name=ITEMS,
        times=st.integers(2, 6),
        place=st.integers(0, 6),
        number=st.integers(0, 2),
        kind=st.sampled_from(["void", "floor", "grant", "revoke"]),
        which=st.integers(0, 9),
    )
    def change_beside_checks(self, name: str, times: int, place: int, number: int, kind: str, which: int) -> None:
        """Make a change and checks simultaneously; some order of them must explain the result."""
        id_, model = self.wallet(number)
        granted = [one.id for one in model.portions if one.id is not None]
        if kind == "void" and granted:
            change = ("POST", f"/v1/wallets/{id_}/grants/{granted[which % len(granted)]}/void", {})
        elif kind == "revoke" and not self.revoked:
            change = ("POST", f"/v1/licenses/{self.licenses[name]}/revoke", {})
        elif kind == "floor":
            change = ("PATCH", f"/v1/wallets/{id_}", {"floor": -(which % 3)})
        else:
            kind, change = "grant", ("POST", f"/v1/wallets/{id_}/grants", {"amount": 1 + which % 3})
        requests = [self.request_check(name) for _ in range(times)]
        place = min(place, times)
        replies = self.send_all([*requests[:place], change, *requests[place:]])
        made, body = replies.pop(place), change[2]
        answers = sorted((reply.body for reply in replies), key=lambda one: not one["allowed"])
        found = {wallet: self.found(wallet, self.pages(f"/v1/wallets/{wallet}/entries")) for wallet in self.models}
        for before in range(times + 1):
            after = deepcopy((self.models, self.spent, self.revoked))
            if self.explains(after, name, kind, id_, body, made, answers, before) and found == {
                wallet: one.shown for wallet, one in after[0].items()
            }:
                self.models, self.spent, self.revoked = after
                return
        raise AssertionError(f"No order explains {kind} {made.body} beside {answers}: {found} after {self.models}")

    def explains(
        self, after: Any, name: str, kind: str, id_: str, body: Any, made: Any, answers: list[Any], before: int
    ) -> bool:
        """Whether the replies fit if this number of checks precede the change. Modifies `after`."""
        models, spent, revoked = after
        outcomes, allowed = Counter[Any](), [one["id"] for one in answers if one["allowed"]]
        status = 200
        for turn in range(len(answers) + 1):
            if turn == before:
                if kind == "void":
                    models[id_].void(next(one for one in models[id_].portions if one.id == made.body.get("id")))
                elif kind == "revoke":
                    revoked.add(name)
                elif kind == "floor":
                    status = models[id_].set_floor(Decimal(str(body["floor"])))
                else:
                    status, begin = 201, moment(made.body["effectiveAt"])
                    models[id_].portions.append(Portion(made.body["id"], Decimal(body["amount"]), begin))
                    models[id_].roll_to(self.now())
            if turn == len(answers):
                break
            is_allowed, reason, spends = self.decide(name, models, revoked)
            outcomes[is_allowed, reason] += 1
            if is_allowed and spends and allowed:
                spent.append(Spent(allowed.pop(), spends))
        return status == made.status and outcomes == Counter((one["allowed"], one["reason"]) for one in answers)

    @rule(name=ITEMS)
    def check_without_effect(self, name: str) -> None:
        dry = self.post("/v1/access/check", contentId=self.items[name], requester="org", dryRun=True)
        assert (dry["allowed"], dry["reason"]) == self.verdict(name, self.models, self.revoked)[:2]
        assert self.post("/v1/access/check", contentId=self.watched, requester="org")["allowed"] is True

    def request_check(self, name: str) -> Request:
        return "POST", "/v1/access/check", {"contentId": self.items[name], "requester": "org"}

    def expect(self, name: str, answer: dict[str, Any], *, is_ordered: bool = True) -> None:
        allowed, reason, spends = self.decide(name, self.models, self.revoked)
        assert (answer["allowed"], answer["reason"]) == (allowed, reason), (name, answer, self.models)
        if allowed and spends:
            self.spent.append(Spent(answer["id"], spends))
            wallet = spends[-1][0]
            if is_ordered:
                left = Decimal(str(answer["credits"]["remaining"]))
                assert (answer["credits"]["walletId"], left) == (wallet, self.models[wallet].available)

    def decide(
        self, name: str, models: dict[str, Model], revoked: set[str]
    ) -> tuple[bool, str | None, list[tuple[str, Decimal]]]:
        """Return the verdict on a recorded check, and spend from its wallets or mark them exhausted."""
        allowed, reason, spends = self.verdict(name, models, revoked)
        for wallet, amount in spends if allowed else []:
            models[wallet].spend(amount)
        for wallet, _ in [] if allowed else spends:
            models[wallet].exhaust()
        return allowed, reason, spends

    def verdict(
        self, name: str, models: dict[str, Model], revoked: set[str]
    ) -> tuple[bool, str | None, list[tuple[str, Decimal]]]:
        """Return outcome, reason, and the amount spent or the wallet without credit."""
        if name in revoked:
            return False, "no_license", []
        for model in models.values():
            model.roll_to(self.now())
        spends = []
        for unit, amount in ((ACCESS, Decimal(1)), ("USD", PRICES[name])):
            wallet = self.payers.get((name, unit)) or self.payers.get((None, unit))
            if wallet and amount:
                spends.append((wallet, amount))
        for wallet, amount in spends:
            model = models[wallet]
            if model.balance - amount < model.floor:
                return False, REASONS[model.unit], [(wallet, amount)]
        return True, None, spends

    @rule(hours=st.sampled_from([1, 5, 24, 60, 500]), name=ITEMS, times=st.integers(0, 4))
    def advance(self, hours: int, name: str, times: int) -> None:
        self.wait(HOUR * hours)
        self.check_at_once(name, times)  # before anything else applies what is due

    @rule()
    def tidy(self) -> None:
        self.clean_up()

    @precondition(lambda self: self.has_wallets)
    @rule(number=st.integers(0, 2))
    def compare_entries(self, number: int) -> None:
        id_, model = self.wallet(number)
        entries = list(self.pages(f"/v1/wallets/{id_}/entries"))
        assert self.found(id_, entries) == model.shown, model
        assert sum((amount for _, amount in model.entries), Decimal(0)) == model.balance
        paid = sorted((one.decision, amount) for one in self.spent for wallet, amount in one.paid if wallet == id_)
        assert paid == sorted(
            (one["decisionId"], -Decimal(str(one["amount"]))) for one in entries if one["type"] == "spend"
        )
        left = {one["id"]: Decimal(str(one["remaining"])) for one in self.pages(f"/v1/wallets/{id_}/grants")}
        for one in model.portions:
            if one.id is not None:
                assert left[one.id] == (one.left if one.started or one.over else one.amount), (one, left)

    def found(self, id_: str, entries: Iterable[Any]) -> Any:
        """Return a wallet's entries, and its events with the balance and the previous one."""
        # Before the events: reading entries applies what is due, which writes some.
        amounts = sorted((one["type"], Decimal(str(one["amount"]))) for one in entries)
        events = [
            (one["type"], *(Decimal(str(shown["balance"])) for shown in (one["data"], one["previous"])))
            for one in self.pages(f"/v1/events?objectId={id_}")
            if one["type"] in EVENTS
        ]
        return amounts, sorted(events)

    @precondition(lambda self: self.has_wallets)
    @rule()
    def compare_statements(self) -> None:
        """Assert that statements continue each other, closed ones never change, and the last has the balances."""
        for number in range(len(self.models)):
            self.compare_entries(number)
        closing: dict[str, tuple[Decimal, Decimal]] = {}
        for one in self.pages("/v1/statements?requesterId=org&sort=created"):
            figures = {
                name: Decimal(str(one[name])) for name in ("opening", "charges", "refunds", "payments", "closing")
            }
            credit = {name: Decimal(str(amount)) for name, amount in (one["credits"] or {}).items()}
            opened = closing.get(one["currency"], (Decimal(0), Decimal(0)))
            assert (figures["opening"], credit.get("opening", Decimal(0))) == opened
            due = figures["opening"] + figures["charges"] - figures["refunds"] - figures["payments"]
            left = (
                credit
                and credit["opening"] + credit["granted"] - credit["spent"] - credit["expired"] + credit["refunded"]
            )
            assert (due, left or {}) == (figures["closing"], credit.get("closing", {}) or {}), one
            closing[one["currency"]] = (due, credit.get("closing", Decimal(0)))
            if one["status"] == "closed":
                assert self.closed.setdefault(one["id"], one) == one
        for unit in (ACCESS, "USD"):
            held = sum((model.balance for model in self.models.values() if model.unit == unit), Decimal(0))
            assert closing.get(unit, (Decimal(0), Decimal(0)))[1] == held

    @invariant()
    def balances_agree(self) -> None:
        if not self.has_wallets:
            return
        shown = {one["id"]: Decimal(str(one["balance"])) for one in self.pages("/v1/wallets?requesterId=org")}
        for number, id_ in enumerate(self.models):
            _, model = self.wallet(number)
            assert shown[id_] == model.balance, (id_, shown, model)
            assert shown[id_] >= model.floor

    def teardown(self) -> None:
        if self.has_wallets:
            self.compare_statements()


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
