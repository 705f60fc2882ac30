"""The servers that REDIS_URL names: one server, the primary that Sentinels watch, or a Cluster.

Servers that would count limits wrongly are refused at the start and reported by /readyz. All run one script.

`redis+sentinel://` is spelt as in redis-sentinel-url and Prefect, `redis+cluster://` as in limits (Flask-Limiter).
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.connection import SSLConnection, parse_url
from redis.exceptions import NoPermissionError, RedisClusterException, RedisError, ResponseError

SECONDS_TO_WAIT = 0.5
Host = tuple[str, int]
Options = dict[str, Any]  # keyword arguments of redis-py's clients
Client = Redis | RedisCluster
Server = Redis | ClusterNode
ERRORS = (RedisError, RedisClusterException, OSError)
OLDEST = (6, 2)
SLOTS = 16_384
CLIENT_OPTIONS: Options = {
    "protocol": 2,
    "socket_timeout": SECONDS_TO_WAIT,
    "socket_connect_timeout": SECONDS_TO_WAIT,
    "max_connections": 256,
    "retry": Retry(NoBackoff(), 0),  # a script call sent twice could count twice
}
PORTS = {"sentinel": 26_379, "cluster": 6379}
SEVERAL = re.compile(r"(rediss?)\+(sentinel|cluster)://(?:([^@/?]*)@)?([^@/?]+)(?:/([^?]*))?(?:\?(.*))?")


class RedisAddress:
    """A parsed REDIS_URL. Raises ValueError if it is malformed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.topology = ""  # or sentinel or cluster
        self.hosts: list[Host] = []
        self.primary = ""  # its name in Sentinel
        self.options = dict(CLIENT_OPTIONS)
        self.sentinel_options = dict(CLIENT_OPTIONS)
        if "+" not in url.partition(":")[0]:
            if "," in url.partition("//")[2].rpartition("@")[2].partition("/")[0]:
                raise ValueError("several hosts need redis+sentinel://host,host/NAME/0 or redis+cluster://host,host")
            parsed(url)
            return
        match = SEVERAL.fullmatch(url)
        if match is None:
            raise ValueError("name hosts as in redis+sentinel://host:26379,host:26379/NAME/0")
        scheme, self.topology, user, hosts, path, query = match.groups(default="")
        if self.topology == "sentinel":
            self.primary, _, path = path.partition("/")
            if not self.primary:
                raise ValueError("name the primary after the Sentinels, as in redis+sentinel://host:26379/mymaster/0")
        elif path.strip("0"):
            raise ValueError("a Cluster has only the database 0")
        else:
            path = ""
        port = PORTS[self.topology]
        named = [parsed(f"redis://{host}") for host in hosts.split(",")]
        self.hosts = [(host["host"], host.get("port", port)) for host in named]
        at = f"{user}@" if user else ""
        given = parsed(f"{scheme}://{at}h/{path}?{query}")
        del given["host"]
        if given.pop("connection_class", None) is SSLConnection:
            given["ssl"] = True
        for name, value in given.items():
            if not name.startswith("sentinel_"):
                self.options[name] = value
            if name.startswith(("sentinel_", "ssl", "socket_")):
                self.sentinel_options[name.removeprefix("sentinel_")] = value

    def client(self) -> Client:
        """Return a client for one event loop, which connects when it is first used."""
        if self.topology == "sentinel":
            sentinel = Sentinel(self.hosts, sentinel_kwargs=self.sentinel_options, **self.options)
            return sentinel.master_for(self.primary)
        if self.topology == "cluster":
            return RedisCluster(
                startup_nodes=[ClusterNode(*host) for host in self.hosts],
                require_full_coverage=False,  # slots without a primary concern only their own keys
                dynamic_startup_nodes=False,  # a cluster that moved is found again by the names in REDIS_URL
                # An initialization after several MOVED would close connections that others await replies on.
                reinitialize_steps=0,
                **self.options,
            )
        return Redis.from_url(self.url, **CLIENT_OPTIONS)

    @cached_property
    def named(self) -> list[Redis]:
        """Return clients of the Sentinels or nodes that the URL names, for one event loop."""
        options = self.sentinel_options if self.topology == "sentinel" else self.options
        return [Redis(host=host, port=port, **options) for host, port in self.hosts]


def parsed(url: str) -> Options:
    try:
        found: Options = parse_url(url)
    except ValueError:  # whose message may show a part of the password
        raise ValueError("percent-encode special characters of the password, and check ports and options") from None
    return found


def counting_servers(client: Client) -> Mapping[str, Server]:
    """Return the server that counts, or the primaries of a Cluster by name."""
    if isinstance(client, Redis):
        return {"": client}
    return {node.name: node for node in client.get_primaries()}


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
REPLICA = Fault("replica", "REDIS_URL leads to a read-only replica. Name its primary, or the Sentinels that watch it.")


async def find_topology_fault(address: RedisAddress) -> Fault | None:
    """Inspect the Sentinels or nodes that the URL names. Returns None if none of them answers."""
    fault = None
    for server in address.named:
        try:
            if address.topology == "sentinel":
                if address.primary in await server.sentinel_masters():
                    return None
                fault = UNKNOWN_PRIMARY
            else:
                info = await server.execute_command("CLUSTER INFO")
                return None if int(info["cluster_slots_assigned"]) == SLOTS else UNASSIGNED_SLOTS
        except NoPermissionError:
            return None  # a user that may not ask: the servers are taken as they are
        except ResponseError:
            return NO_SENTINEL if address.topology == "sentinel" else NO_CLUSTER
        except ERRORS:
            continue
    return fault


async def find_server_fault(server: Server) -> Fault | None:
    """Inspect a server that counts: a single one, or a primary of a Cluster. Raises one of ERRORS."""
    try:
        info = await server.execute_command("INFO")
    except NoPermissionError:
        return None
    return find_fault_in(info, is_clustered=isinstance(server, ClusterNode))


def find_fault_in(info: Mapping[str, object], *, is_clustered: bool = False) -> Fault | None:
    """Return the fault that the INFO of a server shows. `is_clustered` if the URL names a Cluster."""
    if not is_clustered:
        mode = info.get("server_mode") or info.get("redis_mode")  # of Valkey, of Redis
        if mode == "sentinel":
            return SENTINEL
        if mode == "cluster":
            return CLUSTER_NODE
        if info.get("role") == "slave":
            return REPLICA
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
