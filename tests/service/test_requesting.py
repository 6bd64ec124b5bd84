"""Requests to other servers: whole replies, within their time and size, and nobody is sent elsewhere."""

import time

import pytest
from stub_server import stub_server

from defero.service.outward import requesting
from defero.service.outward.requesting import send


def test_a_reply_comes_whole_with_its_headers():
    with stub_server(lambda one: (201, {"X-More": "yes"}, one.body + b"!")) as (url, requests):
        reply = send("PUT", f"{url}/a/b?c=1", b"hello", {"X-Some": "1"}, 5.0)
    assert (reply.status, reply.body, reply.headers["x-more"], reply.ok) == (201, b"hello!", "yes", True)
    assert (requests[0].method, requests[0].path, requests[0].headers["x-some"]) == ("PUT", "/a/b?c=1", "1")


def test_a_redirect_is_not_followed():
    with stub_server(lambda _: (302, {"Location": "/elsewhere"}, b"")) as (url, requests):
        assert send("GET", url, None, {}, 5.0).status == 302
    assert len(requests) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://a..b/"])
def test_nobody_there_is_no_reply(url):
    assert send("GET", url, None, {}, 2.0).status == 0


@pytest.mark.parametrize("length", ["", "Content-Length: 1000\r\n"])
def test_a_reply_that_trickles_in_ends_at_its_time(length):
    with stub_server(lambda _: f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + b"x" * 1000) as (url, _):
        start = time.monotonic()
        assert send("GET", url, None, {}, 0.3).status == 0
        assert time.monotonic() - start < 2


def test_a_reply_that_breaks_off_or_is_too_long_is_none(monkeypatch):
    with stub_server(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort") as (url, _):
        assert send("GET", url, None, {}, 5.0).status == 0
    monkeypatch.setattr(requesting, "MOST_BYTES", 10)
    with stub_server(lambda _: (200, {}, b"x" * 11)) as (url, _):
        assert send("GET", url, None, {}, 5.0).status == 0


@pytest.mark.parametrize("peer", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "0.0.0.0"])
def test_nothing_is_sent_to_where_clouds_keep_secrets(monkeypatch, peer):
    """By the address of the connection: a name may lead anywhere, and elsewhere the next time."""
    with stub_server(lambda _: (200, {}, b"secret")) as (url, requests):
        real = requesting.may_be_sent_to
        monkeypatch.setattr(requesting, "may_be_sent_to", lambda _: real(peer))
        assert send("GET", f"{url}/latest/meta-data", None, {}, 5.0).status == 0
    assert requests == []


def test_a_host_that_is_not_named_gets_nothing(monkeypatch):
    with stub_server(lambda _: (200, {}, b"")) as (url, requests):
        monkeypatch.setenv(requesting.OUTWARD_HOSTS, "llm.example")
        assert send("GET", url, None, {}, 5.0).status == 0
        monkeypatch.setenv(requesting.OUTWARD_HOSTS, f"llm.example, {url.removeprefix('http://')}")
        assert send("GET", url, None, {}, 5.0).status == 200
    assert len(requests) == 1
