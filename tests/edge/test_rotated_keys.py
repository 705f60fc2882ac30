"""A customer whose API key was rotated, as the guide to leaked keys says."""

from tests import factories
from tests.edge.asking import LICENSED


def test_a_merge_gives_the_new_key_the_licences_of_the_rotated_one(ask, site, account, api):
    site(LICENSED)
    old, old_text = factories.api_key(account)
    factories.license(account, requester_id=old.pk)
    assert ask("/premium/a", authorization=f"Bearer {old_text}").status == 200
    new = api.post(f"/v1/api-keys/{old.pk}/rotate", {"overlapSeconds": 0})
    authorization = f"Bearer {new['key']}"
    assert ask("/premium/a", authorization=authorization).status == 402
    found = api.get(f"/v1/access/decisions?requesterId={old.pk}")["data"]
    assert [one["url"] for one in found] == ["https://pub.example/premium/a"]
    api.post("/v1/requesters", {"id": new["id"]})
    assert api.post(f"/v1/requesters/{old.pk}/merge", {"into": new["id"]}).status == 200
    assert ask("/premium/a", authorization=authorization).status == 200
