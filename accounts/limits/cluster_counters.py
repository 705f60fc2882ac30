"""Counters in a Cluster. All keys of a bucket have one hash tag, so each script call stays in one slot."""

from collections.abc import Sequence
from threading import Lock

import redis
from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.cluster import RedisCluster

from accounts.limits.counters import Consumed
from accounts.limits.redis_address import RedisAddress
from accounts.limits.redis_counters import ERRORS, SharedCounters, command, key_of
from accounts.limits.redis_faults import Fault, fault_of_cluster, fault_of_settings, info_of
from accounts.limits.windows import Consume
from kit.telemetry.tracing import traced


class ClusterCounters(SharedCounters):
    """Counts in a Cluster. While a primary does not answer, only its buckets are counted in this process."""

    def __init__(self, address: RedisAddress) -> None:
        super().__init__(address)
        self.lock = Lock()
        self.connected: RedisCluster | None = None

    def connect(self) -> RedisCluster:
        """Return the client, which asks the nodes for their slots when it is made."""
        if self.connected is None:
            with self.lock:
                if self.connected is None:
                    if not self.worth_asking():  # another thread has just tried
                        raise redis.ConnectionError("no node answers")
                    self.connected = self.address.cluster()
        return self.connected

    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        return [self.consume_one(consume, now) for consume in wanted]

    def consume_one(self, consume: Consume, now: int) -> Consumed:
        server = ""
        try:
            if self.worth_asking():
                cluster = self.connect()
                server = cluster.get_node_from_key(key_of(consume.bucket)).name
                if self.worth_asking(server):
                    counted = self.ask(cluster, consume, now)
                    self.note_answer(server, cluster)
                    return counted
        except ERRORS as error:
            self.note_failure(error, server)
        [counted] = self.consume_here([consume], now)
        return counted

    @traced("EVAL limits", system="redis")
    def ask(self, cluster: RedisCluster, consume: Consume, now: int) -> Consumed:
        """Run the script. The client follows MOVED and ASK, which say that nothing was counted."""
        granted, *used = cluster.execute_command(*command(consume, now))
        return granted, used

    def note_answer(self, server: str, cluster: RedisCluster | AsyncRedisCluster) -> None:
        if self.outages.since is not None:
            self.outages.forget_all_but({node.name for node in cluster.get_primaries()})
            self.note_success(server)

    def inspect(self) -> Fault | None:
        fault = fault_of_cluster(self.address)
        if fault is not None:
            return fault
        cluster = self.connect()
        faults, failed = [], False
        for primary in cluster.get_primaries():
            try:
                faults.append(fault_of_settings(info_of(primary.redis_connection)))
            except (redis.ConnectionError, redis.TimeoutError) as error:
                self.note_failure(error, primary.name)
                failed = True
            else:
                self.note_answer(primary.name, cluster)
        if failed:
            cluster.nodes_manager.initialize()  # a replica may have replaced it
        return next((one for one in faults if one is not None), None)

    def forget_all(self) -> None:
        self.fallback.forget_all()
        cluster = self.connect()
        for key in cluster.scan_iter("limit:*"):
            cluster.delete(key)
