"""Plans as flat tables that kernels run; one module per evaluation."""
