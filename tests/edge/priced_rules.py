"""Rules with prices."""

from tests import factories

LICENSEES = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
AI_AT_A_PRICE = {"action": "allow", "priority": 2, "conditions": {"permission": ["ai_training", "ai_input"]},
                 "permissions": ["ai_training", "ai_input"],
                 "pricePerAccess": {"amount": "0.015", "currency": "USD"}}  # fmt: skip
NATURAL = LICENSEES, AI_AT_A_PRICE, {**factories.DENY_ALL, "priority": 3}


PRICED = {
    "action": "allow",
    "priority": 2,
    "conditions": {"licenseType": ["commercial", "press"]},
    "permissions": ["full_access"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}


FOR_ALL = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"],
           "pricePerAccess": {"amount": 0.5, "currency": "EUR"}}  # fmt: skip


def price_of(reply):
    return reply.status, reply.headers.get("crawler-price"), reply.headers.get("crawler-error")


FOR_SALE = {
    "action": "allow",
    "conditions": {"permission": ["ai_input", "ai_training"]},
    "permissions": ["ai_input", "ai_training"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}
