"""The picture of the first page: well-known models before and after `isomer optimize --kernels`."""

NAMES = {"resnet50": "ResNet-50", "vgg16": "VGG-16", "mobilenet_v2": "MobileNet v2", "densenet121": "DenseNet-121", "segformer_b0": "SegFormer B0",
         "swin_t": "Swin-T", "vit_small_patch16": "ViT-S/16", "bert_base": "BERT base", "gpt2": "GPT-2", "unet_bn": "U-Net", "nasnetamobile": "NASNet mobile"}
OCR = {"rapidocr-onnxruntime/rec4": "PP-OCRv4 recognition", "rapidocr-onnxruntime/det4": "PP-OCRv4 detection"}
LEFT, WIDTH, STEP, TOP = 150, 420, 24, 52


def bars(zoo, packages):
    """(Name, gain) of those that were measured, the largest gain first."""
    found = [(NAMES[name], gain) for name, gain in zoo.items() if name in NAMES]
    found += [(OCR[name], gain) for name, gain in packages.items() if name in OCR]
    return sorted(found, key=lambda bar: -bar[1])


def picture(zoo, packages):
    rows = bars(zoo, packages)
    height = TOP + STEP * len(rows) + 12
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 70} {height}" width="{LEFT + WIDTH + 70}" font-family="sans-serif" '
           f'font-size="12" role="img" aria-label="Time of a run before and after isomer optimize --kernels">')
    yield f'<rect width="{LEFT + WIDTH + 70}" height="{height}" rx="6" fill="#ffffff"/>'
    yield '<text x="14" y="22" font-size="14" fill="#1f2328">Time of a run on ONNX Runtime, one thread</text>'
    yield f'<rect x="{LEFT}" y="31" width="10" height="10" fill="#d0d7de"/><text x="{LEFT + 15}" y="40" fill="#59636e">before</text>'
    yield f'<rect x="{LEFT + 70}" y="31" width="10" height="10" fill="#2f81f7"/><text x="{LEFT + 85}" y="40" fill="#59636e">after, proved equal</text>'
    for k, (name, gain) in enumerate(rows):
        y = TOP + STEP * k
        yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end" fill="#1f2328">{name}</text>'
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="18" rx="2" fill="#d0d7de"/>'
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH / gain:.1f}" height="18" rx="2" fill="#2f81f7"/>'
        yield f'<text x="{LEFT + WIDTH + 8}" y="{y + 13}" fill="#1f2328">{gain:.2f}×</text>'
    yield "</svg>"
