"""The pages of the portal. They work without the admin, and need no script."""

from collections.abc import Callable
from functools import wraps

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from analytics.ledger.due import book_due
from analytics.models import Statement, Wallet
from analytics.statements.printing import print_statements
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import in_units
from kit.http.content_security import content_security_policy
from kit.values import ids
from kit.values.currencies import in_full
from licensing.licenses.models import License
from licensing.portal import services
from licensing.portal.models import PortalSession
from licensing.portal.serializers import LICENSES, STATEMENTS, WALLETS

COOKIE = "portal_session"
PATH = "/portal/"
MAX_LICENSES = 100
MAX_STATEMENTS = 60
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": content_security_policy(),
    "Referrer-Policy": "no-referrer",  # the address of a link is a secret
    "X-Robots-Tag": "noindex",
}
Page = Callable[..., HttpResponse]


def with_headers(view: Page) -> Page:
    """Let no cache, frame, search engine or other site have the page."""

    @csrf_exempt  # a link's token is in its address, and the cookie is not sent with forms of other sites
    @wraps(view)
    def guarded(request: HttpRequest, **arguments: str) -> HttpResponse:
        response = view(request, **arguments)
        for name, value in HEADERS.items():
            response[name] = value
        return response

    return guarded


def in_session(view: Page) -> Page:
    """Give the view its session; without one, say that it has ended."""

    @wraps(view)
    def with_session(request: HttpRequest, **arguments: str) -> HttpResponse:
        session = services.find_session(request.COOKIES.get(COOKIE, ""), is_redeemed=True)
        if session is None:
            return expired_page(request)
        return view(request, session, **arguments)

    return with_session


def expired_page(request: HttpRequest, status: int = 403, return_url: str | None = None) -> HttpResponse:
    return render(request, "licensing/portal_ended.html", {"return_url": return_url}, status=status)


@with_headers
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Ask with a button, because mail scanners open links too; a POST begins the session."""
    session = services.find_session(token, is_redeemed=False)
    if session is None:
        return expired_page(request)
    if request.method != "POST":
        return render(request, "licensing/portal_link.html", {"session": session})
    cookie = services.redeem(session)
    if cookie is None:
        return expired_page(request)
    response = redirect("portal")
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=services.SESSION_LIFETIME,
        path=PATH,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


@with_headers
@require_http_methods(["GET", "HEAD"])
@in_session
def overview(request: HttpRequest, session: PortalSession) -> HttpResponse:
    """Show what the session's scopes include."""
    now = timezone.now()
    book_due(session.account_id)
    context: dict[str, object] = {"session": session, "zone": session.account.zone}
    if LICENSES in session.scopes:
        licenses = License.objects.filter(requester=session.requester).order_by("-starts_at", "-pk")[:MAX_LICENSES]
        context["licenses"] = [
            {"license": one, "state": one.state(now), "prices": prices_in_full(one)} for one in licenses
        ]
    if WALLETS in session.scopes:
        wallets = Wallet.objects.filter(requester=session.requester).order_by("created", "pk")
        context["wallets"] = [
            {"wallet": book.wallet, "available": in_units(book.wallet.available, book.wallet.unit)}
            for book in as_of(wallets, now)
        ]
    if STATEMENTS in session.scopes:
        newest = statement_rows(session).order_by("-month", "currency")[:MAX_STATEMENTS]
        context["statements"] = [
            {"statement": one, "closing": in_units(one.closing_balance, one.currency)} for one in newest
        ]
    return render(request, "licensing/portal.html", context)


@with_headers
@require_http_methods(["GET", "HEAD"])
@in_session
def statement(request: HttpRequest, session: PortalSession, id: str) -> HttpResponse:
    """Show one of the requester's own statements, to read and to print."""
    if STATEMENTS not in session.scopes or ids.decode("stm", id) is None:
        raise Http404
    book_due(session.account_id)
    row = statement_rows(session).filter(pk=id).select_related("account", "requester").first()
    if row is None:
        raise Http404
    return print_statements(request, [row], PATH, "Back")


@with_headers
@require_http_methods(["POST"])
@in_session
def end(request: HttpRequest, session: PortalSession) -> HttpResponse:
    return_url = session.return_url
    session.delete()
    response = expired_page(request, 200, return_url)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def statement_rows(session: PortalSession) -> QuerySet[Statement]:
    return Statement.objects.filter(account=session.account_id, requester=session.requester)


def prices_in_full(license_: License) -> list[str]:
    prices = []
    if license_.price_amount is not None and license_.price_currency:
        prices.append(in_full(license_.price_amount, license_.price_currency))
    if license_.fee_amount is not None and license_.fee_currency:
        prices.append(f"{in_full(license_.fee_amount, license_.fee_currency)} every {license_.fee_every}")
    if license_.access_amount is not None and license_.access_currency:
        prices.append(f"{in_full(license_.access_amount, license_.access_currency)} for each access")
    return prices
