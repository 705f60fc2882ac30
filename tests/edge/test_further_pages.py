"""A page that shows the text of others, such as a post's feed: the site's own code names them in X-Licensing-Also."""

import pytest

from analytics.models import AccessEvent, LedgerEntry
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told

POST, FEED = "https://pub.example/news/a", "https://pub.example/feed/a"
PRICED = {**READERS, "pricePerAccess": {"amount": "0.25", "currency": "USD"}}
LIMITS = (50, "day"), (1, "month")


@pytest.fixture
def pages(account):
    """Create pub.example with one policy for its posts, and one for their feeds."""

    def create(post, feed, **fields):
        rules = {"/news/": factories.policy(account, post), "/feed/": factories.policy(account, feed)}
        return factories.site(account, rules, host="pub.example", **fields)

    return create


def test_each_of_the_pages_must_be_allowed_and_the_denied_one_is_recorded(question, pages):
    pages(READERS, LICENSED)
    assert told(question("/news/a")) == (200, "allow", None)
    for named, others in (("/news/a", FEED), ("/feed/a", POST), ("/news/a", f"{POST} {FEED}")):
        reply = question(named, x_licensing_also=others)
        assert (*told(reply), event(reply).facts["url"]) == (402, "deny", "no_license", FEED)


def test_a_visit_of_several_pages_is_one_decision_and_one_charge(question, account, pages):
    pages(PRICED, PRICED)
    factories.requester(account, requester_id="user_1")
    factories.wallet(account, requester_id="user_1")
    payment = {"x_licensing_requester": "user_1", "crawler_max_price": "USD 1"}
    reply = question("/news/a", x_licensing_also=FEED, **payment)
    assert (reply.headers["crawler-charged"], event(reply).facts["url"]) == ("USD 0.25", POST)
    assert (AccessEvent.objects.count(), LedgerEntry.objects.filter(type="usage").count()) == (1, 1)


def test_a_limit_beside_a_price_does_not_save_the_price(question, ask, account, pages):
    """Neither where a page shows another one, nor where origins read one URL differently."""
    pages(PRICED, {**READERS, "rateLimit": {"requests": 5, "period": "month"}})
    factories.requester(account, requester_id="user_1")
    factories.wallet(account, requester_id="user_1")
    payment = {"x_licensing_requester": "user_1", "crawler_max_price": "USD 1"}
    named = [("/news/a", FEED), ("/feed/a", POST), ("/feed/..;/news/a", None), ("/feed/..%2fnews/a", None)]
    for page, further in named:
        also = {} if further is None else {"x_licensing_also": further}
        reply = question(page, **also, **payment)
        assert (page, reply.status, reply.headers.get("crawler-charged")) == (page, 200, "USD 0.25")


def test_a_quota_is_used_up_by_a_page_that_shows_what_it_opens(question, account, pages):
    pages(LICENSED, {**READERS, "conditions": {"permission": ["read"]}})
    held = factories.license(account, "user_1")
    factories.wallet(account, "access", 1, requester_id=held.requester.requester_id)
    named = [("/feed/..;/news/a", None), ("/feed/..;/news/b", None), ("/feed/a", POST)]
    for (page, further), status in zip(named, (200, 402, 402), strict=True):
        also = {} if further is None else {"x_licensing_also": further}
        assert (page, question(page, x_licensing_requester="user_1", **also).status) == (page, status)


def test_the_smaller_limit_and_the_higher_price_count(question, account, pages):
    pages(*({**READERS, "rateLimit": {"requests": number, "period": period}} for number, period in LIMITS))
    assert [question(page, x_licensing_also=FEED).status for page in ("/news/a", "/news/a")] == [200, 429]


def test_what_is_refused_opens_beside_nothing_that_is_only_observed(question, account, pages):
    pages(LICENSED, LICENSED)
    policy = factories.policy(account, LICENSED)
    closed = factories.content(account, policy_id=policy.pk, source="https://none.example/closed")
    for further in ([closed.source], [closed.source, "https://none.example/y"]):
        page = {"x_licensing_url": "https://none.example/x", "x_licensing_also": " ".join(further)}
        assert question("/x", **page).status == 402


def test_a_policy_that_is_tried_out_opens_no_page_of_another_one(question, account):
    closed, tried = factories.policy(account, LICENSED), factories.policy(account, LICENSED, mode="observe")
    factories.site(account, {"/closed/": closed, "/trial/": tried}, host="pub.example")
    named = ("/trial/a", "/closed/a", "/trial/..;/closed/a", "/closed/..;/trial/a", "/trial/%252e%252e/closed/a")
    assert [question(page).status for page in named] == [200, 402, 402, 402, 402]


def test_a_visit_of_several_pages_uses_up_one_access_of_a_limit(question, pages):
    metered = {**READERS, "rateLimit": {"requests": 2, "period": "day"}}
    pages(metered, metered)
    assert [question("/news/a", x_licensing_also=FEED).status for _ in range(3)] == [200, 200, 429]


def test_the_limit_of_a_further_page_counts_where_the_page_itself_has_none(question, pages):
    pages(READERS, {**READERS, "rateLimit": {"requests": 1, "period": "day"}})
    assert [question("/news/a", x_licensing_also=FEED).status for _ in range(2)] == [200, 429]


def test_a_site_that_observes_records_the_page_that_it_would_refuse(question, pages):
    pages(READERS, LICENSED, mode="observe")
    reply = question("/news/a", x_licensing_also=FEED)
    assert (*told(reply), event(reply).facts["url"]) == (200, "allow", None, FEED)


def test_a_free_path_beside_another_page_is_decided(question, pages):
    pages(READERS, LICENSED)
    assert question("/robots.txt", x_licensing_also=FEED).status == 402


def test_a_page_of_another_host_and_too_many_pages_are_400(question, pages):
    pages(READERS, READERS)
    wrong = ["https://other.example/a", "https://pub.example.evil/a", "/feed/a", " ".join([FEED] * 101)]
    for others in wrong:
        assert question("/news/a", x_licensing_also=others).status_and_param == (400, "X-Licensing-Also")
    assert question("/news/a", x_licensing_also=[FEED, FEED]).status_and_param == (400, "x-licensing-also")


def test_proxies_name_no_further_pages(ask, pages):
    pages(READERS, LICENSED)
    assert ask("/news/a", x_licensing_also=FEED).status == 200
