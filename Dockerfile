# The environment with TensorFlow Federated, for machines without Python 3.11:
#   docker build -t f3ast-tff . && docker run --rm f3ast-tff run --rounds=200
FROM python:3.11-slim
WORKDIR /app
COPY . .
# The step by which `make` makes .venv, which CI runs without Docker.
RUN tools/bootstrap.sh /app/.venv
ENTRYPOINT ["/app/.venv/bin/f3ast-tff"]
CMD ["--help"]
