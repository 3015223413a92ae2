"""The same work on many machines: `isomer fleet` (docs/guides/fleet.md). Needs the extra: pip install 'isomer-onnx[fleet]'."""
