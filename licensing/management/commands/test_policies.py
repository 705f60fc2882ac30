import sys

from django.core.management.base import CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from kit.rest.resources import find
from kit.values.numbers import count_text
from licensing.policies import services
from licensing.policies.models import Policy
from licensing.policies.policy_tests import TestResult


class Command(ServiceCommand):
    help = "Runs the tests of policies (docs/reference/policies.md). Exits with 1 if any fails."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--account", metavar="ID", help="This account's policies alone.")
        parser.add_argument("--policy", metavar="ID", help="This policy alone.")

    def handle(self, *args: object, **options: object) -> None:
        self.failed = False
        super().handle(*args, **options)
        if self.failed:
            sys.exit(1)

    def perform(self, *, account: str | None, policy: str | None, **_: object) -> tuple[str, dict[str, object]]:
        policies = Policy.objects.kept().order_by("account_id", "pk")
        if account:
            policies = policies.filter(account_id=find(Account.objects.all(), account).pk)
        if policy:
            policies = policies.filter(pk=find(policies, policy).pk)
        lines: list[str] = []
        failures: list[dict[str, object]] = []
        tested = number = 0
        for tested_policy in policies.exclude(tests=[]).iterator(chunk_size=100):
            results = services.run_policy_tests(tested_policy)
            failed = [result for result in results if not result.passed]
            lines += [summary(tested_policy, results, failed), *(f"  {result.sentence}" for result in failed)]
            failures += [
                {
                    "policyId": tested_policy.pk,
                    "index": result.index,
                    "name": result.name,
                    "expected": result.expected,
                    "decided": result.decided,
                }
                for result in failed
            ]
            tested = tested + 1
            number = number + len(results)
        self.failed = bool(failures)
        total = f"{count_text(number, 'test')} of {count_text(tested, 'policy', 'policies')}"
        outcome = f"{len(failures):,} failed" if failures else "all passed"
        lines.append(f"{total}: {outcome}." if number else "No policy has tests.")
        return "\n".join(lines), {
            "object": "policy_test_run",
            "policies": tested,
            "tests": number,
            "failed": len(failures),
            "failures": failures,
        }


def summary(policy: Policy, results: list[TestResult], failed: list[TestResult]) -> str:
    counts = f"{len(results) - len(failed)} of {len(results)} pass"
    return f"{'FAILED' if failed else 'ok    '}  {policy.pk}  {policy.name} (version {policy.version}): {counts}"
