"""Parses REDIS_URL and connects to one server, to the primary that Sentinels watch, or to a Cluster.

`redis+sentinel://` is spelt as in redis-sentinel-url and Prefect, `redis+cluster://` as in limits (Flask-Limiter).
"""

import re
from functools import cached_property
from typing import Any

import redis
from redis import asyncio, cluster
from redis.backoff import NoBackoff
from redis.connection import SSLConnection, parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

SECONDS_TO_WAIT = 0.5
Host = tuple[str, int]
Options = dict[str, Any]  # keyword arguments of redis-py's clients
CLIENT_OPTIONS: Options = {
    "protocol": 2,
    "socket_timeout": SECONDS_TO_WAIT,
    "socket_connect_timeout": SECONDS_TO_WAIT,
    "max_connections": 256,
    "retry": Retry(NoBackoff(), 0),  # a script call sent twice could count twice
}
ON_LOOP: Options = {"retry": asyncio.retry.Retry(NoBackoff(), 0)}
PORTS = {"sentinel": 26_379, "cluster": 6379}
SEVERAL = re.compile(r"(rediss?)\+(sentinel|cluster)://(?:([^@/?]*)@)?([^@/?]+)(?:/([^?]*))?(?:\?(.*))?")


class RedisAddress:
    """A parsed REDIS_URL. Raises ValueError if it is malformed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.topology = ""  # or sentinel or cluster
        self.hosts: list[Host] = []
        self.primary = ""  # its name in Sentinel
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
        self.options: Options = {**CLIENT_OPTIONS, **parsed(f"{scheme}://{at}h/{path}?{query}")}
        del self.options["host"]
        if self.options.pop("connection_class", None) is SSLConnection:
            self.options["ssl"] = True
        prefix = "sentinel_"
        own = {name: self.options.pop(name) for name in list(self.options) if name.startswith(prefix)}
        shared = {name: value for name, value in self.options.items() if name.startswith(("ssl", "socket_"))}
        self.sentinel_options = {
            **CLIENT_OPTIONS,
            **shared,
            **{name.removeprefix(prefix): value for name, value in own.items()},
        }

    def client(self) -> redis.Redis | cluster.RedisCluster:
        """Return a client for threads. A Cluster's connects at once, others when they are first used."""
        if self.topology == "sentinel":
            return self.sentinel.master_for(self.primary)
        if self.topology == "cluster":
            nodes = [cluster.ClusterNode(*host) for host in self.hosts]
            return cluster.RedisCluster(startup_nodes=nodes, **self.cluster_options)
        return redis.Redis.from_url(self.url, **CLIENT_OPTIONS)

    def async_client(self) -> asyncio.Redis | asyncio.RedisCluster:
        """Return a client for one event loop, which connects when it is first used."""
        if self.topology == "sentinel":
            options = {**self.options, **ON_LOOP}
            sentinel = asyncio.Sentinel(self.hosts, sentinel_kwargs={**self.sentinel_options, **ON_LOOP}, **options)
            return sentinel.master_for(self.primary)
        if self.topology == "cluster":
            nodes = [asyncio.cluster.ClusterNode(*host) for host in self.hosts]
            # No steps: an initialization after several MOVED would close connections that others await replies on.
            options = {**self.cluster_options, **ON_LOOP, "reinitialize_steps": 0}
            return asyncio.RedisCluster(startup_nodes=nodes, **options)
        return asyncio.Redis.from_url(self.url, **{**CLIENT_OPTIONS, **ON_LOOP})

    @cached_property
    def sentinel(self) -> Sentinel:
        return Sentinel(self.hosts, sentinel_kwargs=self.sentinel_options, **self.options)

    def node(self, host: Host) -> redis.Redis:
        """Return a client of one named node of a Cluster."""
        return redis.Redis(*host, **self.options)

    @property
    def cluster_options(self) -> Options:
        return {
            **self.options,
            "require_full_coverage": False,  # slots without a primary concern only their own keys
            "dynamic_startup_nodes": False,  # a cluster that moved is found again by the names in REDIS_URL
        }


def parsed(url: str) -> Options:
    try:
        found: Options = parse_url(url)
    except ValueError:  # whose message may show a part of the password
        raise ValueError("percent-encode special characters of the password, and check ports and options") from None
    return found
