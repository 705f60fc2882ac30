from datetime import timedelta

from django.utils import timezone

from accounts.keys import states
from accounts.keys.services import revoke_api_key
from accounts.models import ApiKey
from tests import factories
from tests.edge.asking import READERS


def refused(now):
    """Return when and why proxies are refused, by the name of the key."""
    keys = ApiKey.objects.filter(states.is_refused(now))
    return {key.name: (key.refused_since, key.refused_at, key.refusal) for key in keys}


def test_a_key_notes_why_a_proxy_is_refused_with_it(ask, account, site, clock):
    site(READERS)
    texts = {
        name: factories.key_text(account, name=name, **fields)
        for name, fields in {
            "revoked": {},
            "expired": {"expires_at": timezone.now() + timedelta(days=1)},
            "elsewhere": {"allowed_ips": ["203.0.113.9/32"]},
            "powerless": {"permissions": ["content:read"]},
            "untrusted": {},
            "good": {},
        }.items()
    }
    revoke_api_key(ApiKey.objects.get(name="revoked"))
    clock.advance(days=2)
    for name, text in texts.items():
        peer = {"peer": "203.0.113.50"} if name == "untrusted" else {}
        ask("/premium/a", x_licensing_key=text, x_licensing_errors="503", **peer)
    ask("/premium/a", x_licensing_key="svc_sk_nope")
    ask("/premium/a", x_licensing_key=texts["good"], authorization="License nope")
    reasons = {name: reason for name, (_, _, reason) in refused(clock.now).items()}
    assert reasons == {
        "revoked": "This API key has been revoked.",
        "expired": "This API key has expired.",
        "elsewhere": "The address 10.0.0.1 is not in this key's allowlist.",
        "powerless": "This key lacks the permission access:check.",
        "untrusted": "X-Forwarded-Uri counts only from addresses in TRUSTED_PROXIES. Add that of your proxy.",
    }
    for name in reasons:
        assert "refused at the edge" in states.key_warnings(ApiKey.objects.get(name=name), clock.now)
    assert states.key_warnings(ApiKey.objects.get(name="good"), clock.now) == []


def test_a_refusal_lasts_until_the_key_is_used_again_or_for_a_day(ask, account, site, clock):
    site(READERS)
    text = factories.key_text(account, name="Proxy", allowed_ips=["203.0.113.9/32"])
    key = ApiKey.objects.filter(name="Proxy")
    begun = clock.now
    ask("/premium/a", x_licensing_key=text)
    clock.advance(seconds=30)
    ask("/premium/a", x_licensing_key=text)
    assert refused(clock.now)["Proxy"][:2] == (begun, begun)
    clock.advance(hours=3)
    ask("/premium/a", x_licensing_key=text)
    assert refused(clock.now)["Proxy"][:2] == (begun, clock.now)
    assert refused(clock.now + timedelta(days=1, seconds=1)) == {}

    key.update(allowed_ips=[], last_used_at=clock.now + timedelta(minutes=5))
    clock.advance(minutes=6)
    assert refused(clock.now) == {}
    assert states.key_warnings(key.get(), clock.now) == []
    key.update(allowed_ips=["203.0.113.9/32"])
    clock.advance(hours=1)
    ask("/premium/a", x_licensing_key=text)
    assert refused(clock.now)["Proxy"][0] == clock.now


def test_the_first_question_with_a_key_that_was_revoked_meanwhile_is_an_outage(ask, account, site, clock):
    site(READERS)
    text = factories.key_text(account, name="Proxy")
    assert ask("/premium/a", x_licensing_key=text).status == 200
    revoke_api_key(ApiKey.objects.get(name="Proxy"))
    reply = ask("/premium/a", x_licensing_key=text, x_licensing_errors="503")
    assert reply.status_and_code == (503, "invalid_api_key")
    assert list(refused(clock.now)) == ["Proxy"]


def noted_at(site):
    site.refresh_from_db()
    return site.refused_since, site.refused_at, site.refused_key


def test_a_proxy_with_the_key_of_another_site_is_noted_at_the_site_and_logged(ask, account, clock, caplog):
    pub, other = (factories.site(account, host=f"{name}.example", mode="observe") for name in ("pub", "other"))
    key, text = factories.api_key(account, permissions=["access:check"], allowed_hosts=["other.example"])
    begun = clock.now
    for host in ("pub.example", "pub.example", "nobodys.example", "other.example"):
        ask("/premium/a", x_licensing_key=text, x_forwarded_host=host)
    assert noted_at(pub) == (begun, begun, key.pk)
    assert noted_at(other) == (None, None, None)
    logged = [record.getMessage() for record in caplog.records if "with a key for other hosts" in record.getMessage()]
    reason = f"A proxy asked about pub.example with a key for other hosts ({key.pk}), so everybody is refused there."
    assert logged == [reason]
    clock.advance(minutes=30)
    ask("/premium/a", x_licensing_key=text, x_forwarded_host="pub.example")
    assert noted_at(pub) == (begun, clock.now, key.pk)
    clock.advance(hours=2)
    ask("/premium/a", x_licensing_key=text, x_forwarded_host="pub.example")
    assert noted_at(pub) == (clock.now, clock.now, key.pk)


def test_an_unknown_key_does_not_hide_one_that_refuses_visitors(ask, account, clock):
    pub = factories.site(account, host="pub.example", mode="observe")
    key, text = factories.api_key(account, permissions=["access:check"], allowed_hosts=["other.example"])
    for _ in range(3):
        ask("/premium/a", x_licensing_key="svc_sk_PUT-THE-KEY-HERE")
        ask("/premium/a", x_licensing_key=text)
        assert noted_at(pub) == (clock.now, clock.now, key.pk)
        clock.advance(minutes=2)


def test_a_trusted_proxy_with_an_unknown_key_is_noted_at_the_only_site_of_the_host(ask, account, other_account, clock):
    pub = factories.site(account, host="pub.example")
    ours, theirs = (factories.site(one, host="both.example") for one in (account, other_account))
    for number, text in enumerate(("svc_sk_PUT-THE-KEY-HERE", factories.key_text(account)[:-1] + "0"), 1):
        ask("/premium/a", x_licensing_key=text, peer="203.0.113.50")
        assert noted_at(pub)[1] != clock.now
        ask("/premium/a", x_licensing_key=text, x_forwarded_host="both.example")
        ask("/premium/a", x_licensing_key=text)
        assert (number, noted_at(pub)[1:]) == (number, (clock.now, None))
        clock.advance(minutes=2)
    assert noted_at(ours) == noted_at(theirs) == (None, None, None)
    revoked = factories.key_text(account, name="revoked")
    revoke_api_key(ApiKey.objects.get(name="revoked"))
    ask("/premium/a", x_licensing_key=revoked)
    assert noted_at(pub)[1] < clock.now
