"""How kernels are compiled, cached and called. The only package that knows numba's decorators."""
