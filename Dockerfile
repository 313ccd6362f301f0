# Spark with cepheid and its compiled code: no executor compiles.
#   docker build -t cepheid-spark .
ARG SPARK=4.1.1
FROM apache/spark:${SPARK}-scala2.13-java17-python3-ubuntu
ARG SPARK

USER root
# The image's own Python is 3.10, which is too old.
ENV UV_PYTHON_INSTALL_DIR=/opt/cepheid/python \
    CEPHEID_CACHE_DIR=/opt/cepheid/cache \
    PYSPARK_PYTHON=/opt/cepheid/venv/bin/python \
    PATH=/opt/cepheid/venv/bin:${PATH}
COPY pyproject.toml README.md LICENSE /opt/cepheid/source/
COPY src /opt/cepheid/source/src
# PySpark has the version of the image, whichever of the two is imported.
RUN pip install --no-cache-dir uv \
    && uv venv --python 3.12 /opt/cepheid/venv \
    && VIRTUAL_ENV=/opt/cepheid/venv uv pip install --no-cache \
        "/opt/cepheid/source[spark]" "pyspark==${SPARK}" \
    && cepheid warm \
    && chown -R spark /opt/cepheid/cache
USER spark
