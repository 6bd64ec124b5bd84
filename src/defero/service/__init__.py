"""The team at work: cases come in, each gets its answer or the expert to ask, and everything is in a log.

Rooms, from the bottom up; each imports only those above it in this list:

- `events.py`: what can happen, one frozen class for each kind; `Entry` is a line of the log.
- `problems.py`: `Problem`, the one shape of an error.
- `views/`: what the log says now, as pure functions `apply(state, entry)`: `cases.py` (where a case stands, and what
  clients are told of it), `policy.py` (people and the policy), `connections.py`, `promises.py` (who keeps them),
  `tallies.py` (counts by day and person), `ledger.py` (a piece of all of them in memory, to which a transaction adds
  entries).
- `flow/`: what becomes of a case. `team.py` (the model and the people behind its experts; the models that are loaded),
  `steps.py` (next steps of a batch within capacity; rules, panels, exploration), `what_if.py` (cases under another
  policy or model), `command.py` (`Command`, `Desk`, and `do_all`, which does those that wait together), commands by
  what they are about (`cases.py`, `settings.py`, `connections.py`).
- `store/`: `database.py` (SQLite and PostgreSQL, on disk before the reply; migrations), `log.py` (the tables, and the
  log), `saved_views.py` (the views in their tables, and rebuilt), `contents.py` (what can be erased; the desk of a
  transaction), `writer.py` (one thread, group commit).
- `access.py`: the table of routes by role, and their rates; tokens, signed links, sessions, CSRF.
- `outward/`: `requesting.py` (one request to another server; webhooks), `language_models.py` (questions of experts that
  are language models), `label_studio.py` (questions of experts who answer in Label Studio), `studio_api.py` (its
  routes, tasks and annotations).
- `office.py`: `Office`, a running service without HTTP: database, writer, tokens, clock; people from the command line.
- `web/`: the API and the pages. One file for each resource, with its routes under `/v1` (`router`) and its pages
  (`pages`), which do the same commands; `requests.py` checks every caller before it reads what they send.
- `serve.py`: the office behind uvicorn.

To add a resource: a router in `web/`, its line in `access.ALLOWED`, its place in `web.app.ROUTERS`. To add something
that happens: a fact in `events.py`, its case in the views it changes, a command in `flow/`.
"""
