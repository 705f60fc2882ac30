"""The requester of a wallet, and its licence if it has one."""

from collections.abc import Mapping
from typing import Any

from analytics.wallets.models import Wallet
from kit.http.errors import ValidationFailed
from kit.rest.resources import id_hint, referred_model
from kit.values import ids


def unknown_requester(requester_id: str) -> ValidationFailed:
    return ValidationFailed(
        f"There is no requester {requester_id[:100]!r}. Create it with POST /v1/requesters.", param="requesterId"
    )


def lock_requester(account_id: str, requester_id: str) -> Any:
    """Return the requester, whose row stays locked. Raises ValidationFailed."""
    rows = referred_model(Wallet, "requester")._default_manager.select_for_update(no_key=True)
    requester = rows.filter(account_id=account_id, requester_id=requester_id).first()
    if requester is None:
        raise unknown_requester(requester_id)
    return requester


def find_license(account_id: str, requester: int, license_id: str | None) -> str | None:
    """The id, if the requester has that licence. Raises ValidationFailed."""
    if license_id is None:
        return None
    if ids.decode("lic", license_id) is not None:
        rows = referred_model(Wallet, "license")._default_manager
        if rows.filter(account_id=account_id, requester=requester, pk=license_id).exists():
            return license_id
    raise ValidationFailed(
        f"The requester has no licence {license_id[:100]!r}.{id_hint('lic', license_id)}", param="licenseId"
    )


def check_identity(wallet: Wallet, fields: Mapping[str, object]) -> None:
    """Raise ValidationFailed if the fields name another requester, licence or unit than the wallet's.

    The ids of requesters that were merged into the wallet's name it, too.
    """
    identity = {"requesterId": wallet.requester.requester_id, "licenseId": wallet.license_id, "unit": wallet.unit}
    given = {
        "requesterId": fields.get("requester_id", identity["requesterId"]),
        "licenseId": fields.get("license_id", identity["licenseId"]),
        "unit": fields.get("unit", identity["unit"]),
    }
    if given["requesterId"] != identity["requesterId"] and is_former_id(wallet, str(given["requesterId"])):
        del given["requesterId"]
    for param, value in given.items():
        if value != identity[param]:
            raise ValidationFailed(f"`{param}` cannot be changed. Create another wallet.", param=param)


def is_former_id(wallet: Wallet, requester_id: str) -> bool:
    rows = referred_model(Wallet, "requester")._default_manager.filter(merged_into=wallet.requester_id)
    return rows.filter(account_id=wallet.account_id, requester_id=requester_id).exists()
