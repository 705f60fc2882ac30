"""Read a page's form as a browser would send it, and submit it with changed fields."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from django.urls import reverse


class FormReader(HTMLParser):
    """Collect the field values of every form on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self.select = ""
        self.textarea = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name = given.get("name") or ""
        if tag == "input" and name and given.get("type") not in ("submit", "button"):
            ticked = given.get("type") in ("checkbox", "radio")
            value = given.get("value") or ("on" if ticked else "")
            if given.get("type") != "hidden":
                value = value.replace("\r", "").replace("\n", "")  # a field of one line has none
            if not ticked or "checked" in given:
                self.values.setdefault(name, []).append(value)
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and "selected" in given:
            self.values.setdefault(self.select, []).append(given.get("value") or "")
        elif tag == "textarea" and name:
            self.textarea = name
            self.values.setdefault(name, [""])

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.values[self.textarea] = [self.values[self.textarea][0] + data.strip("\r\n")]

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.textarea = ""


def form_values(html: str) -> dict[str, list[str]]:
    reader = FormReader()
    reader.feed(html)
    return reader.values


def html_of(client: Any, address: str, **query: Any) -> str:
    reply = client.get(address, query)
    assert reply.status_code == 200, (reply.status_code, reply.headers.get("Location"))
    return reply.content.decode()


def submit(client: Any, address: str, **fields: Any) -> Any:
    """Open the page, fill in the fields and submit its form; return the reply."""
    return open_form(client, address)(**fields)


def open_form(client: Any, address: str) -> Callable[..., Any]:
    """Open the page; return a function that fills in its form and submits it, each time as it was opened."""
    values = form_values(html_of(client, address))
    return lambda **fields: client.post(address, as_sent({**values, **fields}))


def confirmed(client: Any, reply: Any) -> Any:
    """Submit the confirmation page in `reply` and return the next reply."""
    assert reply.status_code == 200
    values = form_values(reply.content.decode())
    assert values["confirmed"] == ["1"]
    query = reply.request["QUERY_STRING"]
    address = f"{reply.request['PATH_INFO']}?{query}" if query else reply.request["PATH_INFO"]
    return client.post(address, {**values, "_save": "1"})


def as_sent(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with CRLF line ends, as browsers send them."""

    def crlf(value: Any) -> Any:
        return re.sub(r"\r\n|\r|\n", "\r\n", value) if isinstance(value, str) else value

    return {
        name: [crlf(one) for one in value] if isinstance(value, list) else crlf(value)
        for name, value in fields.items()
    }


def top_up(client: Any, requester: Any, **fields: Any) -> Any:
    """Top up a customer's credit by its form, and confirm it unless the form is refused. Return the last reply."""
    reply = submit(client, reverse("admin:licensing_requester_top_up", args=[requester.pk]), **fields)
    return confirmed(client, reply) if "confirmed" in form_values(reply.content.decode()) else reply
