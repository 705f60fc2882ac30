"""The statements that read keys with their accounts, from which grants are built."""

KEY_COLUMNS = (
    "id", "name", "type", "prefix", "permissions", "allowed_ips", "allowed_hosts", "rate_limit", "expires_at",
    "revoked_at", "last_used_at",
)  # fmt: skip
ACCOUNT_COLUMNS = (
    "id", "plan", "requests_per_minute", "requests_per_day", "edge_requests_per_minute", "edge_requests_per_day",
    "suspended_at", "unlisted_signers", "visitor_addresses",
)  # fmt: skip
NAMES = [f"api_key.{column}" for column in KEY_COLUMNS] + [f"account.{column}" for column in ACCOUNT_COLUMNS]
JSON_NAMES = ("api_key.permissions", "api_key.allowed_ips", "api_key.allowed_hosts", "api_key.rate_limit")
ON_SQLITE = {"api_key.id": "hex(api_key.id)", "account.id": "hex(account.id)"}
ON_SQLITE |= {name: f"json({name})" for name in JSON_NAMES}
# Digests in hex, epochs, and each key with its account as one JSON array, the cache key for parsed grants.
FIND = """SELECT {digest}, account.epoch, {array}
  FROM accounts_apikey api_key JOIN accounts_account account ON account.id = api_key.account_id
  WHERE api_key."""
FIND_ON_POSTGRESQL = FIND.format(
    digest="encode(api_key.digest, 'hex')", array=f"json_build_array({', '.join(NAMES)})::text"
)
FIND_ON_SQLITE = FIND.format(
    digest="hex(api_key.digest)", array=f"json_array({', '.join(ON_SQLITE.get(name, name) for name in NAMES)})"
)
FIND_BY_DIGEST = FIND_ON_POSTGRESQL + "digest = ANY(%s::bytea[])"
