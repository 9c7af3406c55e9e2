"""One self-contained page about one or several runs, and the figures in it."""

from metagcd.report.figures import save_figure
from metagcd.report.write import write_report

__all__ = ["save_figure", "write_report"]
