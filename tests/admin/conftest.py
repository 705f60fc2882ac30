"""Staff operators, and fixtures that sign them in."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from accounts.models import Account
from analytics.models import Wallet
from licensing.requesters.models import Requester
from operators.base.scope import set_scope
from operators.login import second_factor
from tests import factories
from tests.admin import importing, overview
from tests.client import HANDLER
from tests.clock import clock  # noqa: F401 - a fixture

numbers = count(1)
bring, own_directory, at_noon, busy = (
    importing.bring,
    importing.own_directory,
    overview.at_noon,
    overview.busy,
)  # fixtures
SignIn = Callable[..., Client]


@pytest.fixture
def staff(db: None) -> Callable[..., User]:
    """Create staff operators with the given permissions (such as "accounts.view_apikey") and accounts."""

    def make(*permissions: str, accounts: Iterable[Account] | None = None, **fields: Any) -> User:
        user = User.objects.create_user(f"staff{next(numbers)}", is_staff=True, **fields)
        for permission in permissions:
            app, codename = permission.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        if accounts is not None:
            set_scope(user, accounts=accounts)
        return user

    return make


@pytest.fixture
def sign_in() -> SignIn:
    """Return a test client signed in as an operator, with the second factor if one is set up."""

    def make(user: User) -> Client:
        client = Client()
        client.handler = HANDLER
        user.second_factor_given = second_factor.is_set_up(user)  # type: ignore[attr-defined]
        client.force_login(user)
        return client

    return make


@pytest.fixture
def admin(staff: Callable[..., User], sign_in: SignIn) -> Client:
    """A test client signed in as a superuser; replaces pytest-django's `admin_client`."""
    return sign_in(staff(is_superuser=True))


@pytest.fixture
def herrings(account: Account, other_account: Account) -> dict[str, Any]:
    """An item, a policy and a licence about herrings; the other account has some, too."""
    made = {
        "item": factories.content(account, title="Herring quota", external_id="h-1", tags=["Sea Fish", "news"]),
        "policy": factories.policy(account, name="Herring only"),
        "license": factories.license(account, "org_herring", requester_name="Herring & Sons", tags=["only-licensed"]),
    }
    factories.content(other_account, title="Herring of theirs", tags=["news-of-theirs"])
    factories.policy(other_account, {**factories.ALLOW_LICENSED, "permissions": ["theirs"]}, name="Herring of theirs")
    factories.license(other_account, "org_herring_theirs")
    return made


@pytest.fixture
def customer(account: Account) -> Requester:
    return factories.license(account, per_access="0.05").requester


@pytest.fixture
def wallet(account: Account, customer: Requester) -> Wallet:
    return Wallet.objects.get(pk=factories.wallet(account, requester_id=customer.requester_id)["wallet"])
