"""A module exported to ONNX, optimized, checked, and compared with PyTorch on one input."""
import sys

try:
    import onnxruntime
    import torch

    import isomer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class Block(torch.nn.Module):
    """Two branches that are one convolution once the model is trained."""

    def __init__(self, channels=16):
        super().__init__()
        self.wide = torch.nn.Sequential(torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False), torch.nn.BatchNorm2d(channels))
        self.narrow = torch.nn.Sequential(torch.nn.Conv2d(channels, channels, 1, bias=False), torch.nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(self.wide(x) + self.narrow(x) + x)


module, x = Block().eval(), torch.randn(2, 16, 14, 14)
torch.onnx.export(module, (x,), "block.onnx", input_names=["x"], output_names=["y"], dynamic_shapes={"x": {0: torch.export.Dim("batch")}}, dynamo=True)
found = isomer.optimize("block.onnx", "fast.onnx", judge="cost")
print(found)
assert isomer.check("block.onnx", "fast.onnx", "fast.onnx.cert")
(y,) = onnxruntime.InferenceSession("fast.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x.numpy()})
torch.testing.assert_close(torch.from_numpy(y), module(x).detach(), rtol=1e-4, atol=1e-5)
