"""The few routes of Label Studio's API that are used, in memory; replies have the shape of version 1.23."""

import base64
import json
import re
from urllib.parse import parse_qs, urlsplit

TOKEN = "0123456789abcdef"


class StudioStub:
    """Projects, tasks, annotations, tabs and webhooks.

    Attributes
    ----------
    down : int
        Status of every reply while it is not 0.
    """

    def __init__(self, emails):
        self.users = dict(enumerate(emails, start=1))
        self.projects, self.tasks, self.tabs, self.webhooks = {}, {}, [], []
        self.last, self.down, self.refreshed, self.refuses_webhooks = 0, 0, 0, False
        self.access = None

    def annotate(self, task, email, choice=None, *, skip=False, control="answer"):
        """Do what an annotator does."""
        author = next(number for number, one in self.users.items() if one == email)
        result = [] if choice is None else [{"from_name": control, "type": "choices", "value": {"choices": [choice]}}]
        values = {"id": self.new(), "result": result, "completed_by": author, "was_cancelled": skip}
        self.tasks[task]["annotations"].append({**values, "created_at": f"2026-01-01T00:00:{len(self.tasks):02d}Z"})

    def open_for(self, name):
        """Return the numbers of the tasks in the tab of an expert."""
        return [number for number, one in self.tasks.items() if one["data"]["defero_expert"] == name]

    def new(self):
        self.last += 1
        return self.last

    def __call__(self, request):
        if self.down:
            return self.down, {}, b"not today"
        status, made = self.reply(request)
        return status, {"Content-Type": "application/json"}, b"" if made is None else json.dumps(made).encode()

    def reply(self, request):
        parts = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(request.body) if request.body else None
        if parts.path == "/api/token/refresh/":
            self.refreshed += 1
            self.access = jwt(body["refresh"] + str(self.refreshed))
            return 200, {"access": self.access}
        if request.headers["authorization"] not in (f"Token {TOKEN}", f"Bearer {self.access}"):
            return 401, {"detail": "Invalid token."}
        route = f"{request.method} {re.sub(r'[0-9]+', 'N', parts.path)}"
        numbers = [int(one) for one in re.findall(r"[0-9]+", parts.path)]
        return self.routed(route, numbers, query, body)

    def routed(self, route, numbers, query, body):
        match route:
            case "GET /api/users":
                return 200, [{"id": number, "email": email} for number, email in self.users.items()]
            case "GET /api/projects":
                known = [
                    {"id": number, **one} for number, one in self.projects.items() if query["title"] in one["title"]
                ]
                return 200, {"results": known}
            case "POST /api/projects":
                self.projects[self.new()] = body
                return 201, {"id": self.last, **body}
            case "GET /api/projects/N":
                return (200, {}) if numbers[0] in self.projects else (404, {})
            case "POST /api/projects/N/import":
                made = [self.new() for _ in body]
                self.tasks |= {number: {"annotations": [], **one} for number, one in zip(made, body, strict=True)}
                return 201, {"task_ids": made}
            case "GET /api/dm/views/":
                return 200, self.tabs
            case "POST /api/dm/views/":
                self.tabs.append(body)
                return 201, body
            case "GET /api/webhooks/":
                return 200, self.webhooks
            case "POST /api/webhooks/":
                if self.refuses_webhooks:
                    return 403, {"detail": "URL resolves to a reserved network address"}
                self.webhooks.append({"id": self.new(), **body})
                return 201, self.webhooks[-1]
            case "DELETE /api/webhooks/N/":
                self.webhooks = [one for one in self.webhooks if one["id"] != numbers[0]]
                return 204, None
            case "GET /api/tasks":
                first = (int(query["page"]) - 1) * int(query["page_size"])
                page = list(self.tasks.items())[first : first + int(query["page_size"])]
                if first and not page:
                    return 404, {"detail": "Invalid page."}
                return 200, {"total": len(self.tasks), "tasks": [{"id": number, **one} for number, one in page]}
            case "GET /api/tasks/N":
                if numbers[0] not in self.tasks:
                    return 404, {}
                task = self.tasks[numbers[0]]
                made = [{**one, "completed_by": {"id": one["completed_by"]}} for one in task["annotations"]]
                return 200, {"id": numbers[0], **task, "annotations": made}
            case "DELETE /api/tasks/N/":
                return (204, None) if self.tasks.pop(numbers[0], None) else (404, {})
        return 404, {}


def jwt(name):
    """Return a token that holds until the end of the test's hour."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1_800_003_600, "name": name}).encode()).decode().rstrip("=")
    return f"head.{claims}.signature"
