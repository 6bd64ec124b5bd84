"""A web server in this process that can misbehave: cut connections, wrong answers."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What is served, how, and what was asked for."""

    def __init__(self, content=b"", *, cut_after=None, status=200, length=True):
        self.content, self.cut_after = content, cut_after
        self.status, self.length = status, length
        self.pages, self.asked = {}, []
        self.headers = {}
        self.url = ""


@contextmanager
def serve(site):
    """Serve a site on this machine; `site.url` is its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self, site)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a client that goes away is no error here
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/file.bin"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler, site):
    """Answer one request as the site is told to."""
    site.asked.append(handler.path)
    content = site.pages.get(handler.path, site.content)
    if site.status in (301, 302):
        handler.send_response(site.status)
        for name, value in site.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        return
    if site.status != 200:
        handler.send_error(site.status)
        return
    handler.send_response(200)
    if site.length:
        handler.send_header("Content-Length", str(len(content)))
    for name, value in site.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content[: site.cut_after])
