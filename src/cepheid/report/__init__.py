"""A report of matches: one HTML page that needs nothing but a browser."""

from cepheid.report.making import report_file, report_query
from cepheid.report.page import Report

__all__ = ["Report", "report_file", "report_query"]
