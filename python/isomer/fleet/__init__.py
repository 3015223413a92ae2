"""The same work on many machines: `isomer fleet` (docs/fleet.md). Needs the extra: pip install 'isomer-onnx[fleet]'."""
