# SPDX-License-Identifier: MIT
"""The wall times as one picture: a row per workload, ratios to the bare program on a logarithmic scale."""
import math
from xml.sax.saxutils import escape

from measure import figures, machine

WIDTH = 980
LEFT, RIGHT = 256, 770         # of the scale
ROW, HEADING, TOP = 27, 38, 96
INK, SOFT, GRID = "#1f2933", "#66727f", "#e3e7ec"
SILT, PEER, NOOP, AIM, BAD = "#1769c2", "#d9822b", "#8a97a6", "#cfe9d4", "#c62f2f"
GOOD = "#2c8243"
TICKS = (1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200)
COLUMNS = (("silt", 826), ("heaptrack", 896), ("share", 958))  # right edges
STYLE = f"""text {{ font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: {INK}; }}
.title {{ font-size: 19px; font-weight: 600; }} .soft {{ fill: {SOFT}; font-size: 12px; }}
.group {{ font-weight: 600; }} .number {{ text-anchor: end; font-variant-numeric: tabular-nums; }}
.middle {{ text-anchor: middle; }} .strong {{ font-weight: 600; }}"""


def aim_of(row):
    """The largest wall ratio that meets every aim of this workload about wall time, or 0."""
    limits = [a["limit"] for a in row["aims"] if a["what"] == "wall"]
    if "share" in row:
        limits.append(1 + figures.SHARE_MAX * (row["heaptrack"]["wall"] - 1))
    return min(limits, default=0)


class Scale:
    """Ratio to x. Below 1 there is room for a run that happened to be quick."""

    def __init__(self, largest):
        self.low, self.high = math.log(0.92), math.log(largest * 1.12)

    def x(self, ratio):
        at = (math.log(max(ratio, 0.92)) - self.low) / (self.high - self.low)
        return round(LEFT + at * (RIGHT - LEFT), 1)


def text(x, y, words, kind="", fill=""):
    more = (f' class="{kind}"' if kind else "") + (f' style="fill: {fill}"' if fill else "")
    return f'<text x="{x}" y="{y}"{more}>{escape(words)}</text>'


def rule(x1, y1, x2, y2, colour, width=1.0, more=""):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"{more}/>'


def dot(x, y, colour, radius=5.5, hollow=False):
    paint = f'fill="#ffffff" stroke="{colour}" stroke-width="1.8"' if hollow else f'fill="{colour}"'
    return f'<circle cx="{x}" cy="{y}" r="{radius}" {paint}/>'


def number(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}"


def spread(scale, figure, y, colour):
    a, b = scale.x(figure["wall_min"]), scale.x(figure["wall_max"])
    return rule(a, y, b, y, colour, 2.2, ' stroke-opacity="0.45" stroke-linecap="round"') if b - a > 1 else ""


def row_marks(scale, row, y):
    silt, peer, aim = row["silt"], row.get("heaptrack"), aim_of(row)
    is_slow = any(a["what"] == "wall" for a in figures.missed(row))
    lives = peer and not peer["failed"]
    out = []
    if aim:
        out.append(f'<rect x="{scale.x(1)}" y="{y - 10}" width="{max(scale.x(aim) - scale.x(1), 1):.1f}" height="20" rx="2" fill="{AIM}"/>')
        out.append(rule(scale.x(aim), y - 10, scale.x(aim), y + 10, GOOD, 1.6))
    out.append(text(LEFT - 14, y + 4.5, row["workload"], "number"))
    if lives:
        out += [spread(scale, peer, y, PEER), dot(scale.x(peer["wall"]), y, PEER)]
    out += [dot(scale.x(row["noop"]["wall"]), y, NOOP, 3.6, hollow=True), spread(scale, silt, y, SILT), dot(scale.x(silt["wall"]), y, SILT)]
    out.append(text(COLUMNS[0][1], y + 4.5, number(silt["wall"]), "number strong", BAD if is_slow else SILT))
    if peer:
        out.append(text(COLUMNS[1][1], y + 4.5, number(peer["wall"]) if lives else "failed", "number", PEER))
    if "share" in row:
        out.append(text(COLUMNS[2][1], y + 4.5, f"{row['share']:.3f}", "number strong", GOOD if row["share"] <= figures.SHARE_MAX else BAD))
    elif peer:
        out.append(text(COLUMNS[2][1], y + 4.5, "–", "number", SOFT))
    return out


def legend(y):
    x, out = LEFT, []
    for colour, is_hollow, words, step in ((NOOP, True, "no-op interposer", 142), (SILT, False, "silt, with the spread of its runs", 232),
                                           (PEER, False, "heaptrack", 100)):
        out += [dot(x, y, colour, 3.6 if is_hollow else 5.5, is_hollow), text(x + 12, y + 4.5, words)]
        x += step
    out += [f'<rect x="{x - 6}" y="{y - 8}" width="26" height="16" rx="2" fill="{AIM}"/>', rule(x + 20, y - 8, x + 20, y + 8, GOOD, 1.6),
            text(x + 28, y + 4.5, "where silt aims to be")]
    return out


def svg(result):
    groups = [("malloc/free loops", [r for r in result["rows"] if not r["real"]]),
              ("programs", [r for r in result["rows"] if r["real"]])]
    groups = [(name, rows) for name, rows in groups if rows]
    shown = [r[way] for r in result["rows"] for way in ("silt", "heaptrack") if r.get(way) and not r[way]["failed"]]
    largest = max([2.0] + [figure["wall_max"] for figure in shown])
    scale = Scale(largest)
    height = TOP + sum(HEADING + ROW * len(rows) for _, rows in groups) + 82
    bottom = height - 72
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
           f'aria-label="Wall time under silt and heaptrack as ratios to the bare program">',
           f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
           text(28, 36, "What recording costs: wall time, as a multiple of the bare program's", "title"), *legend(64)]
    for tick in TICKS:
        if tick > largest * 1.12 or (tick in (1.25, 1.5) and largest > 30):
            continue
        x = scale.x(tick)
        out += [rule(x, TOP - 2, x, bottom, INK if tick == 1 else GRID, 1.4 if tick == 1 else 1),
                text(x, bottom + 17, f"{tick:g}×" if tick != 1 else "bare", "soft middle")]
    y = TOP
    for index, (name, rows) in enumerate(groups):
        out.append(text(28, y + 22, name, "group"))
        if index == 0:
            out += [text(x, y + 22, title, "number soft") for title, x in COLUMNS]
        y += HEADING
        for row in rows:
            out += row_marks(scale, row, y + ROW // 2 - 2)
            y += ROW
    out.append(text(28, height - 30, f"{machine.in_words(result['machine'])}. Medians of {result['runs']} interleaved runs.", "soft"))
    out.append(text(28, height - 13, "share: wall time silt adds / wall time heaptrack adds; "
                    "red: an aim about wall time is missed."
                    + (" Taken while the machine did other work too." if result["machine"]["load_before"] > 0.5 else ""), "soft"))
    return "\n".join(x for x in out if x) + "\n</svg>\n"
