"""The evaluations, one folder each. No engine imports another one."""
