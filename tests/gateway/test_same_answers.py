"""Every test of the check's view holds for the gateway too: they are collected here again, with its client."""

# ruff: noqa: F403
from tests.endpoints.test_access_batch import *
from tests.endpoints.test_access_check import *
from tests.endpoints.test_access_drafts import *
from tests.endpoints.test_access_licenses import *
from tests.endpoints.test_access_rate_limits import *
from tests.endpoints.test_access_reasons import *
from tests.endpoints.test_license_update import test_a_check_follows_every_step_of_a_licences_life  # noqa: F401
