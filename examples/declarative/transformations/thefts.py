"""A streaming table of thefts, from a streaming table of readings."""

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


@dp.table
def readings() -> DataFrame:
    """The readings of the store, one file of JSON Lines after another."""
    files = spark.readStream.schema("ts timestamp, type string, tag_id long")
    return files.json(spark.conf.get("thefts.readings"))


@dp.table
def thefts() -> DataFrame:
    """What left the store and was not paid for."""
    return THEFT.match(spark.readStream.table("readings"), lateness="10 minutes")
