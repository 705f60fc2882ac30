"""Numbers of rules. The admin counts them from 1; the API counts from 0, in `matchedRule` and paths as `rules[0]`."""

import re

IN_API = re.compile(r"rules\[(\d+)\](?:\.(\S+))?")


def rule_name(index: int) -> str:
    """Return the name of the rule at this index of the policy's rules."""
    return f"Rule {index + 1}"


def with_rule_names(text: str) -> str:
    """Replace the API's paths in a sentence: `rules[0]` by "rule 1"."""
    return IN_API.sub(lambda found: f"rule {int(found[1]) + 1}", text)


def place_in_words(path: str) -> str:
    """Return what a path names: "Rule 1, conditions.tags" for `rules[0].conditions.tags`; other paths as they are."""
    found = IN_API.fullmatch(path)
    if found is None:
        return path
    return ", ".join(filter(None, (rule_name(int(found[1])), found[2])))
