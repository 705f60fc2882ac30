"""Servers that REDIS_URL may name but that would count limits wrongly: refused at the start, reported by /readyz."""

from collections.abc import Mapping

import redis
from msgspec import Struct
from redis.exceptions import NoPermissionError

from accounts.limits.redis_address import RedisAddress

OLDEST = (6, 2)


class Fault(Struct, frozen=True):
    """`code` is for /readyz; `message` says how to mend it, without host names."""

    code: str
    message: str


NO_SENTINEL = Fault("no_sentinel", "REDIS_URL names servers that are no Sentinels. Write redis://host:6379/0.")
UNKNOWN_PRIMARY = Fault(
    "unknown_primary", "No Sentinel of REDIS_URL watches a primary of this name. Correct the name after the hosts."
)
SENTINEL = Fault(
    "sentinel", "REDIS_URL leads to a Sentinel, which counts nothing. Write redis+sentinel://host:26379/NAME/0."
)
CLUSTER_NODE = Fault(
    "cluster_node",
    "REDIS_URL leads to one node of a Cluster, which counts only some accounts. Write redis+cluster://host:6379.",
)
NO_CLUSTER = Fault("no_cluster", "REDIS_URL names a server without cluster mode. Write redis://host:6379/0.")
UNASSIGNED_SLOTS = Fault(
    "unassigned_slots",
    "REDIS_URL leads to a Cluster that has slots without a primary. `valkey-cli --cluster check` lists them.",
)
SLOTS = 16_384
REPLICA = Fault("replica", "REDIS_URL leads to a read-only replica. Name its primary, or the Sentinels that watch it.")


def find_topology_fault(address: RedisAddress) -> Fault | None:
    """Inspect the Sentinels or nodes that the address names. Raises redis.RedisError if they do not answer."""
    if address.topology == "sentinel":
        return find_sentinel_fault(address)
    return find_cluster_fault(address) if address.topology == "cluster" else None


def find_sentinel_fault(address: RedisAddress) -> Fault | None:
    """Return the fault if a Sentinel answers and none knows the primary."""
    answered = False
    for sentinel in address.sentinel.sentinels:
        try:
            if address.primary in sentinel.sentinel_masters():
                return None
            answered = True
        except (redis.ConnectionError, redis.TimeoutError):
            continue
        except redis.ResponseError:
            return NO_SENTINEL
    return UNKNOWN_PRIMARY if answered else None


def find_cluster_fault(address: RedisAddress) -> Fault | None:
    """Inspect the first node that answers. Raises redis.ConnectionError if none does."""
    for host in address.hosts:
        with address.node(host) as node:
            try:
                if read_mode(read_info(node)) not in ("cluster", ""):
                    return NO_CLUSTER
                assigned = node.execute_command("CLUSTER INFO")["cluster_slots_assigned"]
            except (redis.ConnectionError, redis.TimeoutError):
                continue
        return None if int(assigned) == SLOTS else UNASSIGNED_SLOTS
    raise redis.ConnectionError("no node answers")


def read_info(client: redis.Redis) -> Mapping[str, object]:
    """Return the server's INFO; nothing if the user may not ask, and then the server is taken as it is."""
    try:
        info: Mapping[str, object] = client.info()
    except NoPermissionError:
        return {}
    return info


def read_mode(info: Mapping[str, object]) -> str:
    """Return `standalone`, `cluster` or `sentinel`."""
    return str(info.get("server_mode") or info.get("redis_mode") or "")  # of Valkey, of Redis


def find_fault_in(info: Mapping[str, object]) -> Fault | None:
    """Return the fault that the INFO of a single server shows."""
    if read_mode(info) == "sentinel":
        return SENTINEL
    if read_mode(info) == "cluster":
        return CLUSTER_NODE
    if info.get("role") == "slave":
        return REPLICA
    return find_settings_fault(info)


def find_settings_fault(info: Mapping[str, object]) -> Fault | None:
    version = str(info.get("redis_version", ""))
    if version and tuple(map(int, version.split(".")[:2])) < OLDEST:
        return Fault("too_old", f"Redis {version} is too old. Use Redis {'.'.join(map(str, OLDEST))} or Valkey.")
    policy = info.get("maxmemory_policy", "noeviction")
    if info.get("maxmemory") and policy != "noeviction":
        return Fault(
            "evicts_keys",
            f"Redis evicts keys when its memory is full (maxmemory-policy {policy}): their limits would begin again. "
            "Set maxmemory-policy noeviction.",
        )
    return None
