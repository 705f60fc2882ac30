import pytest

from tests.commands.starting import start


@pytest.mark.parametrize("name", ["ALLOWED_HOSTS", "ADMIN_HOST"])
@pytest.mark.parametrize("value", ["https://api.example.com", "api.example.com:8000", "api.example.com/v1"])
def test_invalid_host_names_are_refused(name, value, tmp_path):
    done = start(tmp_path, **{name: value})
    assert done.returncode == 1
    assert f"{name} must be a host name such as api.example.com" in done.stderr
    assert f"not {value!r}" in done.stderr


def test_host_names_addresses_and_wildcards_are_taken(tmp_path):
    for value in ("*", ".example.com,[::1]", "api.example.com, 127.0.0.1"):
        assert start(tmp_path, ALLOWED_HOSTS=value, ADMIN_HOST="admin.example.com").returncode == 0
    for value in ("", " ", "0", "0, 5"):
        assert start(tmp_path, WEBHOOK_RETRY_SCHEDULE=value).returncode == 0


@pytest.mark.parametrize("value", ["0,,5", "0,5,", "0,x", "-1"])
def test_a_schedule_with_a_gap_or_without_numbers_is_refused(value: str, tmp_path):
    done = start(tmp_path, WEBHOOK_RETRY_SCHEDULE=value)
    assert done.returncode == 1
    assert f"WEBHOOK_RETRY_SCHEDULE must be seconds separated by commas, not {value!r}" in done.stderr
