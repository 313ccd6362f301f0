"""Code shared by all engines: the interface, the drive loop, predicate contexts, registers."""
