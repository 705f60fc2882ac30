"""Templates of rules. Pure functions."""

from datetime import date, timedelta

from msgspec import Struct

from licensing.policies.in_words import Rule

EMBARGO = timedelta(days=30)
DENY_ALL: Rule = {"action": "deny", "conditions": {"default": True}, "message": "A licence is required."}
LICENSED: Rule = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}


class RuleTemplate(Struct, frozen=True):
    """A template; `rules` are in evaluation order."""

    name: str
    title: str
    told: str
    rules: tuple[Rule, ...]


def templates(today: date) -> tuple[RuleTemplate, ...]:
    """Return the templates; an embargo ends a month after `today` by default."""
    end = (today + EMBARGO).isoformat()
    return (
        RuleTemplate("paywall", "Paywall", "Only customers with a valid licence.", (LICENSED, DENY_ALL)),
        RuleTemplate(
            "metered",
            "Metered preview",
            "Licence holders read everything; others get five previews a month.",
            (
                LICENSED,
                {
                    "action": "allow",
                    "conditions": {"permission": "preview"},
                    "permissions": ["preview"],
                    "rateLimit": {"requests": 5, "period": "month"},
                },
                DENY_ALL,
            ),
        ),
        RuleTemplate(
            "embargo",
            "Embargo",
            "Items tagged embargo are denied until a date.",
            (
                {
                    "action": "deny",
                    "conditions": {"tags": "embargo", "before": end},
                    "message": f"Under embargo until {end}.",
                },
            ),
        ),
        RuleTemplate(
            "research",
            "Research only",
            "Valid research licences, only for research.",
            (
                {
                    "action": "allow",
                    "conditions": {"licenseType": "research", "hasValidLicense": True},
                    "permissions": ["read", "research"],
                },
                DENY_ALL,
            ),
        ),
        RuleTemplate(
            "no_ai",
            "No AI training",
            "AI training is denied, whatever the licence.",
            (
                {
                    "action": "deny",
                    "conditions": {"permission": "ai_training"},
                    "message": "It may not be used to train AI.",
                },
            ),
        ),
    )
