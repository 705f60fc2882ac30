"""The middleware's request to the service and the meaning of the reply, without I/O."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from urllib.parse import quote

import httpx

from content_access_licensing.pause import PAUSE, Pause
from content_access_licensing.protocol import checked_key

PATH = "/v1/access/middleware"
LOG_SECONDS = 60.0  # in which the same reason is logged once
SENT = (
    *("accept", "authorization", "user-agent", "referer", "signature", "signature-input", "signature-agent"),
    *("crawler-exact-price", "crawler-max-price"),
)
VISITOR_COOKIE = "licensing_visitor"  # of rate limits per visitor
IN_COOKIES = re.compile(rf"(?:^|[;,])\s*{VISITOR_COOKIE}=([^;,\s]*)")
READ = (*SENT, "cookie")  # of cookies, only VISITOR_COOKIE is sent
SHOWN = (
    *("link", "www-authenticate", "retry-after", "crawler-price", "crawler-error", "crawler-charged"),
    *("accept-signature", "content-usage", "tdm-reservation", "tdm-policy"),
)
CACHE = "x-access-cache"  # Cache-Control of a page that no shared cache may keep
FACTS = ("x-access-decision", "x-access-requester")
FORGEABLE = re.compile(r"x[-_](access|licensing)[-_]", re.IGNORECASE)  # these are removed from visitors' requests
MODE = "x-access-mode"  # in replies about a site that refuses nobody
CAUSED_BY_VISIT = (400, 413, 414, 431)  # answers to a request that is malformed or too large
MAX_HOSTS = 1_000  # whose mode is remembered; visitors can make them up
MAX_HEADER, MAX_HEADERS = 8 * 1024, 32 * 1024  # characters of one header, and of all; the service accepts more
DOUBTFUL = re.compile(r"[%;\\]|//|/\.|^[^/]")  # paths that the site may read differently from `fail_open`
ASSET = re.compile(
    r"/(assets|static)(/[\w-]+)*/[\w-][\w.-]*\.(css|js|mjs|map|woff2?|ttf|otf|ico|svg|png|jpe?g|gif|webp|avif)",
    re.ASCII,
)
# The service's free paths: crawlers read the terms there, and certificates are renewed. Nobody licenses these files.
FREE = re.compile(
    r"/(ads\.txt|app-ads\.txt|crawlers\.json|favicon\.ico|license\.xml|manifest\.json|robots\.txt|security\.txt"
    r"|(wp-)?sitemap[\w.-]*\.xml|[\w-][\w.-]*-sitemap\.xml|(\.well-known|sitemaps)(/[\w-][\w.-]*)+)",
    re.ASCII,
)
REQUESTER = re.compile(r"(?=.*\S)[^\0\ud800-\udfff]{1,255}", re.DOTALL)  # the ids that the service takes
UNSENDABLE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
IN_PATHS = "/!$&'()*+,;=:@~"
IN_QUERIES = IN_PATHS + "?%"

REFUSAL_PAGE = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>{0}</title>'
    '<body style="font: 1.1em/1.5 sans-serif; margin: 4em auto; max-width: 32em; padding: 0 1em">'
    "<p>{0}</p></body></html>"
)
PathChoice = bool | Callable[[str], bool]
Headers = list[tuple[str, str]]
log = logging.getLogger("content_access_licensing")


@dataclass(frozen=True)
class Visit:
    """A visitor's request. `path` is decoded, as the site serves it; `headers` have lower-case names."""

    method: str
    scheme: str
    host: str
    path: str | bytes
    query: str
    address: str | None
    requester: str | None
    headers: Mapping[str, str]

    @property
    def url(self) -> str:
        query = quote(self.query.encode("latin-1", "replace"), safe=IN_QUERIES)
        path = quote(self.path, safe=IN_PATHS) if isinstance(self.path, bytes) else quote_text(self.path)
        # Servers pass `GET premium/a` on, and some frameworks add the slash; without it, the path extends the host
        slash = "" if path.startswith("/") else "/"
        host = quote(self.host, safe=":[]")  # visitors choose it: a slash would put another page before this one
        return f"{self.scheme}://{host}{slash}{path}{f'?{query}' if query else ''}"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a visit: reply with `status`, or serve the page if it is None.

    Add `headers` to the reply, and `facts` to the request that the site sees.
    """

    status: int | None
    headers: Headers = field(default_factory=list)
    body: bytes = b""
    facts: Headers = field(default_factory=list)


class Paywall:
    """Asks about visits.

    `fail_open` decides while the service decides nothing: True, False, or a function of the path. `skip_assets` names
    the paths that are served without a check: True for those of ASSET, or a function of the path.

    Free paths stay open. After a timeout, the service counts as unreachable for PAUSE seconds, and while it is slow,
    for pages that stay open without it. Pages of a host whose site refused nobody, by the newest reply about it, stay
    open in any case.
    """

    def __init__(self, key: str, fail_open: PathChoice, skip_assets: PathChoice = False) -> None:
        self.key, self.fail_open = checked_key(key), fail_open
        self.skip_assets = is_asset if skip_assets is True else skip_assets
        self.pause = Pause()
        self.open_hosts: set[str] = set()
        self.silent_until: dict[str, float] = {}  # by the reason that was logged, by monotonic()

    def question(self, visit: Visit) -> dict[str, str] | Verdict:
        """Return the headers to send, or a verdict if the service need not or cannot be asked."""
        if is_chosen(self.skip_assets, visit.path):
            return Verdict(None)
        if self.pause.is_on(monotonic(), lambda: self.unreachable(visit).status is None):
            return self.unreachable(visit)
        asked = {"user-agent": "", **{name: visit.headers[name] for name in SENT if name in visit.headers}}
        asked |= {
            "x-licensing-key": self.key,
            "x-licensing-errors": "503",  # a wrong key is an outage, which refuses no reader of open pages
            "x-licensing-method": visit.method,
            "x-licensing-url": visit.url,
            "x-licensing-requester": quote(self.requester_id(visit.requester), safe=""),
            "x-licensing-address": known_address(visit.address),
            "x-licensing-visitor": visitor_of(visit.headers.get("cookie", "")),
        }
        asked = {name: UNSENDABLE.sub(" ", value).strip() for name, value in asked.items()}
        lengths = [len(value) for value in asked.values()]
        return refusal(visit, 431, "The request's headers are too large.") if is_too_large(lengths) else asked

    def requester_id(self, given: str | None) -> str:
        """Return the id that the site names; empty, with a line in the log, if no requester can have it."""
        if not given or REQUESTER.fullmatch(given):
            return given or ""
        text = "`requester` returned no id of up to 255 characters. The visitor counts as unknown."
        self.log_once("requester", text, logging.ERROR)
        return ""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note how long the answer takes."""
        begin = monotonic()
        yield
        now = monotonic()
        if self.pause.note(now, now - begin):
            text = "The licensing service takes over a second. Pages that stay open without it are not asked about."
            self.log_once("slow", text)

    def verdict(self, visit: Visit, answer: httpx.Response | httpx.RequestError) -> Verdict:
        if isinstance(answer, httpx.RequestError) or not is_decision(answer):
            return self.undecided(visit, answer)
        if answer.headers.get("x-access-reason") == "host_not_allowed":
            text = f"The key is not for {visit.host}, so its visitors get 403. Add the host to the key's allowedHosts."
            self.log_once("host", text)
        if "x-access-requester" in answer.headers:  # answers about public files are no decisions
            self.remember(visit.host, refuses_nobody=MODE in answer.headers)
        shown = chosen(answer.headers, SHOWN)
        if answer.is_success:
            shown += new_cookies(answer.headers)
            if CACHE in answer.headers:
                shown.append(("cache-control", answer.headers[CACHE]))
            return Verdict(None, shown, facts=chosen(answer.headers, FACTS))
        kind = answer.headers.get("content-type", "text/plain; charset=utf-8")
        own = [("content-type", kind), ("cache-control", "no-store"), *chosen(answer.headers, ("vary", "x-access-id"))]
        return Verdict(answer.status_code, [*own, *shown], answer.content)

    def undecided(self, visit: Visit, answer: httpx.Response | httpx.RequestError) -> Verdict:
        """Log why the service has not decided, and return the verdict without it."""
        if isinstance(answer, httpx.TimeoutException):
            self.pause.until = monotonic() + PAUSE
        if is_caused_by_visit(answer):
            text = f"The licensing service did not decide about {visit.url}: {in_words(answer)}"
            self.log_once("undecided", text, logging.ERROR)
            return self.unreachable(visit, is_outage=False)
        if is_refusal(answer):
            self.log_once("refused", f"The licensing service refused the site's request: {in_words(answer)}")
        elif isinstance(answer, httpx.RequestError) or answer.is_server_error:
            self.log_once("unreachable", f"The licensing service cannot be reached: {in_words(answer)}")
        else:
            text = f"The URL did not answer as the licensing service: is it right, without /v1? {in_words(answer)}"
            self.log_once("url", text, logging.ERROR)
        return self.unreachable(visit)

    def unreachable(self, visit: Visit, *, is_outage: bool = True) -> Verdict:
        """Return the verdict without the service. No shared cache may keep a page that nobody has decided about.

        `fail_open` opens pages only in an outage: visitors can cause anything else.
        """
        is_chosen_open = is_outage and is_chosen(self.fail_open, visit.path)
        is_open = is_chosen_open or visit.host in self.open_hosts or is_free(visit.path)
        return Verdict(None, [("cache-control", "private")]) if is_open else closed(visit)

    def log_once(self, reason: str, text: str, level: int = logging.WARNING) -> None:
        """Log the text unless its reason was logged in the last LOG_SECONDS."""
        now = monotonic()
        if now >= self.silent_until.get(reason, now):
            self.silent_until[reason] = now + LOG_SECONDS
            log.log(level, "%s", text)

    def remember(self, host: str, *, refuses_nobody: bool) -> None:
        if not refuses_nobody:
            self.open_hosts.discard(host)
            return
        if len(self.open_hosts) >= MAX_HOSTS:
            self.open_hosts.clear()
        self.open_hosts.add(host)


def is_chosen(choice: PathChoice, raw: str | bytes) -> bool:
    if isinstance(choice, bool):
        return choice
    path = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    return not DOUBTFUL.search(path) and choice(path)


def is_free(raw: str | bytes) -> bool:
    """Whether the path is a plain spelling of one of the files that are open to everybody."""
    path = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    return FREE.fullmatch(path) is not None


def is_asset(path: str) -> bool:
    return ASSET.fullmatch(path) is not None


def quote_text(path: str) -> str:
    return quote(path.encode("utf-8", "replace"), safe=IN_PATHS)


def is_too_large(lengths: Iterable[int]) -> bool:
    return max(lengths) > MAX_HEADER or sum(lengths) > MAX_HEADERS


def is_caused_by_visit(answer: httpx.Response | httpx.RequestError) -> bool:
    """Whether the question could not be sent, or was malformed or too large. Visitors can cause this."""
    if isinstance(answer, httpx.Response):
        return answer.status_code in CAUSED_BY_VISIT
    return isinstance(answer, httpx.LocalProtocolError)


def is_refusal(answer: httpx.Response | httpx.RequestError) -> bool:
    """Whether the service is up and refused the middleware's own request, such as for a wrong key."""
    if isinstance(answer, httpx.RequestError) or not answer.is_server_error:
        return False
    try:
        return str(answer.json()["error"]["type"]) != "api_error"
    except (ValueError, LookupError, TypeError):
        return False


def in_words(answer: httpx.Response | httpx.RequestError) -> str:
    return f"{answer.status_code} {answer.text[:300]}" if isinstance(answer, httpx.Response) else repr(answer)


def is_decision(answer: httpx.Response) -> bool:
    """Whether this is a decision about the page, rather than an error or a reply of something else."""
    decision = answer.headers.get("x-access-decision")
    return decision == ("allow" if answer.is_success else "deny") and (answer.is_success or answer.is_client_error)


def chosen(headers: httpx.Headers, names: Iterable[str]) -> Headers:
    return [(name, headers[name]) for name in names if name in headers]


def visitor_of(cookies: str) -> str:
    found = IN_COOKIES.search(cookies)
    return found[1] if found is not None else ""


def new_cookies(headers: httpx.Headers) -> Headers:
    return [("set-cookie", one) for one in headers.get_list("set-cookie") if one.startswith(f"{VISITOR_COOKIE}=")]


def closed(visit: Visit) -> Verdict:
    later = ("retry-after", str(int(PAUSE)))
    return refusal(visit, 503, "Access cannot be checked at the moment. Please try again in a few seconds.", later)


def refusal(visit: Visit, status: int, text: str, *headers: tuple[str, str]) -> Verdict:
    """Refuse the visit without the service: with a page for browsers, with plain text for programs."""
    is_page = "text/html" in visit.headers.get("accept", "")
    kind, body = ("text/html", REFUSAL_PAGE.format(text)) if is_page else ("text/plain", text)
    own = [("content-type", f"{kind}; charset=utf-8"), ("cache-control", "no-store"), ("vary", "Accept")]
    return Verdict(status, [*own, *headers], body.encode())


def known_address(text: str | None) -> str:
    """Return the IP address; empty if it is not one, such as a socket's name."""
    try:
        return str(ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""
