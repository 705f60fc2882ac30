"""The roles that every installation has, each a group with no more rights than its work needs.

`migrate` keeps them, so that a new version's models come to the roles that are about them; who needs other rights gets
a group beside these.
"""

from typing import Any

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import transaction

from operators.base.model_admin import ScopedAdmin

VIEWER, EDITOR, KEY_MANAGER = "Viewer", "Editor", "Key manager"

# What only superusers see: it is about the operators themselves, or the service's own.
PRIVATE = {"staffscope", "idempotencyrecord", "authenticator", "recoverycode"}
OF_KEYS = {"account", "apikey"}
OF_SECRETS = {"apikey", "webhookendpoint"}  # what is made with a secret, which is shown once


def rights(role: str, app: str, action: str, model: str) -> bool:
    """Whether the role has the permission "<app>.<action>_<model>"."""
    if model in PRIVATE:
        return False
    if role == KEY_MANAGER:
        return (app == "accounts" and model in OF_KEYS and action == "view") or model in OF_SECRETS
    if action == "view":
        return True
    return role == EDITOR and app != "accounts" and f"{action}_{model}" in asked_for()


def asked_for() -> set[str]:
    """The permissions that some page of the admin asks for, by their codenames."""
    admins = [one for one in admin.site._registry.values() if isinstance(one, ScopedAdmin)]
    return {get_permission_codename(action, one.opts) for one in admins for action in one.grantable()}


@transaction.atomic
def keep_roles(sender: AppConfig, **kwargs: Any) -> None:
    """Gives the roles their permissions of one app, after its migration."""
    if sender.name not in ("accounts", "licensing", "analytics"):
        return
    create_permissions(**kwargs)  # auth's own turn at this signal comes later
    permissions = Permission.objects.filter(content_type__app_label=sender.label)
    for role in (VIEWER, EDITOR, KEY_MANAGER):
        group, _ = Group.objects.get_or_create(name=role)
        granted = [
            permission
            for permission in permissions
            if rights(role, sender.label, *permission.codename.split("_", maxsplit=1))
        ]
        group.permissions.remove(*(permission for permission in permissions if permission not in granted))
        group.permissions.add(*granted)
