"""Bounds that several resources share."""

MAX_WORD_COUNT = 2_147_483_647
