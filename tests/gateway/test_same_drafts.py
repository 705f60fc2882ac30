"""Every test of the check's view holds for the gateway too: it is collected here again, with the gateway's client."""

from tests.endpoints.test_access_drafts import *  # noqa: F403
