"""A Valkey Cluster, and a Valkey primary whose failover Sentinels manage. Timeouts are short."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.services.server import UnavailableError, directory, eventually
from tests.services.valkey_server import Valkey, valkey

NODE_TIMEOUT = 1500  # milliseconds: shorter, and a busy machine fails over by itself
READY_SECONDS = 30
SLOTS = 16_384
REPLICATED = ("--repl-diskless-sync-delay", "0")
CLUSTERED = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT),
             "--cluster-require-full-coverage", "no", *REPLICATED)  # fmt: skip


def wait_for(condition: Callable[[], Any], what: str) -> None:
    if not eventually(condition, READY_SECONDS):
        raise UnavailableError(f"{what} was not ready within {READY_SECONDS} s.")


def info(node: Valkey, section: str) -> dict[str, Any]:
    with node.client() as client:
        found: dict[str, Any] = client.info(section)
    return found


class Cluster:
    """Primaries that share the slots evenly, each with one replica."""

    def __init__(self, nodes: list[Valkey]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def join(self) -> None:
        primaries = self.nodes[: len(self.nodes) // 2]
        for number, node in enumerate(self.nodes):
            with node.client() as client:
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
                client.execute_command("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
        for number, node in enumerate(primaries):
            first, end = (SLOTS * part // len(primaries) for part in (number, number + 1))
            with node.client() as client:
                client.execute_command("CLUSTER ADDSLOTSRANGE", first, end - 1)
        wait_for(lambda: all(self.known_nodes(node) == len(self.nodes) for node in self.nodes), "The cluster")
        for primary, replica in zip(primaries, self.nodes[len(primaries) :], strict=True):
            with primary.client() as client:
                name = client.execute_command("CLUSTER MYID")
            with replica.client() as client:
                client.execute_command("CLUSTER REPLICATE", name)
        wait_for(self.is_healthy, "The cluster")

    @staticmethod
    def known_nodes(node: Valkey) -> int:
        with node.client() as client:
            nodes = client.execute_command("CLUSTER NODES").values()
        return sum("handshake" not in node["flags"] for node in nodes)

    def is_healthy(self) -> bool:
        for node in self.nodes:
            with node.client() as client:
                if client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                    return False
            found = info(node, "replication")
            if found["role"] == "slave" and found["master_link_status"] != "up":
                return False
        return True

    def primary_of(self, key: str) -> Valkey:
        """Return the node that serves the key, once all nodes agree: they hear of a failover one after another."""
        wait_for(lambda: len({self.port_of(key, node) for node in self.nodes}) == 1, "The cluster")
        return self.node_on(self.port_of(key, self.nodes[0]))

    @staticmethod
    def port_of(key: str, asked: Valkey) -> int:
        with asked.client() as client:
            slot = client.execute_command("CLUSTER KEYSLOT", key)
            slots = client.execute_command("CLUSTER SLOTS")
        return next(int(primary[1]) for first, last, primary, *_ in slots if first <= slot <= last)

    def node_on(self, port: int) -> Valkey:
        return next(node for node in self.nodes if node.port == port)

    @staticmethod
    def is_primary(node: Valkey) -> bool:
        return bool(info(node, "replication")["role"] == "master")

    def replica_of(self, primary: Valkey) -> Valkey:
        return next(
            node
            for node in self.nodes
            if node is not primary and info(node, "replication").get("master_port") == primary.port
        )

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


@contextmanager
def valkey_cluster(primaries: int = 3) -> Iterator[Cluster]:
    """Run primaries that share the slots, and a replica for each."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(valkey(*CLUSTERED)) for _ in range(2 * primaries)]
        cluster = Cluster(nodes)
        cluster.join()
        yield cluster


class Sentinel(Valkey):
    """A Sentinel that watches a primary under the name `mymaster`."""

    name = "Sentinel"

    def __init__(self, directory: Path, primary: Valkey, quorum: int) -> None:
        super().__init__(directory, [])
        config = directory / "sentinel.conf"
        config.write_text(
            f"sentinel monitor mymaster 127.0.0.1 {primary.port} {quorum}\n"
            f"sentinel down-after-milliseconds mymaster {NODE_TIMEOUT}\n"
            "sentinel failover-timeout mymaster 3000\n"
        )
        config.chmod(0o666)  # it rewrites the file, as another user

    def command(self) -> list[str]:
        config = str(self.directory / "sentinel.conf")
        return [str(self.binaries / "valkey-server"), config, "--sentinel", "--port", str(self.port)]


class Watched:
    """A primary, its replica, and the Sentinels that watch them."""

    def __init__(self, primary: Valkey, replica: Valkey, sentinels: list[Sentinel]) -> None:
        self.primary, self.replica, self.sentinels = primary, replica, sentinels

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels) + "/mymaster/0"

    def is_healthy(self) -> bool:
        if info(self.replica, "replication")["master_link_status"] != "up":
            return False
        for one in self.sentinels:
            with one.client() as client:
                [primary] = client.sentinel_masters().values()
            if (primary["num-other-sentinels"], primary["num-slaves"]) != (len(self.sentinels) - 1, 1):
                return False
        return True


@contextmanager
def valkey_sentinel() -> Iterator[Watched]:
    """Run a primary, a replica and three Sentinels."""
    with ExitStack() as stack:
        primary = stack.enter_context(valkey(*REPLICATED))
        replica = stack.enter_context(valkey("--replicaof", f"127.0.0.1 {primary.port}", *REPLICATED))
        sentinels = [Sentinel(stack.enter_context(directory()), primary, quorum=2) for _ in range(3)]
        for one in sentinels:
            stack.callback(one.kill)
            one.start_anywhere()
        watched = Watched(primary, replica, sentinels)
        wait_for(watched.is_healthy, "Sentinel")
        yield watched
