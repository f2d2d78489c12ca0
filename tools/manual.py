#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the man pages and the text of --help from one source, man/silt-CMD.md.

    manual.py roff SOURCE OUT VERSION [COMMAND-SOURCE...]
    manual.py header SOURCE OUT

A source is Markdown of a narrow kind:

    # silt-run(1): what it is for, in one line
    ## SYNOPSIS         indented lines
    ## ANY SECTION      paragraphs; indented lines are literal; `term` followed by
                        lines that begin with ":   " or four spaces defines the term
    ## OPTIONS          definitions whose terms are `-o`, `--output FILE`

A line @include NAME@ stands for the lines of NAME in the same folder.
In paragraphs `code`, **bold** and *italic* are understood. The line @COMMANDS@ stands for
a list of the commands whose sources are given. Options take their C names from their long
names, so that a switch over them does not compile until every documented option is handled.
"""

import os
import re
import sys
import textwrap

HELP_WIDTH = 80
HELP_INDENT = 24
HELP_OPTION = ("`-h`, `--help`", "Print this text and exit.")
OPTION_TERM = re.compile(r"^`(?:-(?P<short>\w)`, `)?--(?P<long>[a-z-]+)(?: (?P<value>\S+))?`$")


def fail(text):
    sys.exit(f"manual.py: {text}")


class Page:
    """One source: name, section, summary and sections of (kind, ...) blocks."""

    def __init__(self, path):
        self.path = path
        lines = self.read_lines(path)
        head = re.match(r"^# (\S+)\((\d)\): (.+)$", lines[0])
        if not head:
            fail(f"{path}: the first line must be '# name(section): summary'")
        self.name, self.section, self.summary = head.groups()
        self.sections = {}
        blocks = None
        for line in lines[1:]:
            if line.startswith("## "):
                blocks = self.sections.setdefault(line[3:].strip(), [])
            elif blocks is not None:
                self.add_line(blocks, line)
        for title, blocks in self.sections.items():
            self.sections[title] = [b for b in blocks if b[0] != "blank"]
        if "OPTIONS" in self.sections:
            term, text = HELP_OPTION
            self.sections["OPTIONS"].append(["define", term, [text]])

    @classmethod
    def read_lines(cls, path):
        lines = []
        with open(path, encoding="utf-8") as f:
            for line in f.read().split("\n"):
                include = re.match(r"^@include (\S+)@$", line)
                if include:
                    lines += cls.read_lines(os.path.join(os.path.dirname(path), include[1]))
                else:
                    lines.append(line)
        return lines

    @property
    def command(self):
        return self.name.partition("-")[2]

    @staticmethod
    def add_line(blocks, line):
        last = blocks[-1] if blocks else ["blank"]
        if not line.strip():
            blocks.append(["blank"])
        elif line.startswith(":   ") and last[0] == "text":
            blocks[-1] = ["define", " ".join(last[1]), [line[4:].strip()]]
        elif line.startswith("    ") and last[0] == "define":
            last[2].append(line.strip())
        elif line.startswith("    "):
            if last[0] == "literal":
                last[1].append(line[4:])
            else:
                blocks.append(["literal", [line[4:]]])
        elif last[0] == "text":
            last[1].append(line.strip())
        else:
            blocks.append(["text", [line.strip()]])

    def options(self):
        """(short or None, long, value or None, term, text) of each documented option."""
        for block in self.sections.get("OPTIONS", []):
            if block[0] != "define":
                continue
            match = OPTION_TERM.match(block[1])
            if not match:
                fail(f"{self.path}: cannot read the option term {block[1]}")
            yield (match["short"], match["long"], match["value"], block[1], " ".join(block[2]))


def plain(text):
    return re.sub(r"`([^`]*)`|\*\*([^*]+)\*\*|\*([^*]+)\*", lambda m: m[1] or m[2] or m[3], text)


# ---- --help -----------------------------------------------------------------------------


def help_definition(term, text):
    head = "  " + term
    body = textwrap.wrap(plain(text), HELP_WIDTH - HELP_INDENT, break_on_hyphens=False,
                         break_long_words=False)
    if len(head) + 2 > HELP_INDENT:
        lines = [head]
    else:
        lines = [head.ljust(HELP_INDENT) + body.pop(0)]
    return lines + [" " * HELP_INDENT + line for line in body]


def help_text(page):
    out = []
    for block in page.sections["SYNOPSIS"]:
        for idx, line in enumerate(block[1]):
            out.append(("usage: " if idx == 0 else "       ") + line)
    out += ["", *textwrap.wrap(page.summary[0].upper() + page.summary[1:] + ".", HELP_WIDTH)]
    out += ["", "options:"]
    for short, long, value, _, text in page.options():
        term = (f"-{short}, " if short else "    ") + f"--{long}" + (f" {value}" if value else "")
        out += help_definition(term, text)
    for title in ("METRICS", "FORMATS", "EXAMPLES"):
        if title not in page.sections:
            continue
        if title == "FORMATS":  # their names: the page has a paragraph on each
            names = ", ".join(plain(block[1]) for block in page.sections[title] if block[0] == "define")
            out += ["", f"formats ({page.name}({page.section}) tells about each):"]
            out += ["  " + line for line in textwrap.wrap(names, HELP_WIDTH - 2, break_on_hyphens=False)]
            continue
        out += ["", title.lower() + ":"]
        for block in page.sections[title]:
            if block[0] == "define":
                out += help_definition(plain(block[1]), " ".join(block[2]))
            elif block[0] == "literal":
                out += ["  " + line for line in block[1]]
            elif title == "METRICS":
                out += ["  " + line for line in textwrap.wrap(plain(" ".join(block[1])), HELP_WIDTH - 2)]
    return "\n".join(out) + "\n"


def c_string(text):
    lines = [line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")[:-1]]
    return "\n".join(f'        "{line}\\n"' for line in lines)


def write_header(page, path):
    command = page.command
    upper = command.upper()
    options = list(page.options())
    enum = "\n".join(f"        {upper}_{long.upper().replace('-', '_')},"
                     for _, long, *_ in options if long != "help")
    table = []
    for short, long, value, *_ in options:
        ident = "CLI_OPTION_HELP" if long == "help" else f"{upper}_{long.upper().replace('-', '_')}"
        short_c = f"'{short}'" if short else "0"
        value_c = f'"{value}"' if value else "NULL"
        table.append(f'        {{{ident}, {short_c}, "{long}", {value_c}}},')
    source = os.path.basename(page.path)
    text = f"""/* Generated by tools/manual.py from man/{source}; edit that. */
#pragma once

#include "cli/options.h"

enum {command}_option {{
        {upper}_OPTION_NONE,
{enum}
}};

#define {upper}_SUMMARY "{page.summary}"

static const struct cli_option {command}_option_table[] = {{
{chr(10).join(table)}
}};

static const char {command}_help_text[] =
{c_string(help_text(page))};
"""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


# ---- roff -------------------------------------------------------------------------------


def roff_escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", text)


def roff_inline(text):
    out, end = [], 0
    for m in re.finditer(r"`([^`]*)`|\*\*([^*]+)\*\*|\*([^*]+)\*", text):
        out.append(roff_escape(text[end:m.start()]))
        if m[3]:
            out.append(f"\\fI{roff_escape(m[3])}\\fR")
        else:
            out.append(f"\\fB{roff_escape(m[1] or m[2])}\\fR")
        end = m.end()
    out.append(roff_escape(text[end:]) if end else roff_escape(text))
    return "".join(out)


def roff_option_term(term):
    match = OPTION_TERM.match(term)
    if not match:
        return roff_inline(term)
    names = [f"\\fB\\-{match['short']}\\fR"] if match["short"] else []
    names.append(f"\\fB\\-\\-{roff_escape(match['long'])}\\fR")
    value = f" \\fI{roff_escape(match['value'])}\\fR" if match["value"] else ""
    return ", ".join(names) + value


def roff_block(block, commands):
    kind = block[0]
    if kind == "text" and block[1] == ["@COMMANDS@"]:
        out = []
        for page in commands:
            out += [".TP", f"\\fB{roff_escape(page.name)}\\fR(1)", roff_escape(page.summary) + "."]
        return out
    if kind == "text":
        return [".PP", roff_inline(" ".join(block[1]))]
    if kind == "define":
        return [".TP", roff_option_term(block[1]), roff_inline(" ".join(block[2]))]
    return [".PP", ".RS 4", ".nf", *[roff_escape(line) for line in block[1]], ".fi", ".RE"]


def write_roff(page, path, version, commands):
    out = [f'.\\" Generated by tools/manual.py from man/{os.path.basename(page.path)}; edit that.',
           f'.TH {page.name.upper()} {page.section} "" "silt {version}" "silt manual"',
           ".nh", ".ad l",
           ".SH NAME", f"{roff_escape(page.name)} \\- {roff_escape(page.summary)}"]
    for title, blocks in page.sections.items():
        out.append(f".SH {title}")
        if title == "SYNOPSIS":
            for block in blocks:
                out += [".nf", *[roff_escape(line) for line in block[1]], ".fi"]
            continue
        for idx, block in enumerate(blocks):
            lines = roff_block(block, commands)
            out += lines[1:] if idx == 0 and lines[0] == ".PP" else lines
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def main(argv):
    if len(argv) == 4 and argv[1] == "header":
        write_header(Page(argv[2]), argv[3])
    elif len(argv) >= 5 and argv[1] == "roff":
        write_roff(Page(argv[2]), argv[3], argv[4], [Page(p) for p in argv[5:]])
    else:
        fail("usage: manual.py header SOURCE OUT | manual.py roff SOURCE OUT VERSION [SOURCE...]")


if __name__ == "__main__":
    main(sys.argv)
