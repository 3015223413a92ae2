# Isomer with ONNX Runtime, out of the wheel that tools/portable makes:
#   tools/portable && docker build -t isomer .
#   docker run --rm -v "$PWD:/work" -u "$(id -u):$(id -g)" isomer optimize model.onnx -o fast.onnx
FROM debian:13-slim AS install
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
COPY build/portable/dist/isomer_onnx-*-abi3-*.whl /tmp/
RUN python3 -m venv /opt/isomer && /opt/isomer/bin/pip install --no-cache-dir /tmp/isomer_onnx-*.whl onnxruntime

FROM debian:13-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY --from=install /opt/isomer /opt/isomer
# Whoever runs it may have no home: what is remembered between runs is then in /tmp, and gone with the container.
ENV PATH=/opt/isomer/bin:$PATH HOME=/tmp
WORKDIR /work
ENTRYPOINT ["isomer"]
