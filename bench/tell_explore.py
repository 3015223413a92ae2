"""What is told of the seed's experiment (seed_table.jsonl), on the page about exploring."""
# The seed's passes of TVM with the classes of networks that its authors put them in, and what ONNX Runtime has instead: names; effects are measured.
SEED = [
    ("AlterOpLayout, ConvertLayout", "RN MN SSD BR", ("NchwcTransformer", "NhwcTransformer", "TransposeOptimizer")),
    ("BatchingOps, CombineParallelConv2D, CombineParallelDense", "RN BR", ("AttentionFusion", "GroupQueryAttentionFusion")),
    ("CanonicalizeCast", "RN", ("CastElimination", "CastChainElimination", "InsertCastTransformer", "RemoveDuplicateCastTransformer")),
    ("DeadCodeElimination", "RN MN SSD", ("EliminateIdentity", "NoopElimination", "PreShapeNodeElimination")),
    ("EliminateCommonSubexpr", "RN MN", ("CommonSubexpressionElimination", "ConstantSharing")),
    ("FastMath", "MN BR SSD", ()),
    ("FoldConstant", "RN MN SSD", ("ConstantFolding",)),
    ("FoldExplicitPadding", "RN SSD", ("PadFusion",)),
    ("ForwardFoldScaleAxis", "BR", ("ConvMulFusion", "MatMulScaleFusion", "MatmulBNFusion")),
    ("FuseOps, MergeComposite", "RN MN SSD BR",
     ("ConvActivationFusion", "ConvAddFusion", "ConvAddActivationFusion", "GemmActivationFusion", "MatMulActivationFusion", "MatMulAddFusion", "GeluFusion",
      "BiasGeluFusion", "LayerNormFusion", "SkipLayerNormFusion", "EmbedLayerNormFusion")),
    ("SimplifyExpr", "RN MN SSD",
     ("ReshapeFusion", "EliminateSlice", "ExpandElimination", "UnsqueezeElimination", "GatherToSliceFusion", "GatherSliceToSplitFusion", "DivMulFusion")),
    ("SimplifyFCTranspose", "MN BR", ("GemmTransposeFusion", "MatmulTransposeFusion", "GemmSumFusion")),
    ("SimplifyInference", "RN MN SSD", ("ConvBNFusion", "EliminateDropout")),
]
CLASSES = {"resnet50": "RN", "mobilenet_v2": "MN", "ssd300_resnet50": "SSD", "bert_base": "BR"}


def seed_section(found, provenance):
    if found is None:
        return
    head, rows = found
    rows = [r for r in rows if "failure" not in r]
    yield from ("## The seed's experiment", "", provenance(head), "",
                "BL: all passes of ONNX Runtime. none: no pass. AS: only those that change this model's graph. PO: as many, drawn at random. prepared, "
                "machine: what `isomer explore --objective load-time` writes, portable and for this processor; loaded with all passes on. Medians of turns, "
                "each in a process of its own; *of BL*: the median of ratios of one turn. "
                "Load time is CPU time.", "",
                "| model | set | load ms | of BL | latency ms | of BL | CPU of a run, of BL | peak MB | of BL | outputs |",
                "|---|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for r in rows:
        for kind, s in r.get("sets", {}).items():
            of = s["of_BL"]
            yield (f"| {r['model']} | {kind} | {s['load_cpu_ms']:.0f} | {of['load_cpu_ms']:.2f} | {s['latency_ms']:.1f} | {of['latency_ms']:.2f} | "
                   f"{of['run_cpu_ms']:.2f} | {s['peak_mb']:.0f} | {of['peak_mb']:.2f} | {'same' if s['same_outputs'] else 'DIFFERENT'} |")
    yield from ("", "### Classes", "",
                "The seed's passes, the classes that its authors put them in by hand (RN, MN, SSD, BR), and the runtime's passes that do such things, with "
                "the models whose graph they change. *agree*: the same models.", "", "| pass of the seed | its classes | here | models whose graph changes | |",
                "|---|---|---|---|---|")
    # Where each name seems to change the graph, it is the runtime that makes another graph each time.
    unknown = [r["model"] for r in rows if len(r["classes"]) == r["names"]]
    by_model = {r["model"]: set(r["classes"]) for r in rows if r["model"] not in unknown}
    mapped = set()
    for name, classes, here in SEED:
        mapped.update(here)
        said = {m for m, c in CLASSES.items() if c in classes.split() and m in by_model}
        shown = {m: sorted(by_model[m] & set(here)) for m in by_model}
        seen = {m for m, passes in shown.items() if passes}
        words = "; ".join(f"{m}: {', '.join(p)}" for m, p in shown.items() if p) or "none"
        verdict = "no such pass" if not here else "agree" if seen == said else " ".join(
            ([f"not {', '.join(sorted(said - seen))}"] if said - seen else []) + ([f"also {', '.join(sorted(seen - said))}"] if seen - said else []))
        yield f"| {name} | {classes} | {', '.join(here) or 'none'} | {words} | {verdict} |"
    if unknown:
        yield from ("", f"Not known for {', '.join(unknown)}: the runtime makes another graph of it each time, so that hashes tell nothing.")
    missing = [m for m in CLASSES if m not in by_model and m not in unknown]
    if missing:
        yield from ("", f"Not run yet: {', '.join(missing)}.")
    others = sorted(set().union(*by_model.values()) - mapped) if by_model else []
    yield from ("", f"Passes that change one of these graphs and have no counterpart in the seed: {', '.join(others) or 'none'}.", "")
