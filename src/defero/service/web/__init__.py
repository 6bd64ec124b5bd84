"""REST under /v1, and pages for people: the inbox of experts and the console of the lead.

`app.py` is the application, with the errors in one shape, and turns a signed link into a cookie. Pages are plain forms
and a few lines of JavaScript; every one is a Jinja2 template filled with plain values. `sight.py` fills templates and
says how numbers and times read, `forms.py` reads forms as the bodies of the API, `charts.py` says how a case and
its trail look, and draws SVG.

To add a part to the console: a function from a `Sight` to the values of a template in `templates/panels/`, and its line
in `console.PANELS`. To add a page: its `pages` in `app.PAGE_ROUTERS`, its line in `NAV`. A form of it does what a route
of the API does: `pages.form` names that route's function, and where the browser goes on to.
"""
