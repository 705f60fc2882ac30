"""The cards at the top of the overview."""

import html
import re

from django.urls import reverse

INDEX = reverse("admin:index")


def card(client, name, **query):
    """Return the HTML of a headline card."""
    reply = client.get(INDEX, query)
    assert reply.status_code == 200
    return re.search(rf'<h2 id="{name}-title">(.*?)</section>', reply.content.decode(), re.S).group(1)


def links(shown):
    """Return link addresses by link text."""
    found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>([^<]*)</a>', shown)
    return {html.unescape(text).strip(): html.unescape(address) for address, text in found}


def listed(client, address):
    reply = client.get(address)
    assert reply.status_code == 200
    return list(reply.context["cl"].result_list)
