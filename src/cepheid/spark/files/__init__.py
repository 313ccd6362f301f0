"""Files that Spark workers read directly."""
