"""The team at work: cases come in, each gets its answer or the expert to ask, and everything is in a log.

Rooms, from the bottom up; each imports only those above it in this list:

- `events/`: what can happen. `facts.py` and `outward.py` have one frozen class for each kind, `entry.py` a line of the
  log and its JSON.
- `problems.py`: `Problem`, the one shape of an error.
- `views/`: what the log says now, as pure functions `apply(state, entry)`: `cases.py` (where a case stands),
  `people.py`, `policy.py`, `connections.py`, `tallies.py` (counts by day and person), `drift.py` (who keeps their
  promises), `figures.py` and `kept.py` (what the console makes of the tallies), `ledger.py` (a piece of all of them in
  memory, to which a transaction adds entries).
- `flow/`: what becomes of a case. `team.py` (the model and the people behind its experts), `steps.py` (next steps of a
  batch within capacity), `directing.py` (rules, panels, exploration), `what_if.py` (cases under another policy or
  model), `command.py` (`Command`, `Desk`, and `do_all`, which does those that wait together), commands by what they are
  about (`cases`, `answers`, `outcomes`, `people`, `terms`, `connections`), `replies.py` (what clients are told).
- `store/`: `tables.py`, `database.py` (SQLite and PostgreSQL, on disk before the reply; migrations), `log.py`,
  `saved_views.py` (the views in their tables, and rebuilt), `contents.py` (what can be erased; the export),
  `sql_desk.py` (the desk of a transaction, idempotency keys), `writer.py` (one thread, group commit).
- `access/`: `roles.py` (the table of routes by role, and their rates), `tokens.py`, `signing.py` (signed links, cookie
  sessions, CSRF), `shell.py` (size limit, headers, log line).
- `outward/`: `requesting.py` (one request to another server), `webhooks.py` (entries of the log are sent on,
  signed, until they are taken), `language_models.py` (questions of experts that are language models), `chat.py` (what
  these are asked, and how a reply is read), `label_studio.py` (questions of experts who answer in Label Studio),
  `studio_api.py` (its routes, tasks and annotations).
- `office.py`: `Office`, a running service without HTTP: database, writer, tokens, clock.
- `api/`: `app.py`, and one file for each resource or a few that belong together; `requests.py` checks
  every caller before it reads what they send.
- `pages/`: inbox and console; `site.py` is the API with its pages. Panels of the console: `console.PANELS`.
- `serve.py`: the office behind uvicorn; `people.py`: people and tokens from the command line.

To add a resource: a router in `api/`, its line in `access/roles.py`, its place in `api/app.ROUTERS`. To add
something that happens: a fact in `events/`, its case in the views it changes, a command in `flow/`.
"""
