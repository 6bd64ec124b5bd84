"""Behind a proxy: secure cookies and real addresses, from a proxy on this machine alone."""

import shutil
import subprocess
from pathlib import Path

import pytest
from small_team import small_team
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from defero.service.access import RateLimit, issue_link
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.web.app import make_site

CONF = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text()
FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}
FEW = {"lead": (1.0, 9.0), "expert": (1.0, 9.0), "machine": (1.0, 9.0), "nobody": (0.001, 2.0)}


@pytest.fixture
def site(tmp_path):
    office = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), rates=RateLimit(FEW))
    with office.database.write() as connection:
        link = issue_link(connection, office.key, "p1", now=office.clock())
    yield Shell(make_site(office)), link
    office.close()


@pytest.mark.parametrize(("proxy", "secure"), [("127.0.0.1", True), ("192.0.2.1", False)])
def test_the_cookie_is_secure_where_the_proxy_speaks_tls(site, proxy, secure):
    app, link = site
    behind = ProxyHeadersMiddleware(app, trusted_hosts="127.0.0.1")  # what uvicorn does by default
    with TestClient(behind, client=(proxy, 5)) as http:
        reply = http.get(link, headers=FORWARDED)
    assert reply.status_code == 200
    assert ("secure" in reply.headers["set-cookie"].lower().replace(" ", "").split(";")) is secure


def test_requests_without_a_token_count_by_the_address_that_the_proxy_names(site):
    behind = ProxyHeadersMiddleware(site[0], trusted_hosts="127.0.0.1")
    with TestClient(behind, client=("127.0.0.1", 5)) as http:
        one = [http.get("/v1/me", headers={"x-forwarded-for": "203.0.113.7"}).status_code for _ in range(3)]
        other = http.get("/v1/me", headers={"x-forwarded-for": "203.0.113.8"}).status_code
    assert (one, other) == ([401, 401, 429], 401)


def test_the_proxy_replaces_what_the_client_says_of_itself():
    before, _, server = CONF.partition("server {")
    assert "log_format" in before  # nginx refuses it inside a server
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in server
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in server


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_accepts_its_file(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=team.example.org"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    conf = CONF.replace("/etc/ssl/team.example.org.crt", str(certificate)).replace(
        "/etc/ssl/team.example.org.key", str(key)
    )
    (tmp_path / "site.conf").write_text(conf.replace("/var/log/nginx", str(tmp_path)))
    whole = f"pid {tmp_path}/pid; error_log {tmp_path}/error; events {{}} http {{ include {tmp_path}/site.conf; }}"
    (tmp_path / "nginx.conf").write_text(whole)
    done = subprocess.run(["nginx", "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
