"""Every code block in the documentation is tested, or listed here with the reason why not."""

import re
from collections import Counter
from pathlib import Path

from tests.documentation.blocks import blocks
from tests.source_files import sources

COMMANDS, STEPS = "test_a_printed_command_succeeds", "test_the_steps_of_a_guide_work"
# A document, the beginnings of the first lines of its blocks, and the test that runs them, or a reason in words.
PROOFS = [
    ("docs/guides/sell-a-licence.md", ["api", "LICENSE="], STEPS),
    ("docs/guides/price-a-crawler.md", ["api", "POLICY=", "SITE="], STEPS),
    ("docs/guides/free-articles.md", ["api", "POLICY=", "SITE="], STEPS),
    ("docs/guides/why-refused.md", ["api", "DENIED="], STEPS),
    ("docs/guides/rotate-a-leaked-key.md", ["api", "LEAKED="], STEPS),
    ("docs/guides/change-a-policy.md", ["api", "RULES=", "TESTS="], STEPS),
    ("docs/guides/month-end.md", ["api", "LICENSE=", "STATEMENT=", "curl"], STEPS),
    ("docs/start/edge.md", ["api", "SITE="], STEPS),
    ("docs/guides/move-to-postgresql.md", ["TARGET=", "DATABASE_URL=", ".venv"], "test_the_guide_moves_everything"),
    ("docs/guides/logs.md", [".venv/bin/python manage.py", '{"object"'], "test_the_guide_imports_a_log_of_nginx"),
    ("docs/guides/upgrade.md", [".venv/bin/python manage.py migrate"], COMMANDS),
    ("docs/guides/restore.md", [".venv/bin/python manage.py migrate"], COMMANDS),
    ("docs/guides/fail-over.md", ["docker compose"],
     "test_promoting_the_standby_under_load_loses_no_answered_decision"),
    ("docs/guides/fail-over.md", ["docker compose exec db1 psql"],
     "test_without_the_standby_commits_wait_until_the_primary_is_told_to_go_on_alone"),
    ("docs/guides/restore.md", ["archive_mode", "pg_basebackup", "restore_command"],
     "test_the_archived_log_restores_a_moment"),
    ("docs/guides/scheduled-jobs.md", ["MAILTO"], "test_the_crontab_names_commands_that_the_table_explains"),
    ("docs/start/concepts.md", ["caller"], "A picture."),
    ("README.md", ["python3 run.py"],
     "test_the_first_command_of_the_readme_serves_and_prints_a_password_that_opens_the_admin"),
    ("README.md", ["URL="], "test_the_story_goes_as_it_is_told_and_again"),
    ("README.md", ["export DATABASE_URL"], "test_the_commands_of_the_readme_for_production"),
    ("docs/guides/admin.md", [".venv/bin/python manage.py create_operator"], COMMANDS),
    ("docs/reference/api.md", ["curl -i"], "test_a_conditional_change"),
    ("docs/reference/api.md", ['{"id"'], "test_a_resource_that_is_shown_has_the_fields_that_it_has"),
    ("docs/reference/versions.md", ['[{"operation"'], "test_the_deprecations_that_are_shown_can_be_set"),
    ("docs/guides/deployment.md", ["# /etc/licensing.env", "ADMIN_PORT"],
     "test_the_deployment_check_passes_with_the_printed_environment"),
    ("docs/guides/deployment.md", ["python3 run.py setup"], COMMANDS),
    ("docs/guides/deployment.md",
     ["DATABASE_URL=postgresql://licensing:PASSWORD@db1", "REPORTS_DATABASE_URL=postgresql://"],
     "test_the_printed_urls_name_both_servers_and_a_second_one_for_reads"),
    ("docs/guides/deployment.md", ["# /etc/systemd"], "test_the_unit_starts_the_service_with_the_printed_environment"),
    ("docs/guides/deployment.md", ["location / {"], "test_nginx_takes_the_printed_locations"),
    ("docs/guides/deployment.md", ["upstream licensing {"],
     "test_nginx_loses_no_request_while_one_machine_after_the_other_restarts"),
    ("docs/guides/deployment.md", ["BEGIN;"], "test_old_entries_of_the_audit_log_are_deleted_as_printed"),
    ("docs/guides/deployment.md", ["docker compose"], "test_compose_has_what_the_printed_commands_name"),
    ("docs/guides/deployment.md", ["kubectl"],
     "It needs a cluster. tests/release/test_image.py proves what the manifests say."),
    ("docs/contributing/development.md", ["git clone"],
     "The first steps of .ci/run, but for the address of the repository."),
    ("docs/contributing/development.md", [".venv/bin/python -m benchmarks.before"],
     "A measurement: it takes an hour."),
    ("docs/contributing/development.md", ["FUZZ_EXAMPLES"], "CI runs that file with fewer examples."),
    ("docs/reference/edge.md", ['{"date"', "curl -sO"], COMMANDS),
    ("docs/reference/edge.md", ['{"action"'], "test_the_rules_of_the_reference_admit_link_previews"),
    ("docs/reference/edge.md", ["nginx.ingress"], "For a Kubernetes; tests/edge asks as it does."),
    ("docs/reference/edge.md", ["curl -s $BASE/olp/token"], "test_a_licence_token"),
    ("docs/guides/clients.md", ["from content_access_licensing.decisions"],
     "test_a_signed_decision_is_verified_by_the_client"),
    ("docs/guides/clients.md", ["from content_access_licensing.license_tokens"], "test_the_guide_verifies_a_token"),
    ("docs/guides/clients.md", ["from content_access_licensing import verify"],
     "test_a_webhook_is_verified_by_the_client"),
    ("docs/guides/clients.md", ["from content_access_licensing.middleware"], "test_the_recipes_in_python"),
    ("docs/guides/clients.md", ["from content_access_licensing import Client, ConflictError"],
     "test_the_loop_in_python_keeps_what_others_changed"),
    ("docs/guides/clients.md", ["import { ApiError"], "test_the_loop_in_typescript_keeps_what_others_changed"),
    ("docs/guides/clients.md", ["import { gate }"], "test_the_recipe_for_workers"),
    ("docs/guides/clients.md", ["import { NextResponse }"],
     "test_the_guides_middleware_lets_readers_in_and_refuses_crawlers"),
    ("docs/guides/clients.md", ["openapi-generator-cli"], "test_openapi_generator_for_go"),
    ("docs/guides/clients.md", ["from content_access_licensing import Client"],
     "test_rows_are_saved_listed_and_exported"),
    ("docs/guides/clients.md", ["FREE=", "import { expressGate }"], "test_a_site_of_express_refuses_unknown_pages"),
    ("docs/reference/edge.md", ["entryPoints:"], "test_a_service_that_stalled_is_not_asked_for_some_seconds"),
    ("docs/guides/wordpress.md", ["api", "FREE="], "test_the_sites_of_the_guide_to_wordpress"),
    ("docs/guides/wordpress.md", ["define('CONTENT_LICENSING_URL'"],
     "test_while_the_service_stalls_a_site_that_observes_stays_open"),
    ("docs/guides/wordpress.md", ["define('CONTENT_LICENSING_OPEN_PATHS'"],
     "test_while_the_service_is_down_only_open_paths_are_read"),
    ("docs/guides/wordpress.md",
     ["add_filter('content_licensing_requester'", "add_filter('content_licensing_address'"],
     "test_the_sites_own_filters_name_requester_and_address"),
    ("docs/guides/signed-decisions.md", ["from pathlib"], "test_a_signed_decision_is_verified_without_a_connection"),
    ("docs/guides/sync-a-cms.md", ["import sys"], "test_a_cms_is_synchronised"),
    ("docs/start/quickstart.md", ["npm install"], "test_the_typescript_client_is_installed"),
    ("docs/guides/lists.md", ["from content_access_licensing"], "test_the_loop_over_pages_finds_everything"),
    ("docs/start/quickstart.md", ["URL="], "test_the_quickstart_in_curl"),
    ("docs/start/quickstart.md", ["from"], "test_the_quickstart_in_python"),
    ("docs/start/quickstart.md", ["import"], "test_the_quickstart_in_typescript"),
    ("docs/guides/importing.md", [".venv/bin/python manage.py import_content"], COMMANDS),
    ("docs/guides/importing.md", ['{"object"'], "test_an_import_reports_as_the_guide_shows"),
    ("docs/reference/observability.md", ['{"time"'], "test_the_guide_shows_the_fields_of_a_line"),
    ("docs/reference/observability.md", ["# prometheus.yml"], "test_prometheus_is_told_where_to_ask"),
    ("docs/guides/archive.md", ["python3 run.py setup --archive"],
     "test_a_set_up_keeps_the_extras_that_the_installation_had"),
    ("docs/guides/archive.md", [".venv/bin/python manage.py archive_events"],
     "test_the_closed_months_of_all_accounts_are_archived_as_they_were_recorded"),
    ("docs/guides/archive.md", ["setfacl"], "Needs a user of an engine, and a file system with ACLs."),
    ("docs/guides/archive.md", ["{"], "test_the_policy_of_the_guide_is_enough_and_opens_no_other_prefix"),
    ("docs/guides/archive.md", ["ARCHIVE_DIR"], "test_the_variables_of_the_guide_are_accepted_together"),
    ("docs/guides/archive.md", [".venv/bin/python -m pip install 'pyspark"],
     "test_the_report_of_the_group_equals_the_sums_of_the_api"),
    ("docs/guides/archive.md", ["account,name"], "test_it_is_printed_as_csv_without_rows_of_other_years"),
    ("docs/reference/observability.md", [".venv/bin/python -m pip install"],
     "test_the_guide_of_an_optional_group_installs_its_packages"),
    ("docs/reference/policies.md", ['{"defaultAction"', '{"attributes"', '{"schedule"', "["],
     "test_the_examples_are_valid_and_decided_as_told"),
    ("docs/reference/policies.md", ['{"name"'], "test_tests_are_those_of_the_guide_and_tried_in_no_time"),
    ("docs/reference/reports.md", ['{"id"'], "test_a_resource_that_is_shown_has_the_fields_that_it_has"),
    ("docs/guides/signed-decisions.md", ["import jwt"], "test_a_signed_decision_is_verified"),
    ("docs/guides/signed-decisions.md", [".venv/bin/python manage.py rotate_signing_key"], COMMANDS),
    ("docs/guides/sell-in-advance.md", ["api"], "test_10_000_accesses_are_sold_in_advance"),
    ("docs/guides/webhooks.md", ["api webhooks"], "test_webhooks"),
    ("docs/guides/webhooks.md", ["from standardwebhooks", "const { createHmac"],
     "test_a_receiver_takes_what_is_sent_and_nothing_else"),
    ("docs/reference/events.md", ["{"], "test_the_catalogue_and_the_openapi_document_have_every_type"),
    ("clients/python/README.md", ["from"], "test_the_example_of_the_python_client"),
    ("clients/typescript/README.md", ["import"], "test_the_example_of_the_typescript_client"),
]  # fmt: skip


def test_every_block_of_code_has_a_proof():
    printed = [(one.path, one.first) for one in blocks()]
    keys = [(path, first) for path, firsts, _ in PROOFS for first in firsts]
    proven = {key: [one for one in printed if one[0] == key[0] and one[1].startswith(key[1])] for key in keys}
    assert [one for one in printed if not any(one in found for found in proven.values())] == []
    assert [key for key, found in proven.items() if not found] == []


def test_a_proof_is_a_test():
    proofs = {proof for _, _, proof in PROOFS if proof.startswith("test_")}
    defined = Counter(re.findall(r"^def (test_\w+)\(", "\n".join(map(Path.read_text, sources("tests"))), re.MULTILINE))
    assert {proof: defined[proof] for proof in proofs if defined[proof] != 1} == {}
