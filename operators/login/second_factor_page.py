"""The page where operators set up or turn off their second factor and renew recovery codes."""

import logging
from typing import TypedDict

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from accounts.models import Authenticator
from operators.base.mixins import StyledForm
from operators.base.requests import signed_in
from operators.login import second_factor, totp
from operators.login.limits import answer_too_many, seconds_to_wait_inside, too_many
from operators.login.session_store import SECOND_FACTOR

logger = logging.getLogger(__name__)

SALT, TICKET_SECONDS = "operators.login.second_factor", 3600


class CodeForm(StyledForm, forms.Form):
    """The code, and a `ticket` with the secret in the QR code until it is confirmed."""

    code = forms.CharField(
        max_length=40,
        label="Code",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false"}),
    )
    ticket = forms.CharField(required=False, widget=forms.HiddenInput)


def second_factor_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    user = signed_in(request)
    authenticator = Authenticator.objects.filter(user=user).first()
    form = CodeForm(request.POST or None)
    codes = None
    if request.method == "POST" and form.is_valid():
        wait = seconds_to_wait_inside(user)
        if wait is not None:
            logger.warning("Two-factor code of %r refused: too many attempts", user.get_username())
            form.add_error("code", too_many(wait))
        elif authenticator is None:
            codes = set_up(request, form)
        elif not second_factor.accepts(user, form.cleaned_data["code"]):
            form.add_error("code", "This code is wrong, expired or already used.")
        elif "turn_off" in request.POST and not settings.ADMIN_REQUIRE_TOTP:
            second_factor.turn_off(user)
            messages.success(request, "Two-factor login is off.")
            return HttpResponseRedirect(reverse("admin:second_factor"))
        else:
            codes = second_factor.new_recovery_codes(user)
    context = {
        **site.each_context(request),
        "title": "Two-factor login",
        "authenticator": authenticator,
        "form": form,
        "codes": codes,
        "required": settings.ADMIN_REQUIRE_TOTP,
        "unused": second_factor.unused_codes(user).count() if authenticator else 0,
    }
    if authenticator is None and codes is None:
        context |= {**offer(user, form)}
    return answer_too_many(TemplateResponse(request, "operators/second_factor.html", context), form)


class Offer(TypedDict):
    ticket: str
    secret: str
    qr: SafeString  # as SVG


def offer(user: User, form: CodeForm) -> Offer:
    """Return a secret to set up: the submitted form's, or a new one."""
    secret = pending_secret(user, form.data.get("ticket", "")) or totp.new_secret()
    code = segno.make(totp.address(secret, user.get_username(), str(settings.UNFOLD["SITE_TITLE"])), error="m")
    return {
        "ticket": signing.dumps([user.pk, totp.as_text(secret)], salt=SALT),
        "secret": totp.as_text(secret),
        # Generated here from the address only; black on white even in the dark theme.
        "qr": mark_safe(code.svg_inline(scale=5, border=3, light="#fff")),  # noqa: S308
    }


def pending_secret(user: User, ticket: str) -> bytes | None:
    try:
        owner, text = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except signing.BadSignature:
        return None
    return totp.from_text(text) if owner == user.pk else None


def set_up(request: HttpRequest, form: CodeForm) -> list[str] | None:
    user = signed_in(request)
    secret = pending_secret(user, form.cleaned_data["ticket"])
    if secret is None:
        form.add_error(None, "This page has expired. Scan the new code.")
        return None
    code = form.cleaned_data["code"].replace(" ", "")
    codes = second_factor.set_up(user, secret, code, session_key=request.session.session_key)
    if codes is None:
        form.add_error("code", "This code is wrong. Check the clock of your phone.")
        return None
    request.session.cycle_key()
    request.session[SECOND_FACTOR] = True
    return codes
