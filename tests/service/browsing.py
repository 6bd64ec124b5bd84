"""A person with a browser, without the browser: a link opened, forms sent with their CSRF token."""

import re
from html.parser import HTMLParser

from starlette.testclient import TestClient

from defero.service.access import SESSION_COOKIE, issue_link


class Page(HTMLParser):
    """Words, ids, labels, landmarks and forms of a page."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.words = text, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, words):
        self.words.append(words)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def without_tokens(text):
    """Leave the CSRF tokens out of a page: a random token may hold any short string, such as a case's id."""
    return re.sub(r'(name="csrf" (?:value|content)=")[^"]+', r"\1", text)


class Person:
    """Somebody who has opened their link."""

    def __init__(self, app, office, person, *, now=None):
        self.http = TestClient(app, headers={"accept": "text/html"}, follow_redirects=False)
        with office.database.write() as connection:
            path = issue_link(connection, office.key, person, now=office.clock() if now is None else now)
        self.entered = self.http.get(path)

    def page(self, path, status=200):
        reply = self.http.get(path)
        assert reply.status_code == status, (path, reply.status_code, reply.text[:300])
        return reply.text

    def csrf(self, path):
        return re.search(r'name="csrf" value="([^"]+)"', self.page(path)).group(1)

    def send(self, path, *, on, **fields):
        """Send a form of a page, and return the reply."""
        return self.http.post(path, data={"csrf": self.csrf(on), **fields})

    def cookie(self):
        return self.http.cookies.get(SESSION_COOKIE)
