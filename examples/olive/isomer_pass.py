"""A pass for Olive that makes an ONNX model faster and leaves a proof beside it."""
from pathlib import Path

import isomer


def optimized(model, folder, seconds, judge):
    """The path of the result; its certificate is the same name with .cert. What can't be improved comes back as it was."""
    out = Path(folder).with_suffix("") / "model.onnx"
    out.parent.mkdir(parents=True, exist_ok=True)
    found = isomer.optimize(model, out, budget=seconds, judge=judge)
    if not isomer.check(model, out, f"{out}.cert"):
        raise RuntimeError("the checker does not accept the certificate")
    print(found)
    return out


def make_pass():
    """The class, if Olive is installed and provides its base."""
    from olive.model import ONNXModelHandler
    from olive.passes import Pass
    from olive.passes.pass_config import PassConfigParam

    class IsomerOptimize(Pass):
        @classmethod
        def _default_config(cls, accelerator_spec):
            return {"seconds": PassConfigParam(type_=float, default_value=300.0, description="For the whole search"),
                    "judge": PassConfigParam(type_=str, default_value="runtime", description="runtime measures, cost does not")}

        def _run_for_config(self, model, config, output_model_path):
            return ONNXModelHandler(model_path=str(optimized(model.model_path, output_model_path, config.seconds, config.judge)))

    return IsomerOptimize
