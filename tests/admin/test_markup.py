from kit.rest.resources import unknown
from operators.base.refusals import translate_message
from tests.admin.markup import markup_in


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


def test_a_message_of_the_api_says_customer_where_the_api_says_requester():
    nordlicht = "There is no policy 'Nordlicht'. An id begins with pol_. It is in the address of its page."
    for message, shown in (
        ("There is no requester 'requester 7'.", "There is no customer 'requester 7'."),
        ("A requester's licences, of requesterId.", "A customer's licences, of requesterId."),
        ("Requesters come from POST /v1/requesters.", "Customers come from POST /v1/requesters."),
        (unknown("pol", "Nordlicht"), nordlicht),
    ):
        assert translate_message(message) == shown, message
