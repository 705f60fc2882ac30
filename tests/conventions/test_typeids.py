"""Ids are TypeIDs: the specification's test vectors (github.com/jetify-com/typeid, spec/, v0.3.0).

Every id of this service has a prefix, so one is added to the vectors without it.
"""

from uuid import UUID

from kit.values import ids

VALID = [
    ("nil", "x_00000000000000000000000000", "x", "00000000-0000-0000-0000-000000000000"),
    ("one", "x_00000000000000000000000001", "x", "00000000-0000-0000-0000-000000000001"),
    ("ten", "x_0000000000000000000000000a", "x", "00000000-0000-0000-0000-00000000000a"),
    ("sixteen", "x_0000000000000000000000000g", "x", "00000000-0000-0000-0000-000000000010"),
    ("thirty-two", "x_00000000000000000000000010", "x", "00000000-0000-0000-0000-000000000020"),
    ("max-valid", "x_7zzzzzzzzzzzzzzzzzzzzzzzzz", "x", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    ("valid-alphabet", "prefix_0123456789abcdefghjkmnpqrs", "prefix", "0110c853-1d09-52d8-d73e-1194e95b5f19"),
    ("valid-uuidv7", "prefix_01h455vb4pex5vsknk084sn02q", "prefix", "01890a5d-ac96-774b-bcce-b302099a8057"),
    ("prefix-underscore", "pre_fix_00000000000000000000000000", "pre_fix", "00000000-0000-0000-0000-000000000000"),
]
INVALID = {
    "prefix-uppercase": "PREFIX_00000000000000000000000000",
    "prefix-spaces": "  prefix_00000000000000000000000000",
    "separator-empty-prefix": "_00000000000000000000000000",
    "separator-empty": "_",
    "suffix-short": "prefix_1234567890123456789012345",
    "suffix-long": "prefix_123456789012345678901234567",
    "suffix-spaces": "prefix_1234567890123456789012345 ",
    "suffix-uppercase": "prefix_0123456789ABCDEFGHJKMNPQRS",
    "suffix-hyphens": "prefix_123456789-123456789-123456",
    "suffix-wrong-alphabet": "prefix_ooooooiiiiiiuuuuuuulllllll",
    "suffix-ambiguous-crockford": "prefix_i23456789ol23456789oi23456",
    "suffix-hyphens-crockford": "prefix_123456789-0123456789-0123456",
    "suffix-overflow": "prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz",
    "prefix-underscore-start": "_prefix_00000000000000000000000000",
    "prefix-underscore-end": "prefix__00000000000000000000000000",
}


def test_valid_vectors_are_read_and_written_as_published_and_invalid_ones_refused():
    for prefix, text, uuid in [vector[1:3][::-1] + vector[3:] for vector in VALID]:
        assert ids.decode(prefix, text) == UUID(uuid).bytes
        assert ids.encode(prefix, UUID(uuid).bytes) == text
    for text in INVALID.values():
        assert ids.decode("prefix", text) is None


def test_ids_of_one_request_are_counted_up_within_one_moment():
    texts, keys = ids.successive("dec", 100, 1_700_000_000_123_456_789)
    values = [int(key, 16) for key in keys]
    assert values == list(range(values[0], values[0] + 100))
    assert texts == [ids.encode("dec", bytes.fromhex(key)) for key in keys]
    assert {value >> 80 for value in values} == {1_700_000_000_123}
    texts, keys = ids.successive("dec", 1024, 1_700_000_000_123_456_789)
    assert len(set(texts)) == len(set(keys)) == 1024
    assert {text[:-2] for text in texts} == {texts[0][:-2]}
