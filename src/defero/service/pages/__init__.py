"""Pages for people: the inbox of experts and the console of the lead. Plain forms, and a few lines of JavaScript.

`site.py` is the application with its pages. Every page is a Jinja2 template filled with plain values: `inbox.py` and
`inbox_actions.py` for experts; `console.py` with its panels, `cases.py`, `people.py`, `policy.py`, `models.py` and
`connections.py` for the lead. `session.py` turns a signed link into a cookie. `shown.py` says how a case looks,
`words.py` how numbers and times read, `charts.py` draws SVG.

To add a part to the console: a function from a `Sight` to the values of a template in `templates/panels/`, and its line
in `panels.PANELS`. To add a page: a router in `site.ROUTERS`, its routes in `access.roles.PAGES`, its line in `NAV`.
"""
