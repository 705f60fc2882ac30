"""The keys and texts of metadata that callers attach to a resource, and of what they say of a requester."""

import re

KEY_PATTERN = "[A-Za-z0-9_.-]{1,64}"
KEY_RULE = "A key has 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-'."
MAX_KEYS = 50
MAX_TEXT = 500
match_key = re.compile(KEY_PATTERN).fullmatch
