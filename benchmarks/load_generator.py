"""A cheap load generator: requests as bytes on open connections, so that the machine is left to the server.

`defero.client` reads every reply into Python values, which for 500 cases costs about what the server spends on them.
Here a reply is read to its end, its status and its number of cases are checked, and nothing else is done with it.
"""

import json
import socket
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PIECE = 1 << 20


@dataclass(frozen=True)
class Load:
    """What a load gave.

    Attributes
    ----------
    waits : seconds from when a request was due to the end of its reply
    seconds : float
        Of the whole load.
    cpu_seconds : float
        Of the generator.
    n_cases : int
    """

    waits: Sequence[float]
    seconds: float
    cpu_seconds: float
    n_cases: int

    @property
    def cases_per_second(self) -> int:
        """Cases posted, on disk and answered a second."""
        return round(self.n_cases / self.seconds)

    def milliseconds(self) -> list[float]:
        """Return the median and the 99th percentile of the waits."""
        return [round(1000 * float(np.quantile(self.waits, share)), 1) for share in (0.5, 0.99)]


class Connection:
    """An open connection to a service on this machine."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            "POST /v1/cases HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {token}\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n"
        )

    def post(self, body: bytes) -> bytes:
        """Post cases with a new idempotency key; return the reply."""
        self._socket.sendall((self._head % (uuid.uuid4().hex, len(body))).encode() + body)
        reply = self._socket.recv(_PIECE)
        while (end := reply.find(b"\r\n\r\n")) < 0:
            reply += self._socket.recv(_PIECE)
        head = reply[:end].lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"the service refused: {reply[:300]!r}")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        pieces, left = [reply[end + 4 :]], length - len(reply) + end + 4
        while left > 0:
            pieces.append(self._socket.recv(_PIECE))
            left -= len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def body_of(rows: Sequence[Sequence[float]]) -> bytes:
    """Return the body of a request with some cases."""
    return json.dumps({"cases": [{"features": list(row)} for row in rows]}).encode()


def run_load(
    port: int,
    token: str,
    bodies: Sequence[bytes],
    *,
    n_cases: int,
    clients: int,
    seconds: float = 3_600.0,
    most: int = 10**9,
    rate: float | None = None,
    empty: bool = False,
) -> Load:
    """Post bodies of `n_cases` from several connections, until the time is over or enough is done.

    Parameters
    ----------
    rate : float, optional
        Requests a second; by default each connection posts as soon as it has its reply.
    empty : bool
        Whether replies have no cases.
    """
    waits: list[float] = []
    failures: list[BaseException] = []
    left, lock = [most], threading.Lock()
    started, spent = time.monotonic(), time.process_time()
    pause = 0.0 if rate is None else clients / rate

    def work(place: int) -> None:
        connection, due, turn = Connection(port, token), started + pause * place / clients, place
        try:
            while time.monotonic() - started < seconds:
                with lock:
                    left[0] -= 1
                    if left[0] < 0:
                        return
                if pause:
                    time.sleep(max(0.0, due - time.monotonic()))
                begun = due if pause else time.monotonic()
                reply = connection.post(bodies[turn % len(bodies)])
                waits.append(time.monotonic() - begun)
                if reply.count(b'"case":') != (0 if empty else n_cases):
                    raise RuntimeError(f"a reply has other cases: {reply[:300]!r}")
                due, turn = due + pause, turn + clients
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return Load(waits, time.monotonic() - started, time.process_time() - spent, n_cases * len(waits))


def figures_of(load: Load, name: str, server_seconds: float) -> dict[str, Any]:
    """Return the figures of a load: rate, waits, and CPU milliseconds a case of server and generator."""
    return {
        f"{name}: cases/s": load.cases_per_second,
        f"{name}: ms p50, p99": load.milliseconds(),
        f"{name}: server CPU ms a case": round(1000 * server_seconds / load.n_cases, 3),
        f"{name}: load generator CPU ms a case": round(1000 * load.cpu_seconds / load.n_cases, 3),
    }
