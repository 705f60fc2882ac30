"""Shared helpers of the licence server tests."""

from base64 import b64encode
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import jwt
from django.test import Client

FORM = "application/x-www-form-urlencoded"
RSL = "{https://rslstandard.org/rsl}"


def basic(client_id, secret):
    return f"Basic {b64encode(f'{client_id}:{secret}'.encode()).decode()}"


def published(pattern="/premium/*", host="pub.example", key=None):
    """Return the licence in /license.xml for a pattern, and the licence server's URL."""
    headers = {"Host": host} if key is None else {"Host": host, "X-Licensing-Key": key}
    root = ElementTree.fromstring(Client().get("/license.xml", headers=headers).content)  # noqa: S314
    [content] = [one for one in root if one.attrib["url"] == f"https://{host}{pattern}"]
    return ElementTree.tostring(content.find(f"{RSL}license"), encoding="unicode"), content.attrib.get("server")


def ask_token(client, secret, **fields):
    """Request a token from the licence server. A field that is None is not sent."""
    given = {
        "grant_type": "client_credentials",
        "resource": "https://pub.example/premium/*",
        **({} if "license" in fields else {"license": published()[0]}),
        **fields,
    }
    sent = {name: value for name, value in given.items() if value is not None}
    return Client().post(
        "/olp/token", urlencode(sent), content_type=FORM, headers={"Authorization": basic(client.pk, secret)}
    )


def introspect(authorization, **fields):
    return Client().post(
        "/olp/introspect", urlencode(fields), content_type=FORM, headers={"Authorization": authorization}
    )


def claims_of(token: str) -> dict[str, Any]:
    """Return a token's claims, verified with the published keys."""
    keys = {one["kid"]: one for one in Client().get("/.well-known/jwks.json/platform").json()["keys"]}
    key = jwt.PyJWK(keys[jwt.get_unverified_header(token)["kid"]])
    return jwt.decode(token, key, algorithms=["ES256"], options={"verify_aud": False})
