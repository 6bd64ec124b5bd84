"""REST under /v1, and pages for people: the inbox of experts and the console of the lead.

`app.py` is the application, with the errors in one shape, and turns a signed link into a cookie. Pages are plain forms
and a few lines of JavaScript; every one is a Jinja2 template filled with plain values. `sight.py` fills templates and
says how numbers and times read, `forms.py` reads forms as the models of `schemas.py`, `charts.py` says how a case and
its trail look, and draws SVG.

To add a part to the console: a function from a `Sight` to the values of a template in `templates/panels/`, and its line
in `console.PANELS`. To add a page: its `pages` router in `app.PAGE_ROUTERS`, its routes in `access.PAGES`, its line in
`NAV`.
"""
