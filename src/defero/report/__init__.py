"""One self-contained HTML page about a team on held-out cases, for people who will not read code."""

from defero.report.page import Evidence, Provenance, report_page

__all__ = ["Evidence", "Provenance", "report_page"]
