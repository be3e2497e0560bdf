"""What mkdocs does besides: README.md is the home page, links that work on GitHub work on the site, and equations are MathML.

Pages lie in docs; README.md, CONTRIBUTING.md, CHANGELOG.md and the pictures of the benchmark lie elsewhere in the tree, and
links between all of them are those of files, as GitHub and tests/docs follow them. Equations are rendered when the site is
built, so that a page loads nothing from the network.
"""
import html
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# Page of the tree: page of the site.
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "internals/contributing.md", "CHANGELOG.md": "changelog.md"}
RESULTS = "apps/bench/results/"


def site_path(path):
    """Where a file of the tree is on the site, or None."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.startswith(RESULTS) and path.endswith(".png"):
        return "pictures/" + path.removeprefix(RESULTS)
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def tree_path(uri):
    """The file of the tree that a page of the site is."""
    return next((source for source, page in OUTSIDE.items() if page == uri), "docs/" + uri)


def on_files(files, config):
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for picture in sorted((ROOT / RESULTS).glob("*.png")):
        files.append(File.generated(config, "pictures/" + picture.name, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]
    source = tree_path(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def link(match):
        text, target = match[1], match[2]
        if re.match(r"\w+:|#", target):
            return match[0]
        name, mark, anchor = target.partition("#")
        path = site_path(posixpath.normpath(posixpath.join(posixpath.dirname(source), name)))
        return match[0] if path is None and match[0].startswith("!") else \
            text.lstrip("![").rstrip("]") if path is None else f"{text}({posixpath.relpath(path, here or '.')}{mark}{anchor})"

    blocks = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    blocks[::2] = [re.sub(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)", link, block) for block in blocks[::2]]
    return "".join(blocks)


def on_page_content(content, page, config, files):
    def formula(match):
        display = match[1] == "div"
        latex = html.unescape(match[2]).strip()
        latex = latex.removeprefix("\\[" if display else "\\(").removesuffix("\\]" if display else "\\)")
        return convert(latex, display="block" if display else "inline")

    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', formula, content, flags=re.S)
