"""What editors need: the colours, the layout and the meaning of query text as it is typed."""
