"""The commands of README.md and the answers that it shows."""
import re

WORD = r"(?<![\w.])[A-Za-z_]{3,}(?!\w)"

with open("README.md", encoding="utf-8") as f:
    README = f.read()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)
PORT = re.search(r"redis-server --port (\d+)", README)[1]
DEATH = next(text for _, text in BLOCKS if "FROM deaths" in text)
LINGERS_FROM = 10  # seconds that a database has to run


def heads(text):
    """The heads of the tables in a text; README.md leaves some lines out."""
    lines = text.splitlines()
    return [tuple(re.findall(r"[^| ]+", head))
            for head, line in zip(lines, lines[1:])
            if head.startswith("| ") and line.startswith("+-")]


def differs(shown, got):
    """Why an answer is not of the shape that README.md shows; or None."""
    words = set(re.findall(WORD, shown))
    if len(words) < 3:
        return "too few words to compare"
    missing = words - set(re.findall(WORD, got))
    if missing:
        return f"not in the answer: {sorted(missing)}"
    if heads(shown) != heads(got)[:1]:
        return f"heads: {heads(shown)} shown, {heads(got)} in the answer"
    return None
