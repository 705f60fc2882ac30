"""Which account a row of PostgreSQL belongs to: decision record 11 counts what is listed here.

`tests/conventions/test_account_tables.py` compares these lists with the migrated database.
"""

# They name the account through another table.
FOUND_THROUGH = {
    "accounts_webhookattempt",
    "accounts_webhookdelivery",
    "analytics_ruleusage",
    "licensing_policyrevision",
    "licensing_formername",
    "licensing_siterule",
    "accounts_endnotice",
}
# Its key is text that begins with the id of an account or of a policy.
NAMED_IN_TEXT = {"accounts_limitnotice"}
# Operators, and which accounts they may see.
OF_OPERATORS = {
    "accounts_authenticator",
    "accounts_recoverycode",
    "accounts_savedfilter",
    "accounts_staffscope",
    "accounts_staffscope_accounts",
    "accounts_stafftimezone",
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "auth_user",
    "auth_user_groups",
    "auth_user_user_permissions",
    "django_admin_log",
    "django_content_type",
    "django_session",
}
# Each server can fetch or compute its own.
OWN_OF_EACH_SERVER = {"django_migrations", "licensing_addresslist", "licensing_addressname", "accounts_redaction"}
# All servers must agree on these.
SHARED = {
    "accounts_pepperfingerprint",  # keys and stored secrets are only readable with this pepper
    "analytics_exchangerate",
    "licensing_signingkey",  # tokens name the key, not the account
}
# One row about all accounts: how far a job has got.
POSITIONS = {"analytics_archivehorizon", "analytics_eventhorizon", "licensing_visitscounted"}
WITHOUT_ACCOUNT = NAMED_IN_TEXT | OF_OPERATORS | OWN_OF_EACH_SERVER | SHARED | POSITIONS

# Primary keys that are chosen at random, or made from the time and random bits: unique over all servers.
RANDOM = "uuid"
# Other unique keys without the account.
UNIQUE_WITHOUT_ACCOUNT = {
    "accounts_apikey_digest_key",  # a request is authenticated by it, before its account is known
    "an_end_is_told_once",
    "analytics_payment_reverses_id_key",
    "licensing_otherhosts_pages_id_key",
    "licensing_portalsession_digest_key",  # the holder of a link is found by it, before its account is known
    "licensing_site_pages_id_key",
    "one_count_per_rule_and_requester",
    "one_delivery_per_endpoint",
    "one_revision_per_version",
    "one_site_rule_per_position",
    "one_void",
    "one_wallet_of_license",
    "one_wallet_of_requester",
}
# Tables whose numbers other rows of the account hold, so that a row keeps its number wherever it is moved.
NUMBERS_THAT_ROWS_REFER_TO = {"licensing_page", "licensing_requester"}

# Without the archive's catalogue, whose tables pyiceberg makes.
TABLES = """
SELECT relname, EXISTS (
  SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'account_id' AND NOT attisdropped)
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname !~ '^iceberg_'"""
