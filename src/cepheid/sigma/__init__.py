"""Sigma rules as rules of a set, read with pySigma: ``pip install 'cepheid[sigma]'``.

>>> from cepheid import sigma
>>> rules = sigma.rules('''
...     title: Encoded PowerShell
...     logsource: {product: windows, category: process_creation}
...     detection:
...         selection:
...             Image|endswith: \\\\powershell.exe
...             CommandLine|contains: [' -enc ', ' -ec ']
...         condition: selection
...     level: high
... ''')
>>> print(rules["Encoded PowerShell"].query)
PATTERN windows-process_creation e
WHERE ends_with(lower(e.Image), '\\powershell.exe')
  AND (contains(lower(e.CommandLine), ' -enc ') OR contains(lower(e.CommandLine), ' -ec '))
"""

from cepheid.errors import OptionError

try:
    import sigma.collection  # noqa: F401
except ImportError:
    raise OptionError("Sigma rules need pySigma: pip install 'cepheid[sigma]'") from None

from cepheid.sigma.mapping import LogMapping
from cepheid.sigma.rules import rules
from cepheid.sigma.writing import write

__all__ = ["LogMapping", "rules", "write"]
