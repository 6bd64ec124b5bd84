r"""Route prompts to language models behind an OpenAI-compatible server, and learn from every call.

    python examples/route_prompts.py prompts.csv --base-url http://localhost:8000/v1 \
        --member small=0.1,0.4 --member large=2.5,10 --worth 0.01 --folder routing

`prompts.csv` has the columns `prompt` and `expected`. A member is the name of a model with its dollars per million
tokens, in and out. The first prompts are asked of every member. Then, batch by batch: a pool is fitted on all calls so
far, each prompt goes to the member whose expected score is worth its price, and the call is recorded in
`routing/calls.jsonl`. A member that fails is left out for that prompt. After a stop, run it again: what the record
holds is not asked twice. The key is read from OPENAI_API_KEY.

Replace `score_answer` by your own check: a unit test, a judge (docs/howto/judge.md), or a person's click.
"""

import argparse
import json
import os
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero import ExpertPool, Team, Terms

EXPLORED_SHARE = 0.05
"""Share of prompts that go to a random member, so that the scores of no member grow old."""


@dataclass(frozen=True)
class Member:
    """A model and its price in dollars per million tokens."""

    name: str
    dollars_in: float
    dollars_out: float

    def price(self, usage: dict[str, int]) -> float:
        """Return what a call cost, from the `usage` of its reply."""
        tokens_in, tokens_out = usage["prompt_tokens"], usage["completion_tokens"]
        return (self.dollars_in * tokens_in + self.dollars_out * tokens_out) / 1e6


@dataclass(frozen=True)
class Call:
    """One answered prompt: a line of the record."""

    prompt: str
    member: str
    score: float
    price: float


class ChatClient:
    """The one request of the OpenAI protocol that is needed here; the `openai` package does the same."""

    def __init__(self, base_url: str, *, api_key: str = "", timeout: float = 60.0) -> None:
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.headers = {"Content-Type": "application/json", "Authorization": f"Bearer {api_key}"}
        self.timeout = timeout

    def ask(self, model: str, prompt: str) -> tuple[str, dict[str, int]]:
        """Return the answer and the tokens it took; raises OSError where the server does not answer."""
        body = {"model": model, "messages": [{"role": "user", "content": prompt}], "temperature": 0}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=self.timeout) as response:
            reply = json.load(response)
        return reply["choices"][0]["message"]["content"], reply["usage"]


def score_answer(answer: str, expected: str) -> float:
    """Return 1 where the answer is the expected one, else 0."""
    return float(answer.strip().lower() == expected.strip().lower())


class PromptRouter:
    """Members, a client, and the record of all calls, from which the pool is fitted again and again."""

    def __init__(self, members: Sequence[Member], client: ChatClient, *, folder: Path, worth: float) -> None:
        self.members = {member.name: member for member in members}
        self.client, self.folder, self.worth = client, folder, worth
        self.rng = np.random.default_rng(0)
        self.team: Any = None
        folder.mkdir(parents=True, exist_ok=True)
        self.record = folder / "calls.jsonl"
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        self.calls = [Call(**json.loads(line)) for line in lines]
        self.held = {(call.prompt, call.member): call for call in self.calls}
        self.answered = {call.prompt: call for call in self.calls}

    def call(self, member: str, prompt: str, expected: str) -> Call:
        """Ask a member, score the answer, and record both; a call of the record is not made again."""
        if (prompt, member) in self.held:
            return self.held[prompt, member]
        answer, usage = self.client.ask(member, prompt)
        done = Call(prompt, member, score_answer(answer, expected), self.members[member].price(usage))
        self.calls.append(done)
        self.held[prompt, member] = self.answered[prompt] = done
        with self.record.open("a") as file:
            file.write(json.dumps(asdict(done)) + "\n")
        return done

    def ask_all(self, prompt: str, expected: str) -> None:
        """Ask every member; who fails is left out for this prompt."""
        for member in self.members:
            try:
                self.call(member, prompt, expected)
            except OSError as error:  # refused, too many requests, timed out
                print(f"{member} does not answer: {error}", file=sys.stderr)

    def fit(self) -> None:
        """Fit the pool on all calls so far, save it, and load what a service would load."""
        if not self.calls:
            raise OSError("no member answers")
        calls, names = pd.DataFrame([asdict(call) for call in self.calls]), list(self.members)
        # NaN where a member was not asked.
        scores, prices = (
            calls.pivot_table(index="prompt", columns="member", values=what).reindex(columns=names)
            for what in ("score", "price")
        )
        # "auto" compares without prices: where one member is best at everything, it sees no use in the words.
        pool = ExpertPool().fit(list(scores.index), scores, prices=prices)
        pool.save(self.folder / "pool")
        self.team = Team.load(self.folder / "pool")

    def choose(self, prompt: str, available: dict[str, bool]) -> str:
        """Return the member who is to answer, or a blank where nobody is available."""
        able = [name for name, can in available.items() if can]
        if able and self.rng.random() < EXPLORED_SHARE:
            return str(self.rng.choice(able))
        decision = self.team.decide(prompt, terms=Terms(error_cost=self.worth, available=available))
        return "" if decision.expert[0] < 0 else str(decision.name[0])

    def answer(self, prompt: str, expected: str) -> Call:
        """Route a prompt and call the chosen member; where it fails, the next best. Else return the recorded call."""
        if prompt in self.answered:
            return self.answered[prompt]
        available = dict.fromkeys(self.members, True)
        while member := self.choose(prompt, available):
            try:
                return self.call(member, prompt, expected)
            except OSError:  # refused, too many requests, timed out
                available[member] = False
        raise OSError("no member answers")


def run(team: PromptRouter, prompts: pd.DataFrame, *, first: int, batch: int) -> list[list[Call]]:
    """Ask everybody the first prompts, then route the others; returns the calls of each batch."""
    for prompt, expected in prompts[["prompt", "expected"]][:first].itertuples(index=False):
        team.ask_all(prompt, expected)
    batches = []
    for start in range(first, len(prompts), batch):
        team.fit()
        rows = prompts[["prompt", "expected"]][start : start + batch].itertuples(index=False)
        batches.append([team.answer(prompt, expected) for prompt, expected in rows])
    return batches


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, route the prompts of a file, and print each batch."""
    parser = argparse.ArgumentParser(description="Route prompts to language models and learn from every call.")
    parser.add_argument("prompts", type=Path, help="CSV file with the columns prompt and expected")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--member", action="append", required=True, metavar="NAME=IN,OUT")
    parser.add_argument("--worth", type=float, default=0.01, help="dollars that a right answer is worth")
    parser.add_argument("--folder", type=Path, default=Path("routing"))
    parser.add_argument("--first", type=int, default=50, help="prompts that are asked of every member")
    parser.add_argument("--batch", type=int, default=50, help="prompts between two fits")
    given = parser.parse_args(arguments)
    members = []
    for text in given.member:
        name, _, dollars = text.rpartition("=")
        members.append(Member(name, *map(float, dollars.split(","))))
    client = ChatClient(given.base_url, api_key=os.environ.get("OPENAI_API_KEY", ""))
    team = PromptRouter(members, client, folder=given.folder, worth=given.worth)
    prompts = pd.read_csv(given.prompts, dtype=str, keep_default_na=False)
    for number, calls in enumerate(run(team, prompts, first=given.first, batch=given.batch), start=1):
        asked = pd.Series([call.member for call in calls]).value_counts().to_dict()
        score, price = np.mean([call.score for call in calls]), sum(call.price for call in calls)
        print(f"batch {number}: score {score:.2f}, {price:.6f} dollars, {asked}")


if __name__ == "__main__":
    main()
