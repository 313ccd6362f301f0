"""``cepheid studio``: a page on this machine on which queries are written, tried and saved."""
