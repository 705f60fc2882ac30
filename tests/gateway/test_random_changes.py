from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.keys import services as key_services
from accounts.keys.authentication import find_grant
from accounts.models import Account, ApiKey, EpochChange
from accounts.plans import services as plan_services
from analytics.models import AccessEvent
from kit.http.errors import ApiError, InvalidApiKey, NotFound
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.decisions import decide_checks
from licensing.access.event_loop.snapshot import Epochs
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import find_requesters
from licensing.access.subjects import LookupResult
from licensing.content import services as content_services
from licensing.content.bulk import ContentBulk, Row
from licensing.content.models import Content
from licensing.licenses import services as license_services
from licensing.licenses.models import License
from licensing.policies import services as policy_services
from licensing.policies.models import Policy
from licensing.sites import services as site_services
from licensing.sites.models import Site
from operators.catalogue.bulk_change import change_items
from tests import factories
from tests.examples import rounds
from tests.gateway.conftest import Ask
from tests.ways import make_application

STEPS = 120
HOST = "pub.example"
URLS = [f"{scheme}://{HOST}/{path}" for scheme in ("http", "https") for path in ("a", "a?page=2", "b", "B/../b")]
NAMES = ["one", "two", "three"]
REQUESTERS = ["org_acme", "org_other", "org_new"]
RULES = [[factories.ALLOW_ALL], [factories.DENY_ALL], [factories.ALLOW_LICENSED, factories.DENY_ALL]]


class World:
    """An account with random changes, and processes that decide on it."""

    def __init__(self, account: Account, application: Any, seed: int) -> None:
        self.account, self.random = account, Random(seed)
        gateways = [application.gateway, make_application().gateway]
        for _ in range(2):
            factories.policy(account, factories.ALLOW_ALL)
        self.keys = [factories.api_key(account) for _ in range(2)]
        self.processes = [[Ask(gateway, *key) for key in self.keys] for gateway in gateways]
        for gateway in gateways:
            gateway.commits.write = self.changing_before(gateway.commits.write)
        self.recorded = 0

    def changing_before(self, write: Any) -> Any:
        async def change_and_write(entries: Any) -> Any:
            if self.random.random() < 0.2:
                await sync_to_async(self.change)()
            return await write(entries)

        return change_and_write

    def run(self) -> None:
        for _ in range(STEPS):
            for _ in range(self.random.choice([0, 0, 1, 2])):
                self.change()
            self.check()
        assert AccessEvent.objects.filter(account=self.account).count() == self.recorded

    def check(self) -> None:
        items = list(Content.objects.filter(account=self.account).values_list("pk", flat=True))
        selectors = [
            *(("externalId", name) for name in NAMES),
            *((way, url) for way in ("source", "page") for url in URLS),
        ]
        if items and self.random.random() < 0.6:
            selectors = [("contentId", item) for item in items]
        check = Check(self.random.choice(selectors), self.random.choice(REQUESTERS))
        keys = self.random.choice(self.processes)
        ask = self.random.choice(keys)
        try:
            answer = ask(check)
        except ApiError as error:
            answer = error
        assert told(answer) == told(self.fresh(check, ask))
        self.recorded += isinstance(answer, Answer)
        if isinstance(answer, InvalidApiKey):
            keys.remove(ask)  # once is enough: refusals count against a limit

    def fresh(self, check: Check, ask: Ask) -> Answer | ApiError:
        """Return the answer of an uncached process to a check at this time."""
        try:
            find_grant(ask.authorization.removeprefix("Bearer ")).check(timezone.now())
        except InvalidApiKey as error:
            return error
        items = find_items(self.account.pk, {check.selector})
        found = LookupResult(0, items, find_requesters(self.account.pk, {check.requester_id}))
        return decide_checks([check], found, ids.id_to_hex("acc", self.account.pk), ask.now).answers[0]

    def change(self) -> None:
        """Make one of the possible `changes`."""
        with suppress(ApiError), transaction.atomic():
            self.random.choice(self.changes())()

    def changes(self) -> list[Callable[[], object]]:
        owned = list(Content.objects.of(self.account.pk).order_by("pk"))
        policies = list(Policy.objects.of(self.account.pk).order_by("pk"))
        licenses = list(License.objects.filter(account=self.account).order_by("pk"))
        sites = list(Site.objects.filter(account=self.account))
        one, choose, account = self.some(owned), self.random.choice, self.account.pk
        policy = choose(policies)
        possible: list[Callable[[], object]] = [
            lambda: content_services.create_content(account, {"title": "New", **self.fields()}),
            lambda: policy_services.update_policy(policy, {"rules": choose(RULES)}),
            lambda: ContentBulk.write_rows(account, [Row({"title": "New", **self.fields()}) for _ in range(3)]),
            lambda: factories.license(
                self.account, choose(REQUESTERS), **({"tags": ["news"]} if choose([0, 1]) else {})
            ),
            lambda: site_services.create_site(
                account, {"host": HOST, "mode": "enforce", "rules": self.rules(policies)}
            ),
            lambda: plan_services.update_account(self.account, {"name": str(self.random.random())}),
            lambda: Account.objects.filter(pk=account).update(epoch=F("epoch") + 1),
            lambda: EpochChange.objects.filter(account=account).delete(),
        ]
        if one is not None:
            possible += [
                lambda: content_services.update_content(one, self.fields()),
                lambda: content_services.update_content(one, self.fields()),
                lambda: content_services.delete_content(one),
                lambda: change_items(account, [item.pk for item in owned[:2]], {"policy_id": policy.pk}),
                lambda: ContentBulk.write_rows(account, [Row(self.fields(), one.pk)]),
            ]
        if licenses:
            possible += [
                lambda: license_services.revoke_license(choose(licenses)),
                lambda: license_services.update_license(
                    choose(licenses), {"license_type": choose(["commercial", "x"])}
                ),
            ]
        if sites:
            possible += [
                lambda: site_services.update_site(sites[0], {"rules": self.rules(policies)}),
                lambda: site_services.delete_site(sites[0]),
            ]
        if self.random.random() < 0.05:
            possible = [lambda: key_services.revoke_api_key(ApiKey.objects.get(pk=self.keys[0][0].pk))]
        return possible

    def some(self, owned: list[Content]) -> Content | None:
        return self.random.choice(owned) if owned else None

    def fields(self) -> dict[str, Any]:
        choose = self.random.choice
        policies = list(Policy.objects.of(self.account.pk).order_by("pk").values_list("pk", flat=True))
        every = {
            "external_id": choose([*NAMES, None]),
            "source": choose([*URLS, None]),
            "policy_id": choose([*policies, None]),
            "tags": choose([[], ["news"]]),
            "status": choose(["active", "archived"]),
            "title": str(self.random.random()),
        }
        return {name: value for name, value in every.items() if choose([True, False])}

    def rules(self, policies: list[Policy]) -> list[dict[str, Any]]:
        paths = self.random.choice([["/"], ["/a", "/"], []])
        return [{"pattern": path, "policy_id": self.random.choice(policies).pk} for path in paths]


def told(answer: Answer | ApiError) -> object:
    """Return the parts of a decision that do not depend on the time."""
    if isinstance(answer, ApiError):
        assert isinstance(answer, InvalidApiKey | NotFound), answer
        return type(answer)
    policy, facts = answer.policy, answer.facts
    revision = None if policy is None else (policy.id, policy.version)
    known = (facts.license_types, facts.has_valid_license, facts.tags, facts.archived, facts.mode, facts.is_open)
    return answer.decision, answer.content_id, revision, known


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(rounds(9)))
def test_each_check_is_decided_as_by_a_process_that_has_cached_nothing(account, application, seed):
    World(account, application, seed).run()


def test_that_finds_out_a_process_that_forgets_nothing(account, application, monkeypatch):
    monkeypatch.setattr(Epochs, "holds", lambda *_: True)
    world = World(account, application, 0)
    with pytest.raises(AssertionError):
        world.run()
