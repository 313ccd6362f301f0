"""Where events come from: tables in memory, files, Spark DataFrames."""
