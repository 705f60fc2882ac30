"""The tests of modes, with the checks answered on the event loop."""

from tests.endpoints.test_policy_modes import *  # noqa: F403
