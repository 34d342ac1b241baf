"""Checks of the source that import-linter cannot make; `nox -s layers` runs this file as a program.

    python tests/layers.py [ROOT]        prints one line per finding; exit code 1 when there are any

The core names no provider: no vendor's word, and none of the words by which an installed adapter is known. The bridge
imports nothing that would have to be installed.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

CORE = "mcp_agent"
BRIDGE = "mcp_agent/bridge"
VENDOR_WORDS = "adapters/vendor_words.txt"
ENTRY_POINTS = "mcp_agent.adapters"

ORDINARY_WORDS = frozenset({"agent", "cursor", "pi", "python", "python3"})
"""Names that an adapter may have and that mean something else too."""


def main(root: Path) -> int:
    """Print what is wrong below `root`, a checkout of this project."""
    forbidden = words_pattern([*vendor_patterns(root), *adapter_patterns()])
    findings = [*named_providers(root, forbidden), *foreign_imports(root)]
    for finding in findings:
        print(finding)
    return min(len(findings), 1)


def vendor_patterns(root: Path) -> Iterator[str]:
    """Patterns of the listed words: a single one is found inside longer words, several only as a whole."""
    for line in (root / VENDOR_WORDS).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            yield re.escape(line) if line.isalpha() else whole(line)


def adapter_patterns() -> Iterator[str]:
    """Patterns of the names of every installed adapter that stands for a vendor: one that takes a credential."""
    for entry in entry_points(group=ENTRY_POINTS):
        adapter = entry.load()
        if not adapter.credential_names:
            continue
        module = entry.module.rpartition(".")[2]
        names = {entry.name, module, adapter.id, adapter.title, adapter.executable}
        for name in sorted(names - ORDINARY_WORDS):
            yield whole(name)
        yield from map(re.escape, adapter.credential_names)


def whole(words: str) -> str:
    """A pattern of these words, joined by a dash, an underscore, a space or nothing, with no letter around them."""
    return rf"(?<![a-z]){'[-_ ]?'.join(map(re.escape, re.split(r'[-_ ]+', words)))}(?![a-z])"


def words_pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def named_providers(root: Path, forbidden: re.Pattern[str]) -> Iterator[str]:
    """Every place in the core, names of files included, where a provider is named."""
    for path in core_files(root):
        shown = path.relative_to(root)
        if found := forbidden.search(str(shown)):
            yield f"{shown}: the file's name holds a provider's word: {found[0]!r}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if found := forbidden.search(line):
                yield f"{shown}:{number}: a provider's word: {found[0]!r}"


def core_files(root: Path) -> list[Path]:
    """Every text file of the core."""
    files = (root / CORE).rglob("*")
    return sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts)


def foreign_imports(root: Path) -> Iterator[str]:
    """Every import of the bridge that is neither the standard library's nor a sibling's."""
    package = BRIDGE.replace("/", ".")
    for path in sorted((root / BRIDGE).rglob("*.py")):
        for number, module in imports(ast.parse(path.read_text(encoding="utf-8"))):
            is_sibling = f"{module}.".startswith(f"{package}.")
            if not is_sibling and module.partition(".")[0] not in sys.stdlib_module_names:
                yield f"{path.relative_to(root)}:{number}: not in the standard library: {module}"


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and module of every import, those inside functions included; relative ones are the package's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            yield node.lineno, "." * node.level + (node.module or "")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
