"""A report of matches: a single HTML page without external files."""

from cepheid.report.making import report_file, report_query
from cepheid.report.page import Report

__all__ = ["Report", "report_file", "report_query"]
