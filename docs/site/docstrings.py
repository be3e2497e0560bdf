"""Docstrings of the Python package on the site: a first sentence, and below it lists of arguments, which stay as they are set."""
import griffe


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **kwargs):
        if obj.docstring is None:
            return
        head, _, rest = obj.docstring.value.partition("\n\n")
        text, mark, example = rest.partition(">>>")
        blocks = [head] + ([f"```text\n{text.rstrip()}\n```"] if text.strip() else [])
        blocks += [f"```pycon\n{mark}{example.rstrip()}\n```"] if mark else []
        obj.docstring.value = "\n\n".join(blocks)
