import re

from kit.rest.resources import unknown
from operators.base.refusals import translate_message
from operators.catalogue.uploads import LARGER_FILES
from tests.admin.every_page import addresses, fill
from tests.admin.markup import markup_in, words_of


def test_only_markup_that_a_page_shows_is_found():
    for html in (
        '<a aria-label="Refund 5, <time datetime="2026-11-28">13:58</time>">Refund</a>',
        "<dd>&lt;time datetime=&quot;2026-11-28&quot;&gt;</dd>",
        "<p>Fish &amp;amp; chips</p>",
        "<p>{{ price }}</p>",
        '<p title="{% url %}"></p>',
    ):
        assert markup_in(html) != []
    assert markup_in('<p title="1 &lt; 2">Fish &amp; chips</p><script>"<time>"</script><pre>{% if %}</pre>') == []


REQUESTER = re.compile(r".{0,40}\brequesters?\b(?!\.\w).{0,40}", re.IGNORECASE)  # not `requester.created`


def test_no_page_shows_its_own_markup_or_says_requester_and_all_that_take_files_may_get_large_ones(
    admin, api, account
):
    fill(api, account)
    shown, take_files = {}, set()
    for name, address in addresses():
        reply = admin.get(address)
        if reply.status_code == 200 and "text/html" in reply.headers["Content-Type"]:
            html = reply.content.decode()
            shown[name] = markup_in(html), REQUESTER.findall(words_of(html))
            if 'type="file"' in html:
                take_files.add(f"admin:{name}")
    assert {name: found for name, found in shown.items() if found != ([], [])} == {}
    assert "licensing_requester_refund" in shown
    assert len(shown) > 50
    assert take_files == set(LARGER_FILES)


def test_a_message_of_the_api_says_customer_where_the_api_says_requester():
    nordlicht = "There is no policy 'Nordlicht'. An id begins with pol_. It is in the address of its page."
    for message, shown in (
        ("There is no requester 'requester 7'.", "There is no customer 'requester 7'."),
        ("A requester's licences, of requesterId.", "A customer's licences, of requesterId."),
        ("Requesters come from POST /v1/requesters.", "Customers come from POST /v1/requesters."),
        (unknown("pol", "Nordlicht"), nordlicht),
    ):
        assert translate_message(message) == shown, message
