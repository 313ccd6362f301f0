"""The same sequence as MATCH_RECOGNIZE in Flink SQL, where a PyFlink is installed."""
