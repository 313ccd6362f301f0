"""What of Sigma cannot be said in the language of cepheid."""

from cepheid.errors import CepheidError


class Refused(CepheidError):
    """A Sigma rule that has no query; the message says why."""
