from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from kit.http.admission import admit
from licensing.access.check_values import Check
from licensing.access.event_loop.callers import Sender
from licensing.content.models import Content
from tests import factories


def test_a_check_is_decided_on_facts_of_the_new_primary_alone(application, api, account, monkeypatch):
    gateway = application.gateway
    allowing, denying = factories.policy(account, factories.ALLOW_ALL), factories.policy(account)
    item = factories.content(account, policy_id=allowing.pk)
    quick = gateway.facts.quick_lookups or gateway.facts.lookups
    read = quick.call

    async def after_a_promotion(many):
        monkeypatch.setattr(quick, "call", read)
        gateway.forget()
        await sync_to_async(Content.objects.filter(pk=item.pk).update)(policy_id=denying.pk)
        return await read(many)

    async def run():
        answers = []
        for requester in ("org_acme", "org_new"):
            sender = Sender(gateway.callers, api.headers["Authorization"], None)
            await admit(sender)
            answers += await gateway.check(sender, [Check(("contentId", item.pk), requester)], timezone.now())
            monkeypatch.setattr(quick, "call", after_a_promotion)
        return answers

    assert [answer.decision.allowed for answer in async_to_sync(run)()] == [True, False]
