"""A Django middleware that asks the licensing service about each request before the view runs (docs/edge.md).

    MIDDLEWARE = ["django_middleware.AccessMiddleware", …]
    LICENSING = {"url": "https://licensing.example", "key": "svc_sk_…", "open_paths": r""}

`open_paths` is a regular expression of the pages that stay open while the service cannot be reached. Name only pages
that everybody may read, for example r"/(about|open(/[\\w-][\\w.-]*)*)/?" for /about and everything below /open/.
The service's TRUSTED_PROXIES has to include this server. Needs httpx.
"""

import re

import httpx
from django.conf import settings
from django.http import HttpResponse

SENT = ("authorization", "user-agent", "signature", "signature-input", "signature-agent", "crawler-exact-price",
        "crawler-max-price")  # fmt: skip
SHOWN = ("link", "www-authenticate", "retry-after", "crawler-price", "crawler-error", "crawler-charged")


class AccessMiddleware:
    client = None  # tests put their own here

    def __init__(self, get_response):
        self.get_response = get_response
        self.options = settings.LICENSING
        self.client = self.client or httpx.Client(base_url=self.options["url"], timeout=2)

    def __call__(self, request):
        for name in [name for name in request.META if name.startswith(("HTTP_X_ACCESS_", "HTTP_X_LICENSING_"))]:
            del request.META[name]  # nobody but the service says these
        request.__dict__.pop("headers", None)  # which Django keeps once they were looked at
        try:
            answer = self.client.get("/v1/access/forward", headers=self.asked(request))
        except httpx.TransportError:
            answer = None
        if answer is None or answer.status_code >= 500:
            if re.fullmatch(self.options.get("open_paths", ""), request.path) is not None:
                return self.get_response(request)
            return HttpResponse("Access could not be checked.", status=503, content_type="text/plain")
        shown = {name: answer.headers[name] for name in SHOWN if name in answer.headers}
        if answer.status_code != 200:
            kind = answer.headers.get("content-type", "text/plain")
            return HttpResponse(answer.content, status=answer.status_code, content_type=kind, headers=shown)
        request.META["HTTP_X_ACCESS_REQUESTER"] = answer.headers.get("x-access-requester", "")
        request.__dict__.pop("headers", None)
        response = self.get_response(request)
        for name, value in shown.items():
            response.headers.setdefault(name, value)
        return response

    def asked(self, request):
        sent = {name: request.headers[name] for name in SENT if name in request.headers}
        return (
            {"user-agent": ""}
            | sent
            | {
                "X-Licensing-Key": self.options["key"],
                "X-Forwarded-Method": request.method,
                "X-Forwarded-Proto": request.scheme,
                "X-Forwarded-Host": request.get_host(),
                "X-Forwarded-Uri": request.get_full_path(),
                "X-Forwarded-For": request.META["REMOTE_ADDR"],
            }
        )
