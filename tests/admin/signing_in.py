"""Signing in to the admin."""

import time

from django.test import Client
from django.urls import reverse

from operators.login import totp

LOGIN, INDEX = reverse("admin:login"), reverse("admin:index")
PASSWORD = "correct-horse-9"


def try_to_sign_in(username="anna", password=PASSWORD, *, address="192.0.2.1", client=None, **fields):
    fields = {"username": username, "password": password, **fields}
    return (client or Client()).post(LOGIN, fields, REMOTE_ADDR=address)


def code_of(secret):
    return totp.code_at(secret, int(time.time()) // totp.STEP)
