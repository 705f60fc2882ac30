"""The members of resources that describe a person."""

# By kind of resource or object, each member with what an erasure leaves of it.
PERSONAL: dict[str, dict[str, object]] = {
    "requester": {"name": None, "email": None, "notes": None, "metadata": {}},
    "license": {"requesterName": None, "metadata": {}},
    "license_client": {"requesterName": None, "name": None},
    "wallet": {"requesterName": None},
    "payment": {"requesterName": None, "note": None, "voidReason": None},
    "ledger_entry": {"requesterName": None, "description": None},
    "portal_session": {"returnUrl": None},
    "access_summary": {"requester.name": None},
    "limit": {"requester.name": None},
}
