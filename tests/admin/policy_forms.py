"""Forms of policies in the admin."""

from django.urls import reverse

from operators.base.links import change_url
from tests.admin.forms import form_values, submit

ADD, LIST = reverse("admin:licensing_policy_add"), reverse("admin:licensing_policy_changelist")


def html_of(reply):
    assert reply.status_code == 200
    return reply.content.decode().replace("&#x27;", "'")


def save(client, policy, **fields):
    """Submit the form with these fields."""
    return submit(client, change_url(policy), **{"_save": "Save", **fields})


def confirm(client, reply):
    """Press "Yes, save it" on the confirmation page."""
    html = html_of(reply)
    assert "Yes, save it" in html
    return client.post(reply.request["PATH_INFO"], {**form_values(html), "_save": "1"})


def press(client, policy, button, **fields):
    return html_of(submit(client, change_url(policy), _edit=button, **fields))
