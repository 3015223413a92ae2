"""Pictures as users of vision models have them, drawn: lines of text, pages, tables, photographs. uint8, height x width x RGB.

Text is drawn by Pillow with the font that it brings along, so that every machine draws the same.
"""
import numpy as np

from trained import words

INK = 30
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)  # ImageNet's, of RGB


def blank(height, width, shade=250):
    return np.full((height, width, 3), shade, np.uint8)


def draw_text(picture, text, x, y, size):
    from PIL import Image, ImageDraw, ImageFont
    image = Image.fromarray(picture)
    ImageDraw.Draw(image).text((x, y), text, font=ImageFont.load_default(size), fill=(INK, INK, INK))
    return np.asarray(image)


def line(text, height, width):
    """A line that fills the height; what does not fit is left out by whole words, so that the text is known: (picture, text)."""
    from PIL import ImageFont
    size = height * 0.62
    kept = text.split()
    while len(kept) > 1 and ImageFont.load_default(size).getlength(" ".join(kept)) > width - height / 2:
        kept.pop()
    shown = " ".join(kept)
    return draw_text(blank(height, width), shown, height / 4, height * 0.13, size), shown


def page(height, width):
    """A title and paragraphs."""
    picture = draw_text(blank(height, width), "Annual report", width * 0.08, height * 0.04, height * 0.045)
    size = max(height * 0.026, 9)
    step = size * 1.9
    for row in range(int((height * 0.8) / step)):
        if row % 6 != 5:
            text = words.SENTENCES[row % len(words.SENTENCES)]
            picture = draw_text(picture, text[:int(width * 0.84 / (size * 0.52))], width * 0.08, height * 0.14 + row * step, size)
    return picture


def table(height, width, rows=5, columns=3):
    """A table with lines around its cells."""
    picture = blank(height, width)
    top, left = int(height * 0.1), int(width * 0.06)
    tall, wide = int(height * 0.8) // rows, int(width * 0.88) // columns
    for row in range(rows + 1):
        picture[top + row * tall:top + row * tall + 2, left:left + columns * wide] = INK
    for column in range(columns + 1):
        picture[top:top + rows * tall, left + column * wide:left + column * wide + 2] = INK
    for row in range(rows):
        for column in range(columns):
            text = words.CELLS[(row * columns + column) % len(words.CELLS)]
            picture = draw_text(picture, text, left + column * wide + wide * 0.1, top + row * tall + tall * 0.25, max(tall * 0.35, 8))
    return picture


def seal(height, width):
    """A page with a stamp: letters around a circle, red."""
    from PIL import Image, ImageDraw, ImageFont
    image = Image.fromarray(page(height, width))
    radius, size = min(height, width) * 0.3, min(height, width) * 0.07
    centre, red = (width / 2, height / 2), (200, 30, 30)
    draw = ImageDraw.Draw(image)
    draw.ellipse([centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius], fill=(250, 250, 250), outline=red, width=4)
    for place, letter in enumerate("BREMEN OFFICE 2026"):
        turn = -130 + place * 15
        letter_image = Image.new("L", (int(size * 1.4), int(size * 1.4)))
        ImageDraw.Draw(letter_image).text((size * 0.3, 0), letter, font=ImageFont.load_default(size), fill=255)
        turned = letter_image.rotate(-turn, resample=Image.Resampling.BILINEAR)
        x, y = (centre[i] + 0.8 * radius * f(np.radians(turn)) * s - turned.width / 2 for i, f, s in ((0, np.sin, 1), (1, np.cos, -1)))
        image.paste(red, (int(x), int(y)), turned)
    return np.asarray(image)


def photograph(height, width, seed=0):
    """A sky, a hill, a ball, a face of ellipses, and noise as of a sensor."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / np.float32([[[height]], [[width]]])
    picture = np.stack([120 + 60 * y, 160 + 40 * y, 230 - 60 * y], -1)
    hill = y > 0.65 + 0.1 * np.sin(6 * x + seed)
    picture[hill] = (70, 110, 50)
    texture = 12 * np.sin(60 * x + 9 * np.sin(17 * y)) * hill
    picture += texture[..., None]

    def ellipse(cx, cy, rx, ry, colour):
        inside = ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1
        picture[inside] = np.array(colour) - 40 * (x - cx)[inside][:, None] / rx

    cx, cy = 0.45 + 0.1 * random.random(), 0.4 + 0.1 * random.random()
    ellipse(cx, cy - 0.04, 0.19, 0.27, (60, 40, 30))
    ellipse(cx, cy, 0.16, 0.22, (224, 180, 150))
    for side in (-1, 1):
        ellipse(cx + side * 0.06, cy - 0.05, 0.028, 0.016, (245, 245, 245))
        ellipse(cx + side * 0.06, cy - 0.05, 0.012, 0.014, (40, 30, 30))
        ellipse(cx + side * 0.06, cy - 0.09, 0.035, 0.008, (70, 50, 40))
    ellipse(cx, cy + 0.03, 0.018, 0.03, (205, 155, 130))
    ellipse(cx, cy + 0.11, 0.06, 0.018, (170, 80, 80))
    ellipse(0.83, 0.75, 0.08, 0.08 * width / height, (210, 60, 40))
    return np.clip(picture + random.normal(0, 3, picture.shape), 0, 255).astype(np.uint8)


def bands(count, height, width, seed=0):
    """Reflectances of a satellite's bands, count x height x width: land, water, clouds."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    water = np.sin(x / 37 + seed) + np.cos(y / 51) > 0.9
    cloud = np.clip(np.sin(x / 23) * np.sin(y / 29 + seed) - 0.3, 0, 1)
    scene = [np.where(water, 0.05, 0.1 + 0.06 * band) * (1 - cloud) + 0.8 * cloud for band in range(count)]
    return (np.stack(scene) + random.normal(0, 0.01, (count, height, width))).astype(np.float32)


def planes(pictures, mean=MEAN, deviation=DEVIATION, is_bgr=False):
    """uint8 pictures -> float32 [n, 3, h, w], scaled to 0..1, then less the mean, by the deviation."""
    array = np.stack(pictures)
    scaled = ((array[..., ::-1] if is_bgr else array) / np.float32(255) - mean) / deviation
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2), np.float32)


def gray(picture):
    return (picture @ np.array([0.299, 0.587, 0.114])).astype(np.float32)
