"""Pages for people: the inbox of experts and the console of the lead. Plain forms, and a few lines of JavaScript.

`site.py` is the application with its pages, and turns a signed link into a cookie. Every page is a Jinja2 template
filled with plain values: `inbox.py` for experts; `console.py` with its panels, `cases.py`, `people.py`, `policy.py`
(with the models) and `connections.py` for the lead. `sight.py` fills templates, `forms.py` reads forms and says how
numbers, times and entries of the log read, `charts.py` how a case looks, and draws SVG.

To add a part to the console: a function from a `Sight` to the values of a template in `templates/panels/`, and its line
in `console.PANELS`. To add a page: a router in `site.ROUTERS`, its routes in `access.roles.PAGES`, its line in `NAV`.
"""
