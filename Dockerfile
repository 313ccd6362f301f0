# Spark with cepheid and its compiled code: no executor compiles.
#   docker build -t cepheid-spark .
ARG SPARK=4.0.1-scala2.13-java17-python3-ubuntu
FROM apache/spark:${SPARK}

USER root
ENV CEPHEID_CACHE_DIR=/opt/cepheid/cache
COPY pyproject.toml README.md LICENSE /opt/cepheid/source/
COPY src /opt/cepheid/source/src
RUN pip install --no-cache-dir "/opt/cepheid/source[spark]" \
    && cepheid warm \
    && chmod -R go-w,a+rX /opt/cepheid
USER spark
