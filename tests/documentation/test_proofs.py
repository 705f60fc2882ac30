"""Every code block in the documentation is tested, or listed here with the reason why not."""

import pytest

from run import ROOT
from tests.documentation.blocks import blocks

HERE = "tests/documentation"
COMMANDS = f"{HERE}/test_commands.py::test_a_printed_command_succeeds"
# By document and the beginning of the block's first line: a test that runs it, or a reason in words.
GUIDE_EXAMPLE = "tests/decisions/test_guide_example.py::test_the_conditions_that_are_shown_are_valid"
PROOFS = {
    **dict.fromkeys(
        [
            *(("docs/guides/sell-a-licence.md", one) for one in ("api", "LICENSE=")),
            *(("docs/guides/price-a-crawler.md", one) for one in ("api", "POLICY=", "SITE=")),
            *(("docs/guides/free-articles.md", one) for one in ("api", "POLICY=", "SITE=")),
            *(("docs/guides/why-refused.md", one) for one in ("api", "DENIED=")),
            *(("docs/guides/rotate-a-leaked-key.md", one) for one in ("api", "LEAKED=")),
            *(("docs/guides/change-a-policy.md", one) for one in ("api", "RULES=", "TESTS=")),
            *(("docs/guides/month-end.md", one) for one in ("api", "LICENSE=", "STATEMENT=", "curl")),
            *(("docs/start/edge.md", one) for one in ("api", "SITE=")),
        ],
        f"{HERE}/test_jobs.py::test_the_steps_of_a_guide_work",
    ),
    **dict.fromkeys(
        [("docs/guides/move-to-postgresql.md", one) for one in ("TARGET=", "DATABASE_URL=", ".venv")],
        "tests/commands/test_copy_to.py::test_the_guide_moves_everything",
    ),
    (
        "docs/guides/logs.md",
        ".venv/bin/python manage.py",
    ): f"{HERE}/test_logs.py::test_the_guide_imports_a_log_of_nginx",
    ("docs/guides/logs.md", '{"object"'): f"{HERE}/test_logs.py::test_the_guide_imports_a_log_of_nginx",
    ("docs/guides/upgrade.md", ".venv/bin/python manage.py migrate"): COMMANDS,
    ("docs/guides/restore.md", ".venv/bin/python manage.py migrate"): COMMANDS,
    ("docs/guides/fail-over.md", "docker compose"): (
        "tests/faults/test_high_availability.py::test_promoting_the_standby_under_load_loses_no_answered_decision"
    ),
    ("docs/guides/fail-over.md", "docker compose exec db1 psql"): (
        "tests/faults/test_high_availability.py"
        "::test_without_the_standby_commits_wait_until_the_primary_is_told_to_go_on_alone"
    ),
    **dict.fromkeys(
        [("docs/guides/restore.md", one) for one in ("archive_mode", "pg_basebackup", "restore_command")],
        "tests/faults/test_restore.py::test_the_archived_log_restores_a_moment",
    ),
    (
        "docs/guides/scheduled-jobs.md",
        "MAILTO",
    ): f"{HERE}/test_jobs.py::test_the_crontab_names_commands_that_the_table_explains",
    ("docs/start/concepts.md", "caller"): "A picture.",
    ("README.md", "python3 run.py"): (
        f"{HERE}/test_deployment.py::test_the_first_command_of_the_readme_serves_and_prints_a_password_that_opens_the_admin"
    ),
    ("README.md", "URL="): f"{HERE}/test_readme.py::test_the_story_goes_as_it_is_told",
    ("README.md", "export DATABASE_URL"): (
        f"{HERE}/test_deployment.py::test_the_commands_of_the_readme_for_production"
    ),
    ("docs/guides/admin.md", ".venv/bin/python manage.py create_operator"): COMMANDS,
    ("docs/reference/api.md", "curl -i"): f"{HERE}/test_examples.py::test_a_conditional_change",
    (
        "docs/reference/api.md",
        '{"id"',
    ): f"{HERE}/test_examples.py::test_a_resource_that_is_shown_has_the_fields_that_it_has",
    ("docs/reference/versions.md", '[{"operation"'): (
        f"{HERE}/test_examples.py::test_the_deprecations_that_are_shown_can_be_set"
    ),
    ("docs/guides/deployment.md", "# /etc/licensing.env"): (
        f"{HERE}/test_deployment.py::test_the_deployment_check_passes_with_the_printed_environment"
    ),
    ("docs/guides/deployment.md", "python3 run.py setup"): COMMANDS,
    ("docs/guides/deployment.md", "DATABASE_URL=postgresql://licensing:PASSWORD@db1"): (
        f"{HERE}/test_deployment.py::test_the_printed_url_names_both_servers"
    ),
    ("docs/guides/deployment.md", "REPORTS_DATABASE_URL=postgresql://"): (
        f"{HERE}/test_deployment.py::test_the_printed_replica_is_a_second_database_for_reads"
    ),
    ("docs/guides/deployment.md", "# /etc/systemd"): (
        f"{HERE}/test_deployment.py::test_the_unit_starts_the_service_with_the_printed_environment"
    ),
    (
        "docs/guides/deployment.md",
        "location / {",
    ): f"{HERE}/test_deployment.py::test_nginx_takes_the_printed_locations",
    (
        "docs/guides/deployment.md",
        "upstream licensing {",
    ): f"{HERE}/test_deployment.py::test_nginx_loses_no_request_while_one_machine_after_the_other_restarts",
    ("docs/guides/deployment.md", "ADMIN_PORT"): (
        f"{HERE}/test_deployment.py::test_the_deployment_check_passes_with_the_printed_environment"
    ),
    ("docs/guides/deployment.md", "BEGIN;"): (
        f"{HERE}/test_deployment.py::test_old_entries_of_the_audit_log_are_deleted_as_printed"
    ),
    (
        "docs/guides/deployment.md",
        "kubectl",
    ): "It needs a cluster. tests/release/test_image.py proves what the manifests say.",
    ("docs/guides/deployment.md", "docker compose"): (
        f"{HERE}/test_deployment.py::test_compose_has_what_the_printed_commands_name"
    ),
    (
        "docs/contributing/development.md",
        "git clone",
    ): "The first steps of .ci/run, but for the address of the repository.",
    ("docs/contributing/development.md", ".venv/bin/python -m benchmarks.before"): "A measurement: it takes an hour.",
    ("docs/contributing/development.md", "FUZZ_EXAMPLES"): "CI runs that file with fewer examples.",
    ("docs/reference/edge.md", '{"date"'): COMMANDS,
    ("docs/reference/edge.md", '{"action"'): (
        "tests/edge/test_crawler_classes.py::test_the_rules_of_the_reference_admit_link_previews"
    ),
    ("docs/reference/edge.md", "nginx.ingress"): "For a Kubernetes; tests/edge asks as it does.",
    ("docs/reference/edge.md", "curl -sO"): COMMANDS,
    ("docs/reference/edge.md", "curl -s $BASE/olp/token"): f"{HERE}/test_examples.py::test_a_licence_token",
    ("docs/guides/clients.md", "from content_access_licensing.decisions"): (
        f"{HERE}/test_examples.py::test_a_signed_decision_is_verified_by_the_client"
    ),
    ("docs/guides/clients.md", "from content_access_licensing.license_tokens"): (
        "tests/clients/test_license_tokens.py::test_the_guide_verifies_a_token"
    ),
    ("docs/guides/clients.md", "from content_access_licensing import verify"): (
        f"{HERE}/test_examples.py::test_a_webhook_is_verified_by_the_client"
    ),
    ("docs/guides/clients.md", "from content_access_licensing.middleware"): (
        f"{HERE}/test_guides.py::test_the_recipes_in_python"
    ),
    ("docs/guides/clients.md", "from content_access_licensing import Client, ConflictError"): (
        f"{HERE}/test_conditional_changes.py::test_the_loop_in_python_keeps_what_others_changed"
    ),
    ("docs/guides/clients.md", "import { ApiError"): (
        f"{HERE}/test_conditional_changes.py::test_the_loop_in_typescript_keeps_what_others_changed"
    ),
    ("docs/guides/clients.md", "import { gate }"): f"{HERE}/test_guides.py::test_the_recipe_for_workers",
    ("docs/guides/clients.md", "import { NextResponse }"): (
        "tests/clients/test_next.py::test_the_guides_middleware_lets_readers_in_and_refuses_crawlers"
    ),
    (
        "docs/guides/clients.md",
        "openapi-generator-cli",
    ): "tests/clients/test_generators.py::test_openapi_generator_for_go",
    ("docs/guides/clients.md", "from content_access_licensing import Client"): (
        f"{HERE}/test_integration.py::test_rows_are_saved_listed_and_exported"
    ),
    ("docs/guides/clients.md", "FREE="): f"{HERE}/test_integration.py::test_a_site_of_express_refuses_unknown_pages",
    ("docs/guides/clients.md", "import { expressGate }"): (
        f"{HERE}/test_integration.py::test_a_site_of_express_refuses_unknown_pages"
    ),
    ("docs/reference/edge.md", "entryPoints:"): (
        "tests/faults/proxies/test_outages.py::test_a_service_that_stalled_is_not_asked_for_some_seconds"
    ),
    ("docs/guides/wordpress.md", "api"): f"{HERE}/test_guides.py::test_the_sites_of_the_guide_to_wordpress",
    ("docs/guides/wordpress.md", "FREE="): f"{HERE}/test_guides.py::test_the_sites_of_the_guide_to_wordpress",
    ("docs/guides/wordpress.md", "define('CONTENT_LICENSING_URL'"): (
        "tests/clients/test_wordpress.py::test_while_the_service_stalls_a_site_that_observes_stays_open"
    ),
    ("docs/guides/wordpress.md", "define('CONTENT_LICENSING_OPEN_PATHS'"): (
        "tests/clients/test_wordpress.py::test_while_the_service_is_down_only_open_paths_are_read"
    ),
    ("docs/guides/wordpress.md", "add_filter("): (
        "tests/clients/test_wordpress.py::test_the_sites_own_filters_name_requester_and_address"
    ),
    ("docs/guides/signed-decisions.md", "from pathlib"): (
        f"{HERE}/test_examples.py::test_a_signed_decision_is_verified_without_a_connection"
    ),
    ("docs/guides/sync-a-cms.md", "import sys"): f"{HERE}/test_integration.py::test_a_cms_is_synchronised",
    (
        "docs/start/quickstart.md",
        "npm install",
    ): f"{HERE}/test_integration.py::test_the_typescript_client_is_installed",
    (
        "docs/guides/lists.md",
        "from content_access_licensing",
    ): f"{HERE}/test_guides.py::test_the_loop_over_pages_finds_everything",
    ("docs/start/quickstart.md", "URL="): f"{HERE}/test_guides.py::test_the_quickstart_in_curl",
    ("docs/start/quickstart.md", "from"): f"{HERE}/test_guides.py::test_the_quickstart_in_python",
    ("docs/start/quickstart.md", "import"): f"{HERE}/test_guides.py::test_the_quickstart_in_typescript",
    ("docs/guides/importing.md", ".venv/bin/python manage.py import_content"): COMMANDS,
    ("docs/guides/importing.md", '{"object"'): f"{HERE}/test_commands.py::test_an_import_reports_as_the_guide_shows",
    (
        "docs/reference/observability.md",
        '{"time"',
    ): "tests/observability/test_logs.py::test_the_guide_shows_the_fields_of_a_line",
    (
        "docs/reference/observability.md",
        "# prometheus.yml",
    ): f"{HERE}/test_deployment.py::test_prometheus_is_told_where_to_ask",
    ("docs/guides/archive.md", "python3 run.py setup --archive"): (
        "tests/commands/test_run.py::test_a_set_up_keeps_the_extras_that_the_installation_had"
    ),
    ("docs/guides/archive.md", ".venv/bin/python manage.py archive_events"): (
        "tests/analytics/test_archive.py::test_the_closed_months_of_all_accounts_are_archived_as_they_were_recorded"
    ),
    ("docs/guides/archive.md", "setfacl"): "Needs a user of an engine, and a file system with ACLs.",
    ("docs/guides/archive.md", "{"): (
        "tests/analytics/test_archive_on_s3.py::test_the_policy_of_the_guide_is_enough_and_opens_no_other_prefix"
    ),
    ("docs/guides/archive.md", "ARCHIVE_DIR"): (
        "tests/commands/test_archive_settings.py::test_the_variables_of_the_guide_are_accepted_together"
    ),
    ("docs/guides/archive.md", ".venv/bin/python -m pip install 'pyspark"): (
        "tests/analytics/test_archive_report.py::test_the_report_of_the_group_equals_the_sums_of_the_api"
    ),
    ("docs/guides/archive.md", "account,name"): ("tests/analytics/test_archive_report.py::test_it_is_printed_as_csv"),
    ("docs/reference/observability.md", ".venv/bin/python -m pip install"): (
        f"{HERE}/test_deployment.py::test_the_guide_of_an_optional_group_installs_its_packages"
    ),
    (
        "docs/reference/policies.md",
        '{"defaultAction"',
    ): "tests/decisions/test_guide_example.py::test_the_example_is_decided_as_told",
    ("docs/reference/policies.md", '{"attributes"'): GUIDE_EXAMPLE,
    ("docs/reference/policies.md", '{"schedule"'): GUIDE_EXAMPLE,
    ("docs/reference/policies.md", "["): (
        "tests/decisions/test_guide_example.py::test_staff_reads_for_free_in_working_hours_and_others_pay"
    ),
    ("docs/reference/policies.md", '{"name"'): (
        "tests/endpoints/test_policy_tests.py::test_the_test_in_the_guide_holds_for_the_policy_in_the_guide"
    ),
    (
        "docs/reference/reports.md",
        '{"id"',
    ): f"{HERE}/test_examples.py::test_a_resource_that_is_shown_has_the_fields_that_it_has",
    ("docs/guides/signed-decisions.md", "import jwt"): f"{HERE}/test_examples.py::test_a_signed_decision_is_verified",
    ("docs/guides/signed-decisions.md", ".venv/bin/python manage.py rotate_signing_key"): COMMANDS,
    ("docs/guides/sell-in-advance.md", "api"): f"{HERE}/test_examples.py::test_10_000_accesses_are_sold_in_advance",
    ("docs/guides/webhooks.md", "api webhooks"): f"{HERE}/test_examples.py::test_webhooks",
    ("docs/guides/webhooks.md", "from standardwebhooks"): (
        "tests/webhooks/test_guide.py::test_a_receiver_takes_what_is_sent_and_nothing_else"
    ),
    ("docs/guides/webhooks.md", "const { createHmac"): (
        "tests/webhooks/test_guide.py::test_a_receiver_takes_what_is_sent_and_nothing_else"
    ),
    (
        "docs/reference/events.md",
        "{",
    ): "tests/webhooks/test_guide.py::test_the_catalogue_is_what_the_table_of_types_says",
    ("clients/python/README.md", "from"): f"{HERE}/test_guides.py::test_the_example_of_the_python_client",
    ("clients/typescript/README.md", "import"): f"{HERE}/test_guides.py::test_the_example_of_the_typescript_client",
}


def test_every_block_of_code_has_a_proof():
    printed = [(one.path, one.first) for one in blocks()]
    proven = {key: [one for one in printed if one[0] == key[0] and one[1].startswith(key[1])] for key in PROOFS}
    assert [one for one in printed if not any(one in found for found in proven.values())] == []
    assert [key for key, found in proven.items() if not found] == []


@pytest.mark.parametrize("proof", sorted({proof for proof in PROOFS.values() if "::" in proof}))
def test_a_proof_is_a_test(proof: str):
    path, _, name = proof.partition("::")
    assert f"\ndef {name}(" in (ROOT / path).read_text()
