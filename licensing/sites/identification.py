"""How a visitor was identified."""

from enum import StrEnum


class Identification(StrEnum):
    """How a visitor was identified, as recorded with decisions; the most reliable first."""

    LICENSE_TOKEN = "license_token"  # noqa: S105 - a name, no secret
    SIGNATURE = "signature"
    ADDRESS = "address"
    REVERSE_DNS = "reverse_dns"
    API_KEY = "api_key"
    SITE = "site"
    USER_AGENT = "user_agent"
    NOTHING = "nothing"

    @property
    def words(self) -> str:
        return WORDS[self]

    @property
    def verifies(self) -> bool:
        """Whether it proves the identity, unlike a mere claim."""
        return self not in (Identification.USER_AGENT, Identification.NOTHING)


WORDS = {
    Identification.LICENSE_TOKEN: "licence token",
    Identification.SIGNATURE: "signature (Web Bot Auth)",
    Identification.ADDRESS: "published address",
    Identification.REVERSE_DNS: "reverse DNS",
    Identification.API_KEY: "API key",
    Identification.SITE: "the site's own code",
    Identification.USER_AGENT: "User-Agent alone",
    Identification.NOTHING: "nothing",
}
