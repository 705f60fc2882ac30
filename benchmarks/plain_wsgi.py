"""The straightforward version (benchmarks/plain_check.py) in threads, for uvicorn."""

import os
from typing import Any

from a2wsgi import WSGIMiddleware
from django.core.wsgi import get_wsgi_application

wsgi: Any = get_wsgi_application()
application = WSGIMiddleware(wsgi, workers=int(os.environ.get("THREADS", "16")))
