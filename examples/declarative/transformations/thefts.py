"""A streaming table of thefts, from files of readings."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep

spark = SparkSession.active()
THEFT = cep.query("""
    PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE [tag_id]
    WITHIN 12 hours
    RETURN a.tag_id AS item, c.ts AS left_store
""")

# A function of a pipeline may not analyse a DataFrame, as ``match`` does to check the columns. So
# the matches are described here, over a source that exists before the pipeline runs.
files = spark.readStream.schema("ts timestamp, type string, tag_id long")
readings = files.json(spark.conf.get("thefts.readings"))
found = THEFT.match(readings, lateness="10 minutes")


@dp.table
def thefts() -> DataFrame:
    """What left the store and was not paid for."""
    return found
