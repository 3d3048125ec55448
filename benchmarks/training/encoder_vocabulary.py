"""The encoder's tokens: English ones from the teacher's vocabulary, others from the lexicon.

Words are split by longest match. Pieces inside a word have no marker, so "Wettervorhersage" is "wetter" and
"vorhersage", a Korean noun is the same with and without its particle, and Chinese and Japanese need no word boundaries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN, PADDING = "[UNK]", "[PAD]"
MAX_WORD_CHARACTERS = 128
"""Longer words are unknown. The time per word grows with the cube of its length: 6 ms for 400 letters (measured)."""
UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
"""Scripts written without spaces: Thai, kana, Han."""
HANGUL = r"\uac00-\ud7a3"


def blank(vocabulary: dict[str, int]) -> Tokenizer:
    """A tokenizer over these pieces: lower case, no accents on Latin, Cyrillic and Arabic; kana and Hangul whole."""
    tokenizer = Tokenizer(
        models.WordPiece(
            vocabulary, unk_token=UNKNOWN, continuing_subword_prefix="", max_input_chars_per_word=MAX_WORD_CHARACTERS
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.NFKD(),
            normalizers.Replace(Regex(r"[\u0300-\u036f\u0640\u064b-\u065f\u200b-\u200f\ufe0f]"), ""),
            normalizers.NFKC(),
            normalizers.Replace("ß", "ss"),
            normalizers.Replace("ı", "i"),
            normalizers.Replace("ø", "o"),
            normalizers.Replace("ł", "l"),
            normalizers.Replace("đ", "d"),
            normalizers.Replace("æ", "ae"),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"['’`]"), "removed"),
            pre_tokenizers.BertPreTokenizer(),
        ]
    )
    return tokenizer


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    """The runs of letters and digits that the tokenizer would split."""
    normal = tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def parts(tokens: list[str], kept: frozenset[str]) -> dict[int, list[int]]:
    """How each longer token outside `kept` is split when it is not taken whole, as its rarer forms are."""
    index = {token: number for number, token in enumerate(tokens)}
    found = {}
    for token, number in index.items():
        if token in kept or len(token) < 2 or token in {UNKNOWN, PADDING}:
            continue
        cut: list[int] = []
        start = 0
        while start < len(token):
            end = len(token) - (start == 0)
            while token[start:end] not in index:
                end -= 1
            cut.append(index[token[start:end]])
            start = end
        found[number] = cut
    return found


def english(teacher: list[str], room: int) -> list[str]:
    """The teacher's whole words (its list is in order of frequency) and its word pieces that are no words."""
    whole = [w for w in teacher if re.fullmatch(r"[a-z0-9]+|[^\w\[\]]", w)]
    inner = [w[2:] for w in teacher if re.fullmatch(r"##[a-z]{2,}", w)]
    taken = list(dict.fromkeys([*whole[:room], *inner[: room // 8]]))
    return taken


def pieces(texts: Iterable[str], tokenizer: Tokenizer) -> list[str]:
    """Tokens of one language: words used twice, common beginnings and endings, n-grams if it has no spaces."""
    counts = Counter(word for text in texts for word in words(tokenizer, text) if re.search(r"\w", word))
    found: Counter[str] = Counter()
    stems: Counter[str] = Counter()
    for word, count in counts.items():
        if re.search(f"[{UNSPACED}{HANGUL}]", word):
            longest = 4 if re.search(f"[{UNSPACED}]", word) else 5
            for size in range(1, longest + 1):
                for start in range(len(word) - size + 1):
                    found[word[start : start + size]] += count
            continue
        if count >= 2 and not word.isdigit():
            found[word] += count
        if len(word) > 5 and word.isalpha():
            stems.update(word[:size] for size in range(4, len(word)))
            stems.update(word[-size:] for size in range(2, 5))
    kept = {w: c for w, c in found.items() if c >= (1 if len(w) == 1 else 3) or (w in counts and c >= 2)}
    kept |= {w: c for w, c in stems.items() if c >= (4 if len(w) > 3 else 12) and w not in kept}
    return sorted(kept, key=lambda w: (-kept[w], w))
