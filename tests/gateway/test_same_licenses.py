"""Every test of the check's view holds for the gateway too: it is collected here again, with the gateway's client."""

from tests.endpoints.test_access_licenses import *  # noqa: F403
from tests.endpoints.test_license_update import test_a_check_follows_every_step_of_a_licences_life  # noqa: F401
