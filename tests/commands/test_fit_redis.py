"""Which REDIS_URL the service takes; tests/faults/test_unfit_redis.py has real servers."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import override_settings

from accounts.limits.redis_servers import RedisAddress, find_fault_in
from config.management.commands.serve import check_redis
from kit.telemetry.logs import passwords_in


@pytest.mark.parametrize(
    "url",
    ["redis://127.0.0.1:9/0", "redis+sentinel://127.0.0.1:9,127.0.0.1:10/mymaster", "redis+cluster://127.0.0.1:9"],
    ids=["server", "sentinel", "cluster"],
)
def test_a_redis_that_does_not_answer_prevents_no_start(url: str):
    with override_settings(REDIS_URL=url):
        check_redis()


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ({"redis_version": "6.0.16", "role": "master"}, "too_old"),
        ({"redis_version": "7.2.4", "redis_mode": "cluster"}, "cluster_node"),
        ({"redis_version": "6.2.0", "maxmemory": 0, "maxmemory_policy": "allkeys-lru"}, None),
        ({"redis_version": "10.0.1", "maxmemory": 1, "maxmemory_policy": "noeviction"}, None),
        ({}, None),
    ],
)
def test_info_is_judged(info: dict[str, object], code: str | None):
    fault = find_fault_in(info)
    assert (fault and fault.code) == code


def test_malformed_urls_keep_the_service_from_starting():
    url = "redis://:p,w@127.0.0.1:9,127.0.0.1:10/0"
    with (
        override_settings(REDIS_URL=url),
        pytest.raises(SystemCheckError, match=r"redis\+sentinel://.* or redis\+cluster://") as refusal,
    ):
        call_command("check")
    assert "p,w" not in str(refusal.value)
    for url in (
        "redis+sentinel://host:26379",
        "redis+sentinel:///mymaster",
        "redis+sentinel://:pa/ss@host/mymaster",
        "redis://:pa/ss@host:6379/0",
        "redis+sentinel://host:port/mymaster",
        "redis+cluster://host:6379/1",
    ):
        with override_settings(REDIS_URL=url), pytest.raises(SystemCheckError, match="E005") as refusal:
            call_command("check")
        assert "pa/" not in str(refusal.value)


def test_a_url_names_sentinels_their_primary_and_passwords_of_both():
    url = "rediss+sentinel://user:p%40ss@one,[::1]:5000/mymaster/3?sentinel_password=other-secret&ssl_cert_reqs=none"
    address = RedisAddress(url)

    assert address.hosts == [("one", 26_379), ("::1", 5000)]
    assert (address.primary, address.options["db"], address.options["password"]) == ("mymaster", 3, "p@ss")
    assert address.sentinel_options["password"] == "other-secret"
    assert "username" not in address.sentinel_options
    assert address.options["ssl"] is address.sentinel_options["ssl"] is True
    assert passwords_in(url) == ["p%40ss", "other-secret"]
