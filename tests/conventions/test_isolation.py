from tests.conventions.endpoints import each_list, each_with_id, make_resources

KINDS = {
    "content": "cnt",
    "policy": "pol",
    "license": "lic",
    "site": "site",
    "key": "key",
    "decision": "dec",
    "entry": "led",
    "statement": "stm",
    "paidStatement": "stm",
    "audit": "aud",
    "event": "evt",
    "webhook": "we",
    "client": "cli",
    "requester": "customer",
    "wallet": "wal",
    "payment": "pay",
    "grant": "grt",
}


def same_but_for_the_id(reply, theirs, unknown):
    return reply.content.decode().replace(theirs, unknown)


@each_with_id()
def test_another_accounts_resource_stays_and_is_as_if_it_had_never_been(api, other_api, theirs, endpoint):
    paths = [
        f"/v1/content/{theirs['content']}", f"/v1/policies/{theirs['policy']}", f"/v1/licenses/{theirs['license']}",
        f"/v1/sites/{theirs['site']}", f"/v1/license-clients/{theirs['client']}",
        f"/v1/requesters/{theirs['requester']}", f"/v1/api-keys/{theirs['key']}",
        f"/v1/access/decisions/{theirs['decision']}", f"/v1/revenue/{theirs['entry']}",
        f"/v1/events/{theirs['event']}", f"/v1/webhooks/{theirs['webhook']}", f"/v1/wallets/{theirs['wallet']}",
    ]  # fmt: skip
    before = [other_api.get(path).body for path in paths]
    endpoint.send(api, theirs)
    assert [other_api.get(path).body for path in paths] == before

    unknown = {kind: f"{prefix}_{'0' * 26}" for kind, prefix in KINDS.items()}
    kind, *_ = [kind for kind in KINDS if f"{{{kind}}}" in endpoint.path]  # the outermost
    never_was, other = endpoint.send(api, unknown), endpoint.send(api, theirs)
    assert (never_was.status, never_was.error["code"], never_was.error["type"]) == (
        404,
        "resource_not_found",
        "not_found_error",
    )
    assert other.status == 404
    assert same_but_for_the_id(other, theirs[kind], unknown[kind]) == never_was.content.decode()
    assert set(other.headers) == set(never_was.headers)


NO_IDS = [
    "x", "cnt_", "pol_" + "0" * 25, "key_" + "0" * 27, "dec_" + "u" * 26, "cnt_8" + "0" * 25, "CNT_" + "0" * 26, "..",
    "%00", "%FF", "é", "a" * 3000,
]  # fmt: skip


@each_with_id()
def test_malformed_ids_and_ids_of_another_kind_are_not_found(api, endpoint, ids):
    for text in NO_IDS:
        reply = endpoint.send(api, dict.fromkeys(KINDS, text))
        assert (text, reply.status, reply.error["code"]) == (text, 404, "resource_not_found")
    kind, *_ = [kind for kind in KINDS if f"{{{kind}}}" in endpoint.path]  # the outermost
    swapped = ids["content" if kind != "content" else "policy"]
    assert endpoint.send(api, {**ids, kind: swapped}).status == 404


@each_list()
def test_lists_hold_nothing_of_another_account(api, ids, other_account, endpoint):
    before = endpoint.send(api, ids)
    theirs = make_resources(other_account)
    after = endpoint.send(api, ids)
    assert after.body == before.body
    assert not any(id_.encode() in after.content for id_ in theirs.values())
