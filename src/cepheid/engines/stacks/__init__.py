"""Active instance stacks: sequence scan and construction [Wu06]."""
