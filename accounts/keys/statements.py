"""SQL that reads keys with their accounts (accounts.keys.authentication)."""

# Digests in hex, epochs, and each key with its account as one JSON array, the cache key for parsed grants.
FIND = """SELECT {digest}, account.epoch, {array}
  FROM accounts_apikey api_key JOIN accounts_account account ON account.id = api_key.account_id
  WHERE api_key."""
POSTGRESQL = FIND.format(
    digest="encode(api_key.digest, 'hex')",
    array="""json_build_array(api_key.id, api_key.name, api_key.prefix, api_key.permissions, api_key.allowed_ips,
      api_key.expires_at, api_key.revoked_at, api_key.last_used_at, account.id, account.plan,
      account.requests_per_minute, account.requests_per_day, account.edge_requests_per_minute,
      account.edge_requests_per_day, account.suspended_at, api_key.allowed_hosts, account.unlisted_signers,
      account.visitor_addresses, api_key.type, api_key.rate_limit)::text""",
)
SQLITE = FIND.format(
    digest="hex(api_key.digest)",
    array="""json_array(hex(api_key.id), api_key.name, api_key.prefix, json(api_key.permissions),
      json(api_key.allowed_ips), api_key.expires_at, api_key.revoked_at, api_key.last_used_at, hex(account.id),
      account.plan, account.requests_per_minute, account.requests_per_day, account.edge_requests_per_minute,
      account.edge_requests_per_day, account.suspended_at, json(api_key.allowed_hosts), account.unlisted_signers,
      account.visitor_addresses, api_key.type, json(api_key.rate_limit))""",
)
BY_DIGEST = POSTGRESQL + "digest = ANY(%s::bytea[])"
