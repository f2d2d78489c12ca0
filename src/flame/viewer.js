// SPDX-License-Identifier: MIT
// The moving part of a flame graph, inside the SVG and inside the page: zoom, search, figures under the pointer, keys.
// It draws from silt_flame (data.c) and asks nothing of the network. Frames are numbered level by level, the children of one
// in a row, widest first, their rest last.
"use strict";
(function () {
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const data = silt_flame, names = data.names;
const isPage = document.documentElement.namespaceURI === HTML;
const picture = isPage ? document.getElementById("picture") : document.documentElement;
const layer = document.getElementById("frames");
const LEAST = 0.8, LETTER = 10, BAR = 34, INLINED = 1, TASK = 2, REST = 4, SHADES = 3, SAME = 24;

let shown = null;          // the picture of data.pictures, with what was worked out
let zoomed = 0;            // the frame that fills the width
let marked = -1;           // the frame keys are at
let search = null;         // {matches, text}
let drawn = new Map();     // frame → its element
let scrolls = false;       // higher than the window: a scroll bar takes some of the width
let tip = null, input = null, said = null, reset = null;

// ---- figures --------------------------------------------------------------------------------------

function bytes(n) {
        const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
        let v = Math.abs(n), i = 0;
        while (v >= (i ? 999.95 : 1000) && i + 1 < units.length) {
                v /= 1000;
                i++;
        }
        return (n < 0 ? "-" : "") + v.toFixed(i ? 1 : 0) + " " + units[i];
}

function count(n) {
        return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function isCount() {
        return shown.metric === "count" || shown.metric === "temporary";
}

function amount(n) {
        return isCount() ? count(n) : bytes(n);
}

function signed(n) {
        return (n > 0 ? "+" : "") + amount(n);
}

function share(part, whole) {
        return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "";
}

function figure(value, beside) {
        switch (shown.metric) {
        case "temporary": return count(value) + " temporary allocations";
        case "count": return count(value) + " allocations of " + bytes(beside);
        case "allocated": return bytes(value) + " in " + count(beside) + " allocations";
        case "growth": return signed(value) + " in " + (beside > 0 ? "+" : "") + count(beside) + " blocks";
        default: return bytes(value) + " in " + count(beside) + " blocks";
        }
}

function change(is, was) {
        const by = is - was, pct = 100 * by / was;
        return amount(is) + ", was " + amount(was) +
               (by === 0 ? ": the same" : ": " + signed(by) +
                (was > 0 ? " (" + (by > 0 ? "+" : "") + pct.toFixed(Math.abs(pct) < 10 ? 1 : 0) + " %)" : ""));
}

// What a frame itself asked for: what is left when its children are taken away.
function own(i) {
        let rest = shown.value[i];
        for (let k = 0; k < shown.children[i]; k++)
                rest -= shown.value[shown.first[i] + k];
        return rest;
}

// Lines about frame i, or about `rest`: {n, value, beside, was, width, parent} of frames that were put together.
function tell(i, rest) {
        const p = shown, lines = [];
        const of = rest || {value: p.value[i], beside: p.beside[i], was: p.was ? p.was[i] : 0, width: p.width[i],
                            parent: p.parent[i], n: p.rest[i]};
        lines.push(rest || p.marks[i] & REST ? count(of.n) + " more" : names[p.name[i]]);
        lines.push(p.old ? change(of.value, of.was) : figure(of.value, of.beside));
        if (i !== 0 && !p.change) {
                let text = share(of.width, p.width[0]) + " of all";
                if (of.parent > 0)
                        text += ", " + share(of.width, p.width[of.parent]) + " of the frame above";
                lines.push(text);
        }
        if (!rest && !(p.marks[i] & REST)) {
                const self = own(i);
                if (i !== 0 && !p.reversed && !p.old && self !== 0 && p.children[i])
                        lines.push("itself " + amount(self));
                if (names[p.place[i]])
                        lines.push(names[p.place[i]] + (p.marks[i] & INLINED ? ", inlined" : ""));
        }
        return lines;
}

// ---- texts that fit ---------------------------------------------------------------------------------

function cells(c) {
        const n = c.codePointAt(0);
        if (n >= 0x300 && n < 0x370 || n >= 0x200b && n <= 0x200f || n >= 0xfe00 && n <= 0xfe0f)
                return 0;
        return n >= 0x1100 && n <= 0x115f || n >= 0x2e80 && n <= 0xa4cf || n >= 0xac00 && n <= 0xd7a3 ||
               n >= 0xf900 && n <= 0xfaff || n >= 0xfe30 && n <= 0xfe6f || n >= 0xff00 && n <= 0xff60 ||
               n >= 0x1f300 && n <= 0x1faff || n >= 0x20000 && n <= 0x3fffd ? 2 : 1;
}

function width(letters) {
        return letters.reduce((sum, c) => sum + cells(c), 0);
}

function lastPart(name) {
        let found = 0, depth = 0;
        for (let i = 0; i < name.length; i++) {
                if ("<([{".includes(name[i]))
                        depth++;
                else if (">)]}".includes(name[i]) && depth && !(name[i] === ">" && name[i - 1] === "-"))
                        depth--;
                else if (name[i] === ":" && name[i + 1] === ":" && !depth)
                        found = i + 2;
        }
        return found;
}

// In the middle, as cut.c does it.
function cut(name, room) {
        if (room < 1)
                return "";
        if (name.length <= room && /^[\x20-\x7e]*$/.test(name))
                return name;
        const letters = Array.from(name);
        let have = width(letters);
        if (have <= room)
                return name;
        if (room < 5)
                return "";
        const part = width(Array.from(name.slice(lastPart(name))));
        let tail = Math.floor((room - 1) / 2);
        if (part > tail && part <= Math.floor((room - 1) * 3 / 4))
                tail = part;
        let head = room - 1 - tail, begin = 0, end = 0;
        while (begin < letters.length && cells(letters[begin]) <= head)
                head -= cells(letters[begin++]);
        while (have > tail)
                have -= cells(letters[end++]);
        return letters.slice(0, begin).join("") + "…" + letters.slice(end).join("");
}

// ---- drawing ----------------------------------------------------------------------------------------

function make(space, name, attributes, text) {
        const e = document.createElementNS(space, name);
        for (const key in attributes)
                e.setAttribute(key, attributes[key]);
        if (text !== undefined)
                e.textContent = text;
        return e;
}

// Works out once where children begin, who is whose parent, and where frames lie.
function prepare(p) {
        const n = p.name.length;
        if (p.first)
                return;
        p.width = p.width || p.value;
        p.first = new Uint32Array(n);
        p.parent = new Uint32Array(n);
        p.depth = new Uint32Array(n);
        p.begin = new Float64Array(n);
        for (let i = 0, next = 1; i < n; i++) {
                let at = p.begin[i];
                p.first[i] = next;
                for (let k = 0; k < p.children[i]; k++, next++) {
                        p.parent[next] = i;
                        p.depth[next] = p.depth[i] + 1;
                        p.begin[next] = at;
                        at += p.width[next];
                }
        }
}

function box(i, x, w, label, look, rest) {
        const y = top() + row(i, rest) * data.row, g = make(SVG, "g", {"class": "f" + look.classes});
        const room = Math.floor((w - 6) / data.cell), text = rest && label.length > room ? "" : cut(label, room);
        g.appendChild(make(SVG, "rect", {"class": look.fill, x: x.toFixed(1), y: y,
                                         width: Math.max(0.3, w > 3 ? w - 0.8 : w).toFixed(1), height: data.row - 1}));
        if (text)
                g.appendChild(make(SVG, "text", {x: (x + 3).toFixed(1), y: y + 12}, text));
        g.frame = i;
        g.rest = rest;
        layer.appendChild(g);
        return g;
}

function row(i, rest) {
        return rest ? shown.depth[rest.parent] + 1 : shown.depth[i];
}

function top() {
        return isPage ? 0 : data.top + BAR;
}

function look(i) {
        const p = shown, hue = Math.floor(p.colour[i] / SHADES), shade = p.colour[i] % SHADES;
        const found = search && search.matches[p.name[i]] && i !== 0 && !(p.marks[i] & REST);
        let above = zoomed;
        while (above > 0 && p.depth[above] > p.depth[i])
                above = p.parent[above];
        return {classes: (p.marks[i] & INLINED ? " i" : "") + (p.marks[i] & TASK ? " t" : "") + (found ? " m" : "") +
                         (above === i && i !== zoomed ? " a" : "") + (i === marked ? " k" : ""),
                fill: "h" + hue + (shade ? " s" + shade : "")};
}

function labelOf(i) {
        const p = shown;
        if (i === 0)
                return "all: " + (p.old ? change(p.value[0], p.was[0]) : figure(p.value[0], p.beside[0]));
        return names[p.name[i]];
}

function draw() {
        const p = shown, room = Math.max(50, pictureWidth() - 2 * padding());
        const scale = p.width[zoomed] > 0 ? room / p.width[zoomed] : 0, todo = [];
        let rows = 1;
        layer.textContent = "";
        drawn = new Map();
        for (let i = zoomed; scale > 0; i = p.parent[i]) {
                drawn.set(i, box(i, padding(), room, labelOf(i), look(i)));
                if (i === 0)
                        break;
        }
        if (scale > 0)
                todo.push(zoomed);
        const lowest = lastRow(scale);
        while (todo.length) {
                const i = todo.pop();
                rows = Math.max(rows, p.depth[i] + 1);
                for (let k = 0; k < p.children[i]; k++) {
                        const c = p.first[i] + k, w = p.width[c] * scale;
                        const x = padding() + (p.begin[c] - p.begin[zoomed]) * scale;
                        if (w < LEAST || p.marks[c] & REST || p.depth[c] > lowest) {
                                drawRest(i, k, x, scale);
                                rows = Math.max(rows, p.depth[i] + 2);
                                break;
                        }
                        drawn.set(c, box(c, x, w, names[p.name[c]], look(c)));
                        todo.push(c);
                }
        }
        finish(rows);
}

// The colour of a change, in the steps of colour.c.
function changeHue(f) {
        const by = shown.old ? f.value - f.was : f.value;
        const base = shown.old ? Math.max(Math.abs(f.value), Math.abs(f.was)) : f.width;
        const part = base > 0 ? Math.abs(by) / base : 0;
        const steps = part < 0.01 ? 0 : part < 0.1 ? 1 : part < 1 / 3 ? 2 : part < 2 / 3 ? 3 : 4;
        return SAME + (by < 0 ? -steps : steps);
}

// The last row with a frame wide enough for a letter; towers below are put together until they are zoomed into.
function lastRow(scale) {
        const p = shown, end = p.begin[zoomed] + p.width[zoomed];
        let row = p.depth[zoomed];
        for (let i = zoomed; i < p.name.length; i++)
                if (p.width[i] * scale >= LETTER && p.begin[i] >= p.begin[zoomed] && p.begin[i] < end)
                        row = Math.max(row, p.depth[i]);
        return row;
}

// One bar for the children of i from the k-th on: too narrow, or not in the file.
function drawRest(i, k, x, scale) {
        const p = shown, rest = {n: 0, value: 0, beside: 0, was: 0, width: 0, parent: i};
        for (; k < p.children[i]; k++) {
                const c = p.first[i] + k;
                rest.n += p.marks[c] & REST ? p.rest[c] : 1;
                rest.value += p.value[c];
                rest.beside += p.beside[c];
                rest.was += p.was ? p.was[c] : 0;
                rest.width += p.width[c];
        }
        if (rest.width * scale >= LEAST)
                box(i, x, rest.width * scale, count(rest.n) + " more",
                    {classes: "", fill: "h" + (p.change ? changeHue(rest) : 13)}, rest);
}

function padding() {
        return isPage ? 0 : data.pad;
}

function pictureWidth() {
        return isPage ? document.body.clientWidth - 20 : Math.max(data.width, window.innerWidth - (scrolls ? 16 : 0));
}

function finish(rows) {
        const height = top() + rows * data.row;
        const note = isPage ? null : document.getElementById("note");
        let all = height + 8;
        if (note) {
                note.setAttribute("transform", "translate(0," + (height + 4 - note.begin) + ")");
                all = height + 4 + note.extent + 8;
        }
        if (!isPage && !scrolls && all > window.innerHeight) {
                scrolls = true;
                draw();
                return;
        }
        all = Math.max(all, isPage || scrolls ? 0 : window.innerHeight);
        picture.setAttribute("width", pictureWidth());
        picture.setAttribute("height", all);
        picture.setAttribute("viewBox", "0 0 " + pictureWidth() + " " + all);
        reset.disabled = zoomed === 0;
        say();
}

// ---- words ------------------------------------------------------------------------------------------

function say() {
        const p = shown;
        if (search)
                said.textContent = search.text;
        else if (zoomed)
                said.textContent = names[p.name[zoomed]] + ": " + tell(zoomed).slice(1, 3).join(", ");
        else
                said.textContent = "";
}

function showTip(i, rest, x, y) {
        const lines = tell(i, rest), most = 100, rows = [];
        const first = Array.from(lines[0]);
        for (let at = 0; at < first.length && rows.length < 6; at += most)
                rows.push(first.slice(at, at + most).join(""));
        const n = rows.length;
        rows.push(...lines.slice(1));
        tip.textContent = "";
        const w = Math.max(...rows.map((r, k) => width(Array.from(r)) * (k < n ? data.cell + 0.6 : 6.9))) + 18;
        const h = rows.length * 16 + 10;
        tip.appendChild(make(SVG, "rect", {"class": "tip", width: w, height: h, rx: 4}));
        rows.forEach((r, k) => tip.appendChild(make(SVG, "text", {"class": k < n ? "tipname" : "tipwords", x: 9, y: 18 + k * 16}, r)));
        const left = Math.max(2, Math.min(x + 14, pictureWidth() - w - 4));
        const bottom = parseFloat(picture.getAttribute("height"));
        const below = y + 18;
        tip.setAttribute("transform", "translate(" + left + "," + (below + h > bottom && y - h - 8 > 0 ? y - h - 8 : below) + ")");
        tip.removeAttribute("display");
}

function hideTip() {
        tip.setAttribute("display", "none");
}

// ---- search -----------------------------------------------------------------------------------------

function find(pattern) {
        let expression;
        search = null;
        if (pattern) {
                try {
                        expression = new RegExp(pattern, /[A-Z]/.test(pattern) ? "u" : "iu");
                        search = {matches: names.map(n => n !== "" && expression.test(n)), text: ""};
                        search.text = searchText();
                } catch (e) {
                        search = {matches: [], text: "not a regular expression"};
                }
        }
        draw();
}

// A frame below one that matches is counted with it.
function searchText() {
        const p = shown, inside = new Uint8Array(p.name.length);
        let n = 0, value = 0, was = 0, w = 0;
        for (let i = 1; i < p.name.length; i++) {
                const found = search.matches[p.name[i]] && !(p.marks[i] & REST);
                n += found ? 1 : 0;
                if (found && !inside[p.parent[i]]) {
                        value += p.value[i];
                        was += p.was ? p.was[i] : 0;
                        w += p.width[i];
                }
                inside[i] = found || inside[p.parent[i]] ? 1 : 0;
        }
        if (!n)
                return "no frame matches";
        return (p.old ? change(value, was) : p.change ? signed(value) : share(w, p.width[0]) + " of all: " + amount(value)) +
               " in " + count(n) + (n === 1 ? " frame" : " frames");
}

// ---- moving about -----------------------------------------------------------------------------------

function zoom(i) {
        zoomed = i;
        hideTip();
        draw();
}

function mark(i) {
        if (!drawn.has(i))
                return;
        marked = i;
        draw();
        const r = drawn.get(i).firstChild;
        showTip(i, undefined, parseFloat(r.getAttribute("x")), parseFloat(r.getAttribute("y")));
        said.textContent = tell(i).join(", ");
}

function step(key) {
        const p = shown, i = drawn.has(marked) ? marked : zoomed;
        if (marked < 0 || key === "ArrowDown" && !drawn.has(marked))
                return mark(zoomed);
        if (key === "ArrowUp")
                return mark(p.parent[i]);
        if (key === "ArrowDown")
                return p.children[i] && mark(p.first[i]);
        const next = i + (key === "ArrowRight" ? 1 : -1);
        if (next > 0 && next < p.name.length && p.parent[next] === p.parent[i])
                mark(next);
}

function pressed(e) {
        if (e.target === input) {
                if (e.key === "Escape") {
                        input.value = "";
                        input.blur();
                        find("");
                }
                return;
        }
        if (e.ctrlKey || e.metaKey || e.altKey || /^(SELECT|BUTTON)$/i.test(e.target.localName))
                return;
        if (e.key === "/") {
                input.focus();
        } else if (e.key === "Escape") {
                input.value = "";
                search = null;
                marked = -1;
                zoom(0);
        } else if (e.key === "Enter" && marked >= 0) {
                zoom(marked);
                mark(marked);
        } else if (e.key.startsWith("Arrow")) {
                step(e.key);
        } else {
                return;
        }
        e.preventDefault();
}

function frameAt(e) {
        const g = e.target.closest ? e.target.closest("g.f") : null;
        return g && layer.contains(g) ? g : null;
}

// ---- what is around the frames ------------------------------------------------------------------------

const LABELS = {peak: "live at the peak", end: "live at the end", allocated: "bytes allocated", count: "allocations",
                temporary: "temporary allocations", growth: "growth"};

function addChoice(bar) {
        const select = make(HTML, "select", {"aria-label": "what is drawn"});
        if (data.pictures.length < 2)
                return;
        data.pictures.forEach((p, k) => select.appendChild(
                make(HTML, "option", {value: k}, LABELS[p.metric] + (p.reversed ? ", code that asked first" : ""))));
        select.addEventListener("change", () => show(data.pictures[Number(select.value)]));
        bar.appendChild(select);
}

function makeBar() {
        const bar = make(HTML, "div", {"class": "bar"});
        input = make(HTML, "input", {type: "search", title: "a regular expression", placeholder: "search ( / )", "aria-label": "search", spellcheck: "false"});
        reset = make(HTML, "button", {type: "button", title: "Esc"}, "whole picture");
        said = make(HTML, "span", {"class": "said", role: "status", "aria-live": "polite"});
        addChoice(bar);
        bar.append(input, reset, said);
        input.addEventListener("input", () => find(input.value));
        reset.addEventListener("click", () => zoom(0));
        if (isPage) {
                document.getElementById("bar").appendChild(bar);
        } else {
                const frame = make(SVG, "foreignObject", {id: "bar", x: data.pad, y: data.top, width: "100%", height: BAR});
                frame.appendChild(bar);
                picture.appendChild(frame);
                const fit = () => frame.setAttribute("width", Math.max(100, Math.min(pictureWidth(), window.innerWidth) - 2 * data.pad));
                window.addEventListener("resize", fit);
                fit();
        }
}

function showKeys(p) {
        const keys = document.getElementById("keys");
        const list = !p.change ? p.keys.map(k => [k[0], k[1] + (k[2] ? " " + k[2] + " %" : "")])
                     : p.old ? [[20, "gone"], [21, "smaller"], [24, "same"], [27, "larger"], [28, "new"]] : [[20, "shrank"], [28, "grew"]];
        keys.textContent = "";
        for (const [hue, text] of list) {
                const span = make(HTML, "span", {}), mark = make(SVG, "svg", {viewBox: "0 0 12 12"});
                mark.appendChild(make(SVG, "rect", {"class": "h" + hue, width: 12, height: 12, rx: 2}));
                span.append(mark, text);
                keys.appendChild(span);
        }
}

function show(p) {
        shown = p;
        prepare(p);
        zoomed = 0;
        marked = -1;
        if (isPage) {
                document.title = p.title;
                document.getElementById("title").textContent = p.title;
                document.getElementById("subtitle").textContent = p.subtitle;
                document.getElementById("note").textContent = p.note;
                picture.setAttribute("aria-label", p.title);
                showKeys(p);
        }
        find(input.value);
}

function begin() {
        if (!isPage) {
                picture.setAttribute("role", "group"); // an image has nothing to use in it
                const note = document.getElementById("note"), lines = note.querySelectorAll("text");
                note.begin = lines.length ? parseFloat(lines[0].getAttribute("y")) - 11 : 0;
                note.extent = 16 * lines.length;
        }
        makeBar();
        tip = picture.appendChild(make(SVG, "g", {id: "tip", display: "none"}));
        layer.addEventListener("click", e => {
                const g = frameAt(e);
                if (g)
                        zoom(g.frame);
        });
        layer.addEventListener("mousemove", e => {
                const g = frameAt(e), at = picture.getBoundingClientRect();
                if (g)
                        showTip(g.frame, g.rest, e.clientX - at.left, e.clientY - at.top);
                else
                        hideTip();
        });
        layer.addEventListener("mouseleave", hideTip);
        document.addEventListener("keydown", pressed);
        window.addEventListener("resize", () => {
                scrolls = false;
                draw();
        });
        show(data.pictures[0]);
}

begin();
})();
