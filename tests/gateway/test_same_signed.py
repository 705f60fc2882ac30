"""Every test of signed decisions holds for the gateway too."""

from tests.endpoints.test_access_signed import *  # noqa: F403
