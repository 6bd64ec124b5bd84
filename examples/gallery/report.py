"""How good is the team?

The report of a clinic's table is a page of its own. `defero report` writes the same page. It needs no other file and
no connection.
"""

from importlib.resources import files

from defero import Study, read_cases

table = str(files("defero.datasets") / "clinic.csv")
cases = read_cases(table, label="truth", expert_names=["dr_adams", "dr_baker", "dr_chen"], key="case")
study = Study(cases, groups="patient", random_state=0)
study.fit()
study.report("report.html")
