"""The login form: name, password and, with a second factor, its code, in one step with one error message.

Also the form that changes one's own password, with the same rate limit.
"""

import logging

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.widgets import UnfoldAdminTextInputWidget

from kit.values.networks import Address
from operators.login import second_factor
from operators.login.known_browsers import known_browser
from operators.login.limits import seconds_to_wait, seconds_to_wait_inside, too_many
from operators.login.session_store import mark_session

logger = logging.getLogger(__name__)

SECOND_FACTOR_ATTRIBUTE = "second_factor_given"  # attribute of the user who signs in


class LoginForm(AuthenticationForm):
    code = forms.CharField(
        required=False,
        max_length=40,
        label="Code",
        help_text="From your authenticator app, or a recovery code. Leave empty if you have not set one up.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "text", "spellcheck": "false"}),
    )

    def __init__(self, request: HttpRequest | None = None, *args: object, **kwargs: object) -> None:
        super().__init__(request, *args, **kwargs)
        self.fields["code"].widget.attrs["class"] = self.fields["username"].widget.attrs["class"]

    def clean(self) -> dict[str, object]:
        username = self.cleaned_data.get("username", "")
        wait = seconds_to_wait(username, self.address, known_browser(self.request, username))
        if wait is not None:
            logger.warning("Login of %r from %s refused: too many attempts", username[:150], self.address)
            raise too_many(wait)
        return super().clean()

    def confirm_login_allowed(self, user: User) -> None:
        if not (user.is_active and user.is_staff):
            raise self.get_invalid_login_error()
        if second_factor.is_set_up(user):
            if not second_factor.accepts(user, self.cleaned_data.get("code", "")):
                # The same message as for a wrong password, so that guessing never confirms one.
                raise self.get_invalid_login_error()
            setattr(user, SECOND_FACTOR_ATTRIBUTE, True)

    @property
    def address(self) -> Address | None:
        return getattr(self.request, "client_address", None)

    def get_invalid_login_error(self) -> forms.ValidationError:
        logger.warning("Login of %r from %s failed", self.cleaned_data.get("username", "")[:150], self.address)
        return forms.ValidationError(
            "Wrong name, password or code. If you have an authenticator app, enter a code; each works once.",
            code="invalid_login",
        )


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """Requires the old password and any second factor, because someone else may be using an open session.

    The number of attempts is limited.
    """

    def __init__(self, user: User, *args: object, **kwargs: object) -> None:
        super().__init__(user, *args, **kwargs)
        if second_factor.is_set_up(user):
            self.fields["code"] = forms.CharField(
                max_length=40,
                label="Code",
                help_text="From your authenticator app, or a recovery code.",
                widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "one-time-code", "spellcheck": "false"}),
            )

    def clean(self) -> dict[str, object]:
        """Check the code last, so that a form with another error does not use it up."""
        cleaned = super().clean() or self.cleaned_data
        if "code" in self.fields and not self.errors and not second_factor.accepts(self.user, cleaned["code"]):
            logger.warning("Change of the password of %r refused: wrong code", self.user.get_username())
            self.add_error("code", "This code is wrong, expired or already used.")
        return cleaned

    def clean_old_password(self) -> str:
        wait = seconds_to_wait_inside(self.user)
        if wait is not None:
            logger.warning("Change of the password of %r refused: too many attempts", self.user.get_username())
            raise too_many(wait)
        return super().clean_old_password()


@receiver(user_logged_in)
def note_login(sender: type[User], request: HttpRequest, user: User, **kwargs: object) -> None:
    mark_session(request.session, second_factor=getattr(user, SECOND_FACTOR_ATTRIBUTE, False))
