"""What every engine shares: the protocol, the drive loop, the context of predicates, registers."""
