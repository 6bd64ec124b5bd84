"""A server of this process on a loopback address, whose replies a test makes."""

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    """A request as it came in; names of headers in small letters."""

    method: str
    path: str
    headers: dict
    body: bytes


@contextmanager
def stub_server(reply):
    """Yield the URL and the list of requests of a server.

    `reply` takes a request and returns status, headers and body, or raw bytes: these are sent in pieces, 50 ms apart.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            one = Received(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            requests.append(one)
            made = reply(one)
            self.close_connection = True
            if isinstance(made, bytes):
                self._trickle(made)
                return
            status, headers, content = made
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _trickle(self, raw):
            head, _, content = raw.partition(b"\r\n\r\n")
            self.wfile.write(head + b"\r\n\r\n")
            for place in range(0, len(content), 50):
                self.wfile.write(content[place : place + 50])
                self.wfile.flush()
                time.sleep(0.05)

        def log_message(self, *_):
            pass

        def handle(self):
            with suppress(OSError):  # the client hung up, which some tests are about
                super().handle()

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._serve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
