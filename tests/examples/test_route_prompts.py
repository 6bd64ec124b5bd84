"""examples/route_prompts.py, end to end against a stub of an OpenAI-compatible server."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from examples.route_prompts import main

CAPITALS = {"France": "Paris", "Spain": "Madrid", "Italy": "Rome", "Norway": "Oslo", "Japan": "Tokyo", "Peru": "Lima"}


class Stub(BaseHTTPRequestHandler):
    """`small` can add and knows no capital; `large` knows both; `broken` is over its rate limit once it has learned."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, model = body["messages"][0]["content"], body["model"]
        self.server.asked.append((model, prompt))
        if model == "broken" and sum(name == "broken" for name, _ in self.server.asked) > self.server.first:
            return self.send_error(429)
        a_sum = re.search(r"sum of (\d+) and (\d+)", prompt)
        if a_sum:
            answer = str(int(a_sum[1]) + int(a_sum[2]))
        else:
            answer = next(city for land, city in CAPITALS.items() if land in prompt) if model != "small" else "Berlin"
        reply = {
            "choices": [{"message": {"role": "assistant", "content": answer}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    stub = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    stub.asked, stub.first = [], 40
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield stub
    stub.shutdown()
    thread.join()
    stub.server_close()


def prompts(n):
    rng = np.random.default_rng(0)
    sums = [(a, b) for a, b in rng.integers(1, 500, (n // 2, 2))]
    rows = [(f"Compute the sum of {a} and {b}.", str(a + b)) for a, b in sums]
    lands = list(CAPITALS.items())
    rows += [(f"Name the capital city of {lands[k % 6][0]}, question {k}.", lands[k % 6][1]) for k in range(n // 2)]
    return pd.DataFrame([rows[i] for i in rng.permutation(n)], columns=["prompt", "expected"])


def run_example(folder, server, *members, n):
    prompts(n).to_csv(folder / "prompts.csv", index=False)
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    options = [text for member in members for text in ("--member", member)]
    main(
        [str(folder / "prompts.csv"), "--base-url", url, *options, "--folder", str(folder / "routing"), "--first", "40"]
    )
    return [json.loads(line) for line in (folder / "routing" / "calls.jsonl").read_text().splitlines()]


def test_it_routes_calls_records_and_routes_again(tmp_path, server, capsys):
    calls = run_example(tmp_path, server, "small=0.1,0.4", "large=100,400", n=140)
    assert len(calls) == len(server.asked) == 2 * 40 + 100
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed] == ["batch 1", "batch 2"]
    routed = pd.DataFrame(calls[80:])
    sums = routed["prompt"].str.contains("sum")
    # Up to the random ones: sums go to the cheap member, capitals to the one who knows them.
    assert (routed["member"][sums] == "small").mean() > 0.9
    assert (routed["member"][~sums] == "large").mean() > 0.9
    assert routed["score"].mean() > 0.9
    price = {"small": (0.1 * 10 + 0.4 * 2) / 1e6, "large": (100 * 10 + 400 * 2) / 1e6}
    assert routed["price"].tolist() == pytest.approx(routed["member"].map(price).tolist())
    assert (tmp_path / "routing" / "pool" / "model.json").exists()


def test_a_member_that_fails_is_replaced(tmp_path, server):
    calls = run_example(tmp_path, server, "broken=0.1,0.4", "large=100,400", n=80)
    refused = [prompt for name, prompt in server.asked if name == "broken"][40:]
    assert refused  # the cheap one was chosen first
    assert {call["member"] for call in calls[80:]} == {"large"}
    assert len(calls) == 80 + 40


def test_a_member_that_fails_at_first_is_left_out_for_those_prompts(tmp_path, server, capsys):
    server.first = 10
    calls = run_example(tmp_path, server, "broken=0.1,0.4", "large=100,400", n=60)
    assert sum(call["member"] == "broken" for call in calls) == 10
    assert sum(call["member"] == "large" for call in calls) == 60
    assert "broken does not answer: HTTP Error 429" in capsys.readouterr().err


def test_a_second_run_asks_only_what_the_record_lacks(tmp_path, server):
    calls = run_example(tmp_path, server, "small=0.1,0.4", "large=100,400", n=80)
    record = tmp_path / "routing" / "calls.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join([*lines[:5], *lines[6:-3]]))  # one call of the first prompts, three routed ones
    lost = {(calls[5]["member"], calls[5]["prompt"])}
    server.asked.clear()
    again = run_example(tmp_path, server, "small=0.1,0.4", "large=100,400", n=80)
    assert len(server.asked) == 4
    assert lost <= set(server.asked)
    assert {call["prompt"] for call in again} == {call["prompt"] for call in calls}


def test_nobody_who_answers_is_one_error(tmp_path, server):
    server.first = 0
    with pytest.raises(OSError, match="no member answers"):
        run_example(tmp_path, server, "broken=0.1,0.4", n=60)
