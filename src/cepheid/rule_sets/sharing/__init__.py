"""Rules of the same shape run as one session."""
