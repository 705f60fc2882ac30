"""Services for operators, used by commands and the admin."""

import secrets
from collections.abc import Iterable

from django.contrib.auth.models import Group, User
from django.db import transaction

from accounts.auditing import audit
from accounts.models import Account
from operators.base.scope import set_scope
from operators.login.audit_entries import AuditedOperator


@transaction.atomic
def create_operator(
    username: str,
    *,
    superuser: bool = False,
    role: str | None = None,
    all_accounts: bool = False,
    accounts: Iterable[Account] = (),
) -> tuple[User, str]:
    """Create a member of staff; return it with its password, of which only a hash is stored.

    Raises Django's ValidationError.
    """
    password = secrets.token_urlsafe(15)
    operator = User(username=username, is_staff=True, is_superuser=superuser)
    operator.set_password(password)
    operator.full_clean()
    operator.save()
    if role is not None:
        operator.groups.add(Group.objects.get(name=role))
    if not superuser:
        set_scope(operator, all_accounts=all_accounts, accounts=accounts)
    audit.record("operator.created", AuditedOperator(operator), {})
    return operator, password
