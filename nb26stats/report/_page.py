"""The page: one HTML file without scripts, with everything it needs inside."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._figures import data_uri, shown_size
from ._parts import (
    Code,
    Facts,
    Figure,
    Part,
    Section,
    Sentence,
    Table,
    Warn,
    cut,
    plural,
    show,
)

if TYPE_CHECKING:
    import pandas as pd

SUMMARY = (
    ("file", "File"),
    ("contents", "Contents"),
    ("activity", "Activity"),
    ("behaviour", "Behaviour"),
)
MAX_COLUMNS = 12
SHORT = 12
"""Tables of no more rows are printed on one sheet."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 28px 60px; max-width: 1100px; background: #fff; color: #1a1a1a;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 40px 0 8px; padding-top: 10px; border-top: 1px solid #d0d0d0; }
h3 { font-size: 16px; margin: 20px 0 6px; }
p { margin: 8px 0; max-width: 76ch; }
.sub { color: #555; margin: 0 0 18px; }
a { color: #00527f; }
.summary { border: 1px solid #b9cfdd; background: #f2f7fa; border-radius: 6px;
  padding: 10px 18px; margin: 14px 0; display: grid; grid-template-columns: max-content 1fr;
  gap: 4px 18px; }
.summary dt { font-weight: 600; }
.summary dd { margin: 0; overflow-wrap: anywhere; }
nav ol { margin: 6px 0; padding-left: 22px; columns: 2; }
nav li { break-inside: avoid; }
.warn { border: 1px solid #e0a100; border-left-width: 6px; background: #fff6dd;
  border-radius: 4px; padding: 8px 14px; margin: 10px 0; max-width: 84ch; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 8px 0; }
.facts dt { color: #555; max-width: 32ch; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.option { white-space: nowrap; font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: 0.92em; }
figure { margin: 14px 0 18px; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: 14.5px; color: #333; margin-top: 6px; max-width: 84ch; }
details { margin: 8px 0; border: 1px solid #ddd; border-radius: 4px; }
summary { cursor: pointer; padding: 6px 12px; font-size: 14.5px; color: #333; }
details > div { padding: 0 12px 10px; }
pre { background: #f6f6f6; border: 1px solid #e3e3e3; border-radius: 4px; padding: 10px 12px;
  font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  white-space: pre-wrap; margin: 8px 0; }
.scroll { overflow-x: auto; margin: 6px 0 12px; }
.tall { max-height: 420px; overflow-y: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 4px 0; }
th { text-align: left; border-bottom: 1.5px solid #888; padding: 3px 12px 3px 0;
  vertical-align: bottom; }
td { border-bottom: 1px solid #e6e6e6; padding: 3px 12px 3px 0; vertical-align: top; }
th { white-space: nowrap; }
.num { text-align: right; white-space: nowrap; }
.right { text-align: right; max-width: 24ch; }
.text { max-width: 46ch; }
footer { margin-top: 40px; border-top: 1px solid #d0d0d0; padding-top: 10px; color: #555;
  font-size: 14px; }
@page { size: A4; margin: 15mm; }
@media print {
  body { padding: 0; max-width: none; font-size: 11pt; }
  figure, .warn, .summary, .short, details, tr { page-break-inside: avoid; break-inside: avoid; }
  h2, h3 { page-break-after: avoid; break-after: avoid; }
  figure img { max-height: 225mm; width: auto; max-width: 100%; }
  .scroll, .tall { overflow: visible; max-height: none; }
  nav { display: none; }
}
"""


def escape(text: object) -> str:
    """Return text that HTML shows as it is, without control characters."""
    plain = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in str(text))
    return html.escape(plain, quote=True)


def page(
    title: str,
    subtitle: str,
    lines: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    *,
    footer: str,
) -> str:
    """Return the whole page."""
    contents = "\n".join(f'<li><a href="#{s.key}">{escape(s.title)}</a></li>' for s in sections)
    body = "\n".join(_section(s) for s in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{CSS}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="sub">{escape(subtitle)}</p>
{_summary(lines)}
<nav aria-label="Contents">
<ol>
{contents}
</ol>
</nav>
{body}
<footer>{escape(footer)}</footer>
</body>
</html>
"""


def summary_lines(sections: Sequence[Section], *, partial: bool = False) -> list[tuple[str, str]]:
    """Return the lines of the summary box: what the file is, what was found, what not.

    Five lines, or with ``partial`` those that the sections bear on.
    """
    lines = []
    for key, label in SUMMARY:
        if partial and all(s.line != key for s in sections):
            continue
        found = " ".join(s.finding for s in sections if s.line == key and s.finding)
        if not found:
            found = "Nothing could be said, see the last line."
        lines.append((label, found))
    gaps = " ".join(s.gap for s in sections if s.gap)
    boxes = sum(isinstance(part, Warn) for s in sections for part in s.parts)
    if boxes:
        gaps = f"{gaps} {plural(boxes, 'warning')}, in the amber boxes below.".strip()
    lines.append(("Limits", gaps or "Every part of the report could be made."))
    return lines


def _summary(lines: Sequence[tuple[str, str]]) -> str:
    rows = "\n".join(f"<dt>{escape(label)}</dt><dd>{_prose(text)}</dd>" for label, text in lines)
    return f'<dl class="summary">\n{rows}\n</dl>'


def _section(section: Section) -> str:
    inner = "\n".join(_part(part) for part in section.parts)
    title = escape(section.title)
    return f'<section id="{escape(section.key)}">\n<h2>{title}</h2>\n{inner}\n</section>'


def _part(part: Part) -> str:
    if isinstance(part, Sentence):
        return f"<p>{_prose(part.text)}</p>"
    if isinstance(part, Warn):
        return f'<div class="warn" role="note">{_prose(part.text)}</div>'
    if isinstance(part, Facts):
        rows = "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(cut(v))}</dd>" for k, v in part.pairs)
        return f'<dl class="facts">\n{rows}\n</dl>'
    if isinstance(part, Code):
        return f"<pre><code>{escape(part.text)}</code></pre>"
    if isinstance(part, Table):
        return _table(
            part.frame, part.title, index=part.index, max_rows=part.max_rows, right=part.right
        )
    return _figure(part)


def _prose(text: str) -> str:
    """Escape a sentence and keep options of the command line in one piece."""
    return _OPTION.sub(r'<span class="option">\g<0></span>', escape(text))


def _figure(figure: Figure) -> str:
    numbers = _table(
        figure.numbers,
        "Numbers behind the figure",
        index=True,
        max_rows=120,
        units=figure.units,
    )
    width, height = shown_size(figure.png)
    return f"""<figure id="figure-{escape(figure.name)}">
<img src="{data_uri(figure.png)}" width="{width}" height="{height}" alt="{escape(figure.alt)}">
<figcaption>{escape(figure.caption)}</figcaption>
</figure>
<details>
<summary>Code and numbers of this figure</summary>
<div>
<pre class="code" data-figure="{escape(figure.name)}"><code>{escape(figure.code)}</code></pre>
{numbers.replace('class="scroll"', 'class="scroll tall"')}
</div>
</details>"""


def _table(
    frame: pd.DataFrame,
    title: str,
    *,
    index: bool,
    max_rows: int,
    right: bool = False,
    units: Mapping[str, str] | None = None,
) -> str:
    shown = frame.reset_index() if index else frame
    hidden_columns = max(0, shown.shape[1] - MAX_COLUMNS)
    shown = shown.iloc[:, :MAX_COLUMNS]
    hidden_rows = max(0, len(shown) - max_rows)
    shown = shown.iloc[:max_rows]
    kinds = ["num" if _is_number(shown.iloc[:, j]) else "" for j in range(shown.shape[1])]
    if right:
        kinds[1:] = [kind or "right" for kind in kinds[1:]]
    head = "".join(
        f"<th{_class(kind)}>{escape(_label(c, units or {}))}</th>"
        for c, kind in zip(shown.columns, kinds, strict=True)
    )
    body = []
    for row in shown.itertuples(index=False, name=None):
        cells = "".join(
            f"<td{_class(kind or 'text')}>{escape(show(v))}</td>"
            for v, kind in zip(row, kinds, strict=True)
        )
        body.append(f"<tr>{cells}</tr>")
    short = " short" if len(body) <= SHORT else ""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    rest = ""
    if hidden_rows or hidden_columns:
        what = [plural(hidden_rows, "row")] if hidden_rows else []
        what += [plural(hidden_columns, "column")] if hidden_columns else []
        rest = f"<p>{' and '.join(what)} more not shown here.</p>"
    return (
        f'<div class="scroll{short}"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>{rest}"
    )


def _is_number(column: pd.Series[Any]) -> bool:
    import numpy as np
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return False
    if pd.api.types.is_numeric_dtype(column.dtype):
        return True
    values = [v for v in column.tolist() if v is not None]
    return bool(values) and all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values
    )


def _label(column: object, units: Mapping[str, str]) -> str:
    parts = [part for part in (column if isinstance(column, tuple) else (column,)) if part != ""]
    text = cut(" ".join(str(part) for part in parts), 80)
    unit = units.get(str(parts[-1])) if parts else None
    return f"{text} ({unit})" if unit else text


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
