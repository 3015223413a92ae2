"""Which sources can be compiled as one: prints a line for each group, its files with `;` between them.

  cmake/together.py ROOT FILE...      ROOT: where "folder/name.h" is looked for
Two files go together if each means what it means alone: no name that one of them keeps to itself (in an unnamed namespace, or a macro) is a word of the
other at all, or is declared in a header that only the other sees. See ISOMER_TOGETHER.
"""
import functools
import pathlib
import re
import sys

MOST = 16  # in one group: a compiler's memory, and two cores that share the work
NO_NAMES = ("TEST", "TYPED_TEST", "INSTANTIATE", "static_assert", "using namespace", "public:", "private:", "namespace", "extern")


def names_at_the_margin(text):
    """What is declared outside of functions and classes, as our format writes it."""
    names = set()
    for line in text.splitlines():
        if not line or line[0] in " }/#)" or line.startswith(NO_NAMES):
            continue
        line = re.sub(r"^template <.*?> ?(?=\w)", "", line)
        if found := re.match(r"(?:struct|class|enum class|enum|union|using) (\w+)", line):
            names.add(found[1])
        elif words := re.findall(r"\w+", re.split(r"[({=;\[]", line)[0]):
            names.add(words[-1])
    for members in re.findall(r"^enum (?!class)[^{;]*\{(.*?)\}", text, re.S | re.M):
        names.update(re.findall(r"\w+", members))  # known without the name of their type
    return names - {"operator"}


class Source:
    def __init__(self, path, root):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        inside = re.findall(r"^namespace \{\n(.*?)^\}  // namespace\n", text, re.S | re.M)
        self.path, self.headers = path, headers_of(text, root)
        self.own = set(re.findall(r"^#define (\w+)", text, re.M)).union(*map(names_at_the_margin, inside))
        self.words = set(re.findall(r"\w+", re.sub(r'"(?:\\.|[^"\\\n])*"', "", re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S))))

    def disturbs(self, other):
        """Whether a name of this one means something to the other."""
        return bool(self.own & other.words) or any(self.own & declared_in(h) for h in other.headers - self.headers)


def headers_of(text, root):
    found, left = set(), re.findall(r'^#include "([\w/.]+)"', text, re.M)
    while left:
        path = root / left.pop()
        if path not in found and path.exists():
            found.add(path)
            left += re.findall(r'^#include "([\w/.]+)"', text_of(path), re.M)
    return found


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def declared_in(path):
    return names_at_the_margin(text_of(path)) | set(re.findall(r"^#define (\w+)", text_of(path), re.M))


def groups(sources):
    """Each goes to the first group that takes it."""
    found = []
    for source in sources:
        fits = (g for g in found if len(g) < MOST and not any(source.disturbs(o) or o.disturbs(source) for o in g))
        group = next(fits, None)
        if group is None:
            found.append(group := [])
        group.append(source)
    return found


if __name__ == "__main__":
    for group in groups([Source(path, pathlib.Path(sys.argv[1])) for path in sys.argv[2:]]):
        print(*(source.path for source in group), sep=";")
