"""``python -m cepheid`` is the command ``cepheid``, of this Python."""

from cepheid.cli import main

if __name__ == "__main__":
    main()
