import sys

from tests.clients.generate import PYTHON

sys.path.insert(0, str(PYTHON.parent))  # the client, which is not installed
