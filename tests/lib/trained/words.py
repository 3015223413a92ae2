"""Sentences, their tokens as a package's own tokenizer.json makes them, and letters as numbers."""
import json
import unicodedata

import numpy as np

SENTENCES = (
    "The museum opens at nine in the morning and closes at six.",
    "Please send the invoice for order 20417 to our office in Bremen.",
    "A storm delayed all trains between the coast and the capital.",
    "When does the museum open in the morning?",
    "She repaired the old radio with a new capacitor and some patience.",
    "The contract ends on 31 December 2026 unless it is renewed.",
    "Two cups of flour, one egg and a pinch of salt make the dough.",
    "The rover sent back 134 pictures of the crater before nightfall.")
CHINESE = ("博物馆早上九点开门，下午六点关门。", "请把订单的发票寄到我们的办公室。", "暴风雨使所有列车晚点。", "博物馆几点开门？")
ARABIC = "افتتح المتحف الجديد ابوابه للزوار صباح اليوم في وسط المدينة القديمة "
CELLS = ("Item", "Quantity", "Price", "Paper", "12", "3.40", "Ink", "2", "18.90", "Stamps", "40", "34.00", "Sum", "54", "56.30")


def is_chinese(letter):
    return 0x4E00 <= ord(letter) <= 0x9FFF


def split_words(text):
    """As BertPreTokenizer does: lower case, no accents; punctuation and Chinese letters stand alone."""
    plain = [c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn"]
    spaced = "".join(f" {c} " if is_chinese(c) or unicodedata.category(c).startswith("P") else c for c in plain)
    return spaced.split()


def word_pieces(word, vocabulary):
    """The longest pieces from the left; [UNK] if there is no way."""
    pieces, start = [], 0
    while start < len(word):
        end = next((e for e in range(len(word), start, -1) if ("##" if start else "") + word[start:e] in vocabulary), None)
        if end is None:
            return [vocabulary["[UNK]"]]
        pieces.append(vocabulary[("##" if start else "") + word[start:end]])
        start = end
    return pieces


def tokens(text, length, tokenizer=None):
    """Ids of [CLS] text [SEP] in at most `length`, without padding. Without the tokenizer's file, plausible ids of the same number of words."""
    if tokenizer and tokenizer.exists():
        vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        pieces = [piece for word in split_words(text) for piece in word_pieces(word, vocabulary)]
        first, last = vocabulary["[CLS]"], vocabulary["[SEP]"]
    else:
        pieces, first, last = [1000 + sum(map(ord, word)) % 9000 for word in split_words(text)], 101, 102
    return [first, *pieces[:length - 2], last]


def token_batch(count, length, tokenizer=None, texts=SENTENCES):
    """ids, mask and types [count, length]; the first row is as long as that, the others stop earlier, as texts in a batch do."""
    ids, mask = np.zeros((count, length), np.int64), np.zeros((count, length), np.int64)
    for row in range(count):
        some = [texts[(row + i) % len(texts)] for i in range(1 if row else 1 + length // 6)]
        found = tokens(" ".join(some), length, tokenizer)
        ids[row, :len(found)], mask[row, :len(found)] = found, 1
    return ids, mask, np.zeros_like(ids)


def letters(text, length, numbers=None):
    """Numbers of `length` letters of a text that is repeated; `numbers`: a file that says which, else those of the alphabet."""
    known = json.loads(numbers.read_text(encoding="utf-8")) if numbers and numbers.exists() else {}
    repeated = (text * (1 + length // len(text)))[:length]
    return np.array([known.get(c, 1 + ord(c) % 40) if known else 1 + ord(c) % 40 for c in repeated], np.int64)


SECRETS = {"line": ('password = "Tr0ub4dor&3xKq9"', 'token = os.environ["TOKEN"]', 'api_key: "AKIA3F9QZ7LM2XW8PT5R"', "width = 1024  # of the window"),
           "variable": ("password", "token", "api_key", "width"),
           "value": ("Tr0ub4dor&3xKq9", 'os.environ["TOKEN"]', "AKIA3F9QZ7LM2XW8PT5R", "1024")}


def one_hot_lines(part, count, length, classes, config=None):
    """Lines of a program, the variables or the values in them, as credsweeper sees them: a row per letter, a one for its class; class 1 is of other letters."""
    known = sorted(set(json.loads(config.read_text(encoding="utf-8"))["char_set"])) if config else [chr(c) for c in range(32, 30 + classes)]
    numbers = {letter: number for number, letter in enumerate(known, 2)}
    hot = np.zeros((count, length, classes), np.float32)
    for row in range(count):
        for place, letter in enumerate(SECRETS[part][row % 4][:length]):
            hot[row, place, numbers.get(letter, 1)] = 1
    return hot
