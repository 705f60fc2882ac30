import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.promises import USES, promised_uses, uses_without_license
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.terms import terms_of
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import judge
from licensing.policies.facts import Facts
from licensing.policies.rules import parse_rules
from licensing.sites.identification import Identification
from licensing.sites.patterns import compile_pattern
from tests import factories
from tests.edge.documents import ROBOTS, SEARCH_ONLY, TDMREP, get, moment, replace_site
from tests.edge.priced_rules import AI_AT_A_PRICE, LICENSEES
from tests.edge.published import ITEMS, PATHS, PATTERNS, POLICIES, QUERIES, policies_at, refused_content_usage
from tests.examples import examples

VERIFIED_SEARCH = {"action": "allow", "priority": 2, "conditions": {"permission": "search"}, "permissions": ["search"]}
REST = {**factories.DENY_ALL, "priority": 9}
LICENSEES_AND_SEARCH = LICENSEES, VERIFIED_SEARCH, REST
LIMITED = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"],
           "rateLimit": {"requests": 5, "period": "month"}}  # fmt: skip


def robots(account, patterns, **options):
    policies = {pattern: rules and factories.policy(account, *rules) for pattern, rules in patterns.items()}
    replace_site(account, policies, **options)
    lines = get(ROBOTS).content.decode().partition("\n\n")[0].splitlines()
    return [line for line in lines[2:] if line != "Disallow:"]


def test_uses_of_some_visitors_are_neither_promised_nor_refused(account):
    assert robots(account, {"/*": LICENSEES_AND_SEARCH}) == [
        "Content-Signal: ai-input=no, ai-train=no",
        "Content-Usage: train-ai=n, ai-use=n",
        "Content-Usage: /* train-ai=n, ai-use=n",
    ]
    assert robots(account, {"/*": [LIMITED]}) == []
    assert robots(account, {"/a/*": [LICENSEES, AI_AT_A_PRICE, REST]}) == [
        "Content-Usage: /a/* train-ai=n, ai-use=n, search=n"
    ]
    assert robots(account, {"/a/*": [{**factories.DENY_ALL, "priority": 1}, VERIFIED_SEARCH]}) == [
        "Content-Usage: /a/* train-ai=n, ai-use=n, search=n"
    ]
    lines = robots(account, {"/*": [SEARCH_ONLY], "/*.pdf$": [REST]})
    assert refused_content_usage("\n".join(lines).encode(), "/a?file=.pdf") == {"ai_input", "ai_training"}
    assert robots(account, {"/": [REST], "/*": [LIMITED]}) == []
    assert [one["location"] for one in get(TDMREP).json()] == ["/*"]
    robots(account, {"/a/*": [factories.ALLOW_ALL]}, unknown="deny")
    assert [one["location"] for one in get(TDMREP).json()] == ["/a/*", "/"]


@pytest.mark.parametrize("rest", [SEARCH_ONLY, REST], ids=["promised", "refused"])
def test_an_entry_with_unknown_uses_overrides_a_shorter_entry(account, rest):
    search = "y" if rest is SEARCH_ONLY else "n"
    assert [line for line in robots(account, {"/*": [rest], "/metered/*": [LIMITED]}) if "/" in line] == [
        "Content-Usage: /metered/* train-ai=unknown, ai-use=unknown, search=unknown",
        f"Content-Usage: /* train-ai=n, ai-use=n, search={search}",
    ]


@pytest.mark.parametrize(("unknown", "is_refused"), [("allow", False), ("deny", True)])
def test_pages_without_a_policy_are_refused_only_where_unknown_pages_are(account, unknown, is_refused):
    refused = ["Content-Usage: /a/* train-ai=n, ai-use=n, search=n"] if is_refused else []
    assert [line for line in robots(account, {"/a/*": None}, unknown=unknown) if "/a/" in line] == refused
    refused = ["Content-Signal: search=no, ai-input=no, ai-train=no"] if is_refused else []
    assert robots(account, {"/": [factories.ALLOW_ALL], "/*": None}, unknown=unknown)[:1] == refused


def test_an_item_that_differs_only_in_this_has_an_entry(account):
    policy = factories.policy(account, *LICENSEES_AND_SEARCH)
    factories.content(account, source="https://pub.example/a/b", policy_id=policy.pk)
    assert robots(account, {"/a/*": [REST]}) == [
        "Content-Usage: /a/b?* train-ai=n, ai-use=n",
        "Content-Usage: /a/b$ train-ai=n, ai-use=n",
        "Content-Usage: /a/* train-ai=n, ai-use=n, search=n",
    ]


@pytest.mark.parametrize("options", [{}, {"unknown": "deny"}])
def test_tdmrep_names_a_location_once(account, options):
    robots(account, {"/": [REST]}, **options)
    assert get(TDMREP).json() == [{"location": "/", "tdm-reservation": 1}]


FREE, SILENT, *OTHERS = (
    CompiledPolicy.of("pol_x", 1, "deny", parse_rules([rule]))
    for rule in (factories.ALLOW_ALL, LIMITED, SEARCH_ONLY, REST)
)
TELLING = st.one_of(POLICIES, st.sampled_from([FREE, SILENT, *OTHERS]))
UNLICENSED = st.builds(
    lambda use, requester, month, evidence: Facts(moment(month), requester, use, identified_by=evidence),
    st.sampled_from(USES), st.sampled_from(["anonymous", "crawler:gptbot"]), st.integers(1, 12),
    st.sampled_from([Identification.NOTHING, Identification.SIGNATURE]),
)  # fmt: skip


@given(POLICIES.filter(bool), UNLICENSED)
@settings(max_examples=examples(1000), deadline=None, suppress_health_check=list(HealthCheck))
def test_uses_allowed_without_a_licence_are_free_to_some(policy, facts):
    assert promised_uses(policy) <= uses_without_license(policy)
    if judge(policy, facts).allowed:
        assert facts.permission in uses_without_license(policy)


@pytest.mark.slow
@given(
    st.lists(st.tuples(PATTERNS, TELLING), max_size=5, unique_by=lambda pair: compile_pattern(pair[0])),
    ITEMS, PATHS, QUERIES, UNLICENSED, st.booleans(),
)  # fmt: skip
@settings(max_examples=examples(1500), deadline=None, suppress_health_check=list(HealthCheck))
def test_uses_refused_by_robots_txt_are_denied_without_a_licence(rules, items, path, query, facts, denies_unknown):
    terms = terms_of(rules, items, denies_unknown=denies_unknown)
    documents = write_documents(Publication("pub.example", terms, "Example Media"))
    refused = refused_content_usage(documents.get(ROBOTS, b""), path + query)
    unknown = None if denies_unknown else FREE
    enforced = [*((pattern, policy or unknown) for pattern, policy in rules), ("/", unknown)]
    policies = policies_at(enforced, items, path + query)
    assume(None not in policies and all(judge(policy, facts).allowed for policy in policies))
    assert facts.permission not in refused
