import re
from typing import Any
from uuid import uuid4

import httpx
import pytest
from content_access_licensing.license_tokens import InvalidLicenseToken, LicenseTokenVerifier

from tests.clients.node_scripts import told_by
from tests.clients.sites import compiled
from tests.documentation.blocks import block
from tests.openapi.node import needs_node
from tests.served import Service

LICENSED = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
COVERED = ("https://{host}/premium", "https://{host}/premium/", "http://{host}:8080/premium/a%20b?x=1",
           "https://{HOST}./premium/a/b.html")  # fmt: skip
OTHERS = (
    "https://{host}/", "https://{host}/premium-evil", "https://{host}/premium/../other",
    "https://{host}/premium/%2e%2e/other", "https://{host}/premium/..%2Fother",
    "https://{host}/premium/%252e%252e/other", "https://{host}/premium/..;/other", "https://{host}/premium/..\\other",
    "https://{host}//premium/a", "https://other.example/premium/a", "ftp://{host}/premium/a", "/premium/a",
)  # fmt: skip
OTHER_PAGES, OTHER_ACCOUNT = "The token is for other pages.", "The token is of another account of this service."


@pytest.fixture
def host() -> str:
    return f"{uuid4().hex}.example"


@pytest.fixture
def token(service: Service, host: str) -> str:
    """A token for the pages below /premium/ of the host, whose requester is org_acme."""
    api = httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {service.key}"}, trust_env=False)

    def create(path: str, **body: Any) -> Any:
        return api.post(f"/v1/{path}", json=body).raise_for_status().json()

    policy = create("policies", name="Licensed", rules=[LICENSED])["id"]
    create("sites", host=host, rules=[{"pattern": "/premium/*", "policyId": policy}])
    create("licenses", requesterId="org_acme", licenseType="commercial")
    client = create("license-clients", requesterId="org_acme")
    terms = httpx.get(f"{service.url}/license.xml", headers={"Host": host}, trust_env=False).raise_for_status()
    [inner] = re.findall("<license>(.*?)</license>", terms.text)
    form = {
        "grant_type": "client_credentials",
        "resource": f"https://{host}/premium/*",
        "license": f'<license xmlns="https://rslstandard.org/rsl">{inner}</license>',
        "client_id": client["id"],
        "client_secret": client["secret"],
    }
    return httpx.post(f"{service.url}/olp/token", data=form, trust_env=False).raise_for_status().json()["access_token"]


def urls_at(host: str, urls: tuple[str, ...]) -> list[str]:
    return [url.format(host=host, HOST=host.upper()) for url in urls]


def verifier_of(service: Service, account: str) -> LicenseTokenVerifier:
    return LicenseTokenVerifier(f"{service.url}/", account, http=httpx.Client(trust_env=False))


def test_a_token_of_the_account_for_the_page_is_verified_in_python(service, host, token):
    verifier = verifier_of(service, service.account)
    for url in urls_at(host, COVERED):
        assert verifier.verify(token, url=url)["sub"] == "org_acme"
    for url in urls_at(host, OTHERS):
        with pytest.raises(InvalidLicenseToken, match=OTHER_PAGES):
            verifier.verify(token, url=url)
    with pytest.raises(InvalidLicenseToken, match=OTHER_ACCOUNT):
        verifier_of(service, "acc_01kd9w7h3n5q8t1v4x6z9b2d0f").verify(token, url=urls_at(host, COVERED)[0])
    for forged in (f"{token[:-8]}AAAAAAAA", "Bearer", ""):
        with pytest.raises(InvalidLicenseToken):
            verifier.verify(forged, url=urls_at(host, COVERED)[0])
    verifier.issuer = "https://elsewhere.example"
    with pytest.raises(InvalidLicenseToken, match="issuer"):
        verifier.verify(token, url=urls_at(host, COVERED)[0])


def test_the_guide_verifies_a_token(service, host, token, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    printed = block("docs/guides/clients.md", "from content_access_licensing.license_tokens")
    for shown, own in (("https://licensing.example", service.url), ("https://pub.example", f"https://{host}")):
        printed = printed.replace(shown, own)
    names = {"token": token}
    exec(re.sub(r"acc_\w{26}", service.account, printed), names)  # noqa: S102
    with pytest.raises(InvalidLicenseToken, match=OTHER_ACCOUNT):
        exec(printed, names)  # noqa: S102


@needs_node
def test_a_token_of_the_account_for_the_page_is_verified_in_typescript(service, host, token):
    urls = urls_at(host, COVERED + OTHERS)
    assert told_by("license_tokens.mjs", compiled(), service.url, service.account, token, *urls) == {
        "urls": ["org_acme"] * len(COVERED) + [OTHER_PAGES] * len(OTHERS),
        "account": OTHER_ACCOUNT,
        "issuer": "The token is of another service.",
        "forged": "The signature does not match.",
    }
