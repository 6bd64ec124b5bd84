"""A web server in this process that can misbehave: ranges, cut connections, wrong answers."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What is served, how, and what was asked for."""

    def __init__(self, content=b"", *, tag='"v1"', cut_after=None, status=200, ranges=True, length=True):
        self.content, self.tag, self.cut_after = content, tag, cut_after
        self.status, self.ranges, self.length = status, ranges, length
        self.pages = {}
        self.asked = []
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
    asked = handler.headers.get("Range")
    site.asked.append(asked)
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
    start, fresh = 0, handler.headers.get("If-Range") in (None, site.tag)
    if asked and site.ranges and fresh:
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            handler.send_error(416)
            return
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    else:
        handler.send_response(200)
    if site.tag:
        handler.send_header("ETag", site.tag)
    if site.length:
        handler.send_header("Content-Length", str(len(content) - start))
    for name, value in site.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content[start:] if site.cut_after is None else content[start : start + site.cut_after])
