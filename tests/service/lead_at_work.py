"""A lead who changes policies, models and webhooks while the server is killed, and a receiver of the webhooks."""

import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from defero.client import Client, ServiceError

KINDS = {
    "policy_changed",
    "model_loaded",
    "model_changed",
    "compared",
    "hook_changed",
    "hook_sent",
    "hook_failed",
    "outcome",
    "drift_raised",
    "drift_acted",
}
"""What the log must hold after a lead was at work, beside cases, questions and answers."""
CLOSED = "http://127.0.0.1:9/nobody"


class Lead(threading.Thread):
    """Changes something again and again; repeats what got no reply."""

    def __init__(self, url, token, receiver, seed=0):
        super().__init__(daemon=True)
        self.client, self.rng, self.receiver = Client(url, token, timeout=10), random.Random(seed), receiver
        self.stop, self.n_done = threading.Event(), 0

    def run(self):
        self._call("POST", "/v1/webhooks", {"url": self.receiver, "kinds": ["settled", "model_changed"]})
        self._call("PUT", "/v1/policy", {"on_drift": "correct"})
        while not self.stop.is_set():
            for method, path, body in self._round():
                self._call(method, path, body)
        self.client.close()

    def _round(self):
        """Yield a day's work: another policy, a failing webhook that ends, a model loaded, switched to and back."""
        asking, explore = self.rng.choice(["sequential", "one", "panel"]), self.rng.choice([0.0, 0.2])
        terms = {"asking": asking, "explore": explore, "error_cost": round(1 + self.rng.random(), 3)}
        yield "PUT", "/v1/policy", {**terms, "on_drift": self.rng.choice(["correct", "correct", "warn"])}
        hook = self._call("POST", "/v1/webhooks", {"url": CLOSED, "kinds": ["settled"]})
        yield "POST", "/v1/models", {"folder": "next"}
        yield "GET", "/v1/models/comparison", None
        yield "POST", "/v1/models/next/switch", None
        for who in ("p1", "p2", "p3", "model"):
            yield "POST", f"/v1/drift/{who}", {"action": self.rng.choice(["correct", "dismiss", "withdraw"])}
        yield "POST", "/v1/policies/1/restore", None
        yield "POST", "/v1/models/test/switch", None
        if hook is not None:
            yield "DELETE", f"/v1/webhooks/{hook['hook']}", None

    def _call(self, method, path, body=None):
        """Return the reply; None where it was refused, or it is time to stop."""
        while not self.stop.is_set():
            time.sleep(0.1)
            try:
                reply = self.client.call(method, path, body)
                self.n_done += 1
                return reply
            except ServiceError as error:
                if error.status in (404, 409):
                    return None
                if error.status not in (0, 503):
                    raise
        return None


class Receiver:
    """Takes deliveries of a webhook, and remembers the numbers of the entries in them."""

    def __init__(self):
        self.seqs = []
        taken = self.seqs

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                taken.extend(one["seq"] for one in json.loads(body)["events"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/in"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
