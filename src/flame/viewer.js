// SPDX-License-Identifier: MIT
// The moving part of a flame graph, inside the SVG and inside the page: zoom, search, figures under the pointer, keys.
// It draws from silt_flame (data.c) and asks nothing of the network. Frames are numbered level by level, the children of one
// in a row, widest first, their rest last.
(function () {
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const data = silt_flame, names = data.names, {bytes, count, duration, width, cut, wrap} = silt_texts;
const isPage = document.documentElement.namespaceURI === HTML;
const picture = isPage ? document.getElementById("picture") : document.documentElement;
const layer = document.getElementById("frames");
const timelineLayer = document.getElementById("timeline");
const LEAST = 0.8, LETTER = 10, INLINED = 1, TASK = 2, REST = 4, UNNAMED = 8, SHADES = 3, REST_HUE = 34;
const GONE = 40, SAME = 46, NEW = 52, STEPS = 5, CURVE = 54, TIMELINE = 96; // colour.c, timeline.h

let shown = null;          // the picture of data.pictures, with what was worked out
let zoomed = 0;            // the frame that fills the width
let marked = null;         // the box keys are at: its key
let search = null;         // {matches, inside, text}; inside: of frames, 1 found, 2 below one that is
let boxes = [];            // what is drawn: {g, frame, rest, row, x, w}
let rowHeight = data.row;
let headEnd = 0;           // where frames begin in the SVG
let address = "";          // the state as the URL has it
let scrolls = false;       // higher than the window: a scroll bar takes some of the width
let tip = null, input = null, said = null, reset = null, bar = null, choice = null;

// ---- figures --------------------------------------------------------------------------------------

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

// "1 block", "2 blocks"
function many(n, noun) {
        return count(n) + " " + noun + (Math.abs(n) === 1 ? "" : "s");
}

function figure(value, beside) {
        switch (shown.metric) {
        case "temporary": return many(value, "temporary allocation");
        case "count": return many(value, "allocation") + " of " + bytes(beside);
        case "allocated": return bytes(value) + " in " + many(beside, "allocation");
        case "growth": return signed(value) + " in " + (beside > 0 ? "+" : "") + many(beside, "block");
        default: return bytes(value) + " in " + many(beside, "block");
        }
}

function change(is, was) {
        const by = is - was, pct = 100 * by / was;
        return amount(is) + ", was " + amount(was) +
               (by === 0 ? ": the same" : ": " + signed(by) +
                (was > 0 ? " (" + (by > 0 ? "+" : "") + pct.toFixed(Math.abs(pct) < 10 ? 1 : 0) + " %)" : ""));
}

// In a few letters, for inside of a box, as words.c does it.
function brief(of) {
        const p = shown, by = of.value - of.was;
        if (!p.old) {
                const exact = p.width[0] > 0 ? 100 * of.width / p.width[0] : 0, pct = exact > 99 && exact < 100 ? 99 : exact;
                return p.metric === "growth" ? signed(of.value) : amount(of.value) + ", " + pct.toFixed(pct < 9.95 ? 1 : 0) + " %";
        }
        if (of.was === 0 && of.value > 0)
                return "new, " + amount(of.value);
        if (of.value === 0 && of.was > 0)
                return "gone, was " + amount(of.was);
        if (by === 0)
                return "";
        const pct = 100 * by / of.was;
        return signed(by) + (of.was > 0 ? ", " + (by > 0 ? "+" : "") + pct.toFixed(Math.abs(pct) < 9.95 ? 1 : 0) + " %" : "");
}

function figuresOf(i) {
        const p = shown;
        return {value: p.value[i], beside: p.beside[i], was: p.was ? p.was[i] : 0, width: p.width[i], parent: p.parent[i], n: p.rest[i]};
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
        const of = rest || figuresOf(i);
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

function label(g, x, y, text, isFigure) {
        g.appendChild(make(SVG, "text", isFigure ? {"class": "n", x: x.toFixed(1), y: Math.round(y)} : {x: x.toFixed(1), y: Math.round(y)}, text));
}

// The name, and where there is room its figures: below it, or at the right end.
function labels(g, x, y, w, name, figures, isWhole) {
        const room = Math.floor((w - 6) / data.cell), cellsOf = t => width(Array.from(t));
        const isHigh = rowHeight >= data.twoLines, two = isHigh && figures && figures.length <= room;
        const text = isWhole && cellsOf(name) > room ? "" : cut(name, room);
        if (!text)
                return;
        label(g, x + 3, y + (two ? rowHeight / 2 - 3 : rowHeight / 2 + 3.5), text);
        if (two)
                label(g, x + 3, y + rowHeight / 2 + 10, figures, true);
        else if (figures && !isHigh && cellsOf(name) + figures.length + 2 <= room)
                label(g, x + w - 4 - data.cell * figures.length, y + rowHeight / 2 + 3.5, figures, true);
}

function box(i, x, w, name, figures, look, rest) {
        const y = headEnd + row(i, rest) * rowHeight, g = make(SVG, "g", {"class": "f" + look.classes});
        g.appendChild(make(SVG, "rect", {"class": look.fill, x: x.toFixed(1), y: y,
                                         width: Math.max(0.3, w > 3 ? w - 0.8 : w).toFixed(1), height: rowHeight - 1}));
        labels(g, x, y, w, name, figures, rest);
        g.frame = i;
        g.rest = rest;
        layer.appendChild(g);
        boxes.push({g: g, frame: i, rest: rest, row: row(i, rest), x: x, w: w});
        return g;
}

function row(i, rest) {
        return rest ? shown.depth[rest.parent] + 1 : shown.depth[i];
}

function look(i) {
        const p = shown, hue = Math.floor(p.colour[i] / SHADES), shade = p.colour[i] % SHADES;
        const inside = search && search.inside ? search.inside[i] : 0;
        let above = zoomed;
        while (above > 0 && p.depth[above] > p.depth[i])
                above = p.parent[above];
        return {classes: (p.marks[i] & INLINED ? " i" : "") + (p.marks[i] & TASK ? " t" : "") + (p.marks[i] & UNNAMED ? " u" : "") +
                         (inside === 1 ? " m" : search && inside === 0 ? " d" : "") +
                         (above === i && i !== zoomed ? " a" : ""),
                fill: "h" + hue + (shade ? " s" + shade : "")};
}

// A box as keys know it, also after it was drawn anew.
function keyOf(i, rest) {
        return rest ? "rest of " + rest.parent : String(i);
}

function drawBox(i, x, w) {
        const p = shown;
        if (i === 0)
                return box(0, x, w, "all: " + (p.old ? change(p.value[0], p.was[0]) : figure(p.value[0], p.beside[0])), "", look(0));
        return box(i, x, w, names[p.name[i]], brief(figuresOf(i)), look(i));
}

function draw() {
        const p = shown, room = Math.max(50, pictureWidth() - 2 * padding());
        const scale = p.width[zoomed] > 0 ? room / p.width[zoomed] : 0, todo = [];
        let rows = 1;
        layer.textContent = "";
        boxes = [];
        headEnd = isPage ? 0 : drawHead();
        rowHeight = Math.min(Math.max(Math.floor(data.rows / (lastRow(p.width[0] > 0 ? room / p.width[0] : 0, 0) + 1)), data.row), data.maxRow);
        for (let i = zoomed; scale > 0; i = p.parent[i]) {
                drawBox(i, padding(), room);
                if (i === 0)
                        break;
        }
        if (scale > 0)
                todo.push(zoomed);
        const lowest = lastRow(scale, zoomed);
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
                        drawBox(c, x, w);
                        todo.push(c);
                }
        }
        finish(rows);
}

function inSteps(amount, limits, isLess) {
        const steps = limits.filter(limit => amount >= limit).length;
        return SAME + (isLess ? -steps : steps);
}

// The colour of a change, in the steps of colour.c.
function changeHue(f) {
        const by = shown.old ? f.value - f.was : f.value;
        if (shown.old && f.value > 0 && f.was > 0)
                return inSteps(f.value > f.was ? f.value / f.was : f.was / f.value, [1.01, 1.1, 1.5, 2.5, 6], f.value < f.was);
        if (shown.old && f.was === 0 && f.value > 0)
                return NEW;
        if (shown.old && f.value === 0 && f.was > 0)
                return GONE;
        const base = shown.old ? Math.max(Math.abs(f.value), Math.abs(f.was)) : f.width;
        return inSteps(base > 0 ? Math.abs(by) / base : 0, [0.01, 0.1, 1 / 3, 2 / 3, 0.9], by < 0);
}

// The last row below a frame with one wide enough for a letter; towers below are put together until they are zoomed into.
function lastRow(scale, from) {
        const p = shown, end = p.begin[from] + p.width[from];
        let row = p.depth[from];
        for (let i = from; i < p.name.length; i++)
                if (p.width[i] * scale >= LETTER && p.begin[i] >= p.begin[from] && p.begin[i] < end)
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
                box(i, x, rest.width * scale, count(rest.n) + " more", brief(rest),
                    {classes: (search && !(search.inside && search.inside[i]) ? " d" : ""),
                     fill: "h" + (p.change ? changeHue(rest) : REST_HUE)}, rest);
}

function padding() {
        return isPage ? 0 : data.pad;
}

function pictureWidth() {
        return isPage ? document.body.clientWidth - 20 : Math.max(200, window.innerWidth - (scrolls ? 16 : 0));
}

// ---- what is above and below the frames, in the SVG ----------------------------------------------------

// As svg.c writes them; returns where they end.
function addLines(to, text, isTitle, y) {
        const step = isTitle ? 20 : 16;
        for (const line of wrap(text, Math.max(8, Math.floor((pictureWidth() - 2 * data.pad) / (isTitle ? 9.8 : 7.2))))) {
                to.appendChild(make(SVG, "text", {"class": isTitle ? "title" : "words", x: data.pad, y: y + step - 5}, line));
                y += step;
        }
        return y;
}

function drawHead() {
        const head = document.getElementById("head"), p = shown, w = pictureWidth();
        let x = data.pad, y = 8;
        head.textContent = "";
        y = addLines(head, p.title, true, y);
        y = addLines(head, p.subtitle, false, y) + 4;
        for (const [hue, text] of keysOf(p)) {
                const most = Math.max(6, Math.floor((w - 2 * data.pad - 32) / 7.2)), word = cut(text, most);
                const needs = 18 + 7.2 * width(Array.from(word)) + 14;
                if (x > data.pad && x + needs > w - data.pad) {
                        x = data.pad;
                        y += 18;
                }
                head.appendChild(make(SVG, "rect", {"class": "h" + hue, x: x, y: y + 2, width: 12, height: 12, rx: 2}));
                head.appendChild(make(SVG, "text", {"class": "words", x: x + 17, y: y + 12}, word));
                x += needs;
        }
        y += x > data.pad ? 22 : 0;
        const high = w < 560 ? 58 : 34;
        bar.setAttribute("y", y);
        bar.setAttribute("width", w - 2 * data.pad);
        bar.setAttribute("height", high);
        return y + high;
}

function curve(c, x, y, w, most, isOld) {
        const step = w / c.live.length;
        const path = c.live.map((v, i) => "V" + (y + CURVE - CURVE * v / most).toFixed(1) + "H" + (x + step * (i + 1)).toFixed(1));
        return make(SVG, "path", {"class": isOld ? "told" : "tnew",
                                  d: "M" + x + "," + (y + CURVE) + path.join("") + "V" + (y + CURVE) + (isOld ? "" : "Z")});
}

// Live memory over time, as timeline.c draws it; returns where it ends.
function drawTimeline(y) {
        const curves = data.timeline, x = padding(), w = pictureWidth() - 2 * x;
        timelineLayer.textContent = "";
        if (!curves.length)
                return y;
        const add = (name, attributes, text) => timelineLayer.appendChild(make(SVG, name, attributes, text));
        const most = Math.max(...curves.map(c => Math.max(...c.live))), end = Math.max(...curves.map(c => c.end));
        const c = curves[0], top = y + 22, words = (x, anchor, text) => add("text", {"class": "words", x: x, y: top + CURVE + 14, "text-anchor": anchor}, text);
        const text = "Live memory over time: at most " + bytes(c.bytes) + ", at " + duration(c.peak) +
                     (curves.length > 1 ? "; line: before, at most " + bytes(curves[1].bytes) : "");
        add("text", {"class": "words", x: x, y: y + 14}, cut(text, Math.floor(w / 7)));
        curves.forEach((c, i) => timelineLayer.appendChild(curve(c, x, top, w * c.end / end, most, i > 0)));
        for (const [from, to] of [[0, Math.min(c.from, c.end)], [c.to, c.end]])
                if (to > from)
                        add("rect", {"class": "tveil", x: x + w * from / end, y: top, width: w * (to - from) / end, height: CURVE});
        add("path", {"class": "taxis", d: "M" + x + "," + (top + CURVE) + "H" + (x + w)});
        words(x, "start", "0 s");
        words(x + w / 2, "middle", duration(Math.floor(end / 2)));
        words(x + w, "end", duration(end));
        return y + TIMELINE;
}

function finish(rows) {
        const note = isPage ? null : document.getElementById("note");
        let all = drawTimeline(headEnd + rows * rowHeight + 4);
        if (note) {
                note.textContent = "";
                all = addLines(note, shown.note, false, all);
        }
        all += 8;
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
        const at = markedBox();
        if (at) // above its neighbours
                layer.appendChild(make(SVG, "rect", {"class": "k", x: at.x.toFixed(1), y: headEnd + at.row * rowHeight,
                                                     width: Math.max(2, at.w - 0.8).toFixed(1), height: rowHeight - 1}));
        say();
}

// ---- words ------------------------------------------------------------------------------------------

function say() {
        const p = shown;
        if (said.wrong)
                said.textContent = "not a regular expression";
        else if (search)
                said.textContent = search.text;
        else if (zoomed)
                said.textContent = names[p.name[zoomed]] + ": " + tell(zoomed).slice(1, 3).join(", ");
        else
                said.textContent = "";
}

function showTip(i, rest, x, y) {
        const lines = tell(i, rest), rows = [];
        const most = Math.max(10, Math.min(100, Math.floor((pictureWidth() - 26) / (data.cell + 0.6))));
        const first = Array.from(lines[0]);
        for (let at = 0; at < first.length && rows.length < 6; at += most)
                rows.push(first.slice(at, at + most).join(""));
        const n = rows.length;
        for (const line of lines.slice(1))
                rows.push(...wrap(line, Math.max(10, Math.floor((pictureWidth() - 26) / 6.9))));
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
                        search = {matches: names.map(n => n !== "" && expression.test(n)), inside: null, text: ""};
                        search.text = searchText();
                } catch (e) {
                        search = null;
                        said.wrong = true;
                }
        }
        if (search || !pattern)
                said.wrong = false;
        draw();
}

// A frame below one that matches is counted with it.
function searchText() {
        const p = shown, inside = new Uint8Array(p.name.length);
        let n = 0, value = 0, was = 0, w = 0;
        search.inside = inside;
        for (let i = 1; i < p.name.length; i++) {
                const found = search.matches[p.name[i]] && !(p.marks[i] & REST);
                n += found ? 1 : 0;
                if (found && !inside[p.parent[i]]) {
                        value += p.value[i];
                        was += p.was ? p.was[i] : 0;
                        w += p.width[i];
                }
                inside[i] = found ? 1 : inside[p.parent[i]] ? 2 : 0;
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
        remember(true);
}

function markedBox() {
        return boxes.find(b => keyOf(b.frame, b.rest) === marked);
}

function mark(b) {
        marked = keyOf(b.frame, b.rest);
        draw();
        const at = markedBox();
        if (!at)
                return;
        if (at.g.scrollIntoView)
                at.g.scrollIntoView({block: "nearest"});
        showTip(at.frame, at.rest, at.x, headEnd + at.row * rowHeight);
        said.textContent = tell(at.frame, at.rest).join(", ");
}

// From box to box: up to the caller, down to the widest below, left and right along the row.
function step(key) {
        const at = markedBox(), here = b => b.x + b.w / 2;
        if (!at)
                return mark(boxes.find(b => b.frame === zoomed && !b.rest) || boxes[0]);
        const inRow = boxes.filter(b => b.row === at.row + (key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0) && b !== at);
        const fit = {ArrowUp: b => b.x <= here(at) && b.x + b.w >= here(at),
                     ArrowDown: b => here(b) >= at.x && here(b) <= at.x + at.w,
                     ArrowLeft: b => b.x < at.x, ArrowRight: b => b.x > at.x}[key];
        const found = fit ? inRow.filter(fit) : [];
        const score = {ArrowUp: b => 0, ArrowDown: b => -b.w, ArrowLeft: b => -b.x, ArrowRight: b => b.x}[key];
        if (found.length)
                mark(found.reduce((best, b) => score(b) < score(best) ? b : best));
}

// ---- the address ---------------------------------------------------------------------------------------

// #by=end&reverse&zoom=main;serve&search=parse: metric, direction, zoom and search as the picture shows them.
function state() {
        const p = shown, path = [], parts = [], first = data.pictures[0];
        if (p.metric !== first.metric || p.reversed !== first.reversed)
                parts.push("by=" + p.metric + (p.reversed ? "&reverse" : ""));
        for (let i = zoomed; i; i = p.parent[i])
                path.unshift(encodeURIComponent(names[p.name[i]]));
        if (path.length)
                parts.push("zoom=" + path.join(";"));
        if (input.value)
                parts.push("search=" + encodeURIComponent(input.value));
        return parts.join("&");
}

// A new place in the browser's history, so that it leads back; or none, while somebody types.
function remember(isNew) {
        const text = state();
        if (text === address)
                return;
        address = text;
        if (isNew)
                location.hash = text;
        else
                location.replace("#" + text);
}

function decoded(text) {
        try {
                return decodeURIComponent(text);
        } catch (e) {
                return text;
        }
}

// The frame with this path of names, or the nearest above it that there is.
function frameAtPath(p, path) {
        let at = 0;
        for (const name of path) {
                let next = 0;
                for (let k = 0; k < p.children[at] && !next; k++)
                        if (names[p.name[p.first[at] + k]] === name && !(p.marks[p.first[at] + k] & REST))
                                next = p.first[at] + k;
                if (!next)
                        break;
                at = next;
        }
        return at;
}

// Shows what the address says; what it says of other pictures is passed over.
function recall() {
        const words = new Map(), text = location.hash.replace(/^#/, "");
        for (const part of text.split("&")) {
                const equals = part.indexOf("=");
                words.set(equals < 0 ? part : part.slice(0, equals), equals < 0 ? "" : part.slice(equals + 1));
        }
        const p = data.pictures.find(q => q.metric === words.get("by") && q.reversed === (words.has("reverse") ? 1 : 0)) || data.pictures[0];
        address = text;
        input.value = decoded(words.get("search") || "");
        prepare(p);
        show(p, frameAtPath(p, (words.get("zoom") || "").split(";").filter(n => n).map(decoded)));
        address = state() === text ? text : address;
}

function pressed(e) {
        if (e.target === input) {
                if (e.key === "Escape") {
                        input.value = "";
                        input.blur();
                        find("");
                        remember(false);
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
                said.wrong = false;
                marked = null;
                zoom(0);
        } else if (e.key === "Enter" && markedBox()) {
                const at = markedBox();
                zoom(at.frame);
                mark(at.rest ? {frame: at.frame} : at);
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

function addChoice(to) {
        const select = make(HTML, "select", {"aria-label": "what is drawn"});
        if (data.pictures.length < 2)
                return;
        data.pictures.forEach((p, k) => select.appendChild(
                make(HTML, "option", {value: k}, LABELS[p.metric] + (p.reversed ? ", code that asked first" : ""))));
        select.addEventListener("change", () => {
                show(data.pictures[Number(select.value)], 0);
                remember(true);
        });
        to.appendChild(select);
        choice = select;
}

function makeBar() {
        const line = make(HTML, "div", {"class": "bar"});
        input = make(HTML, "input", {type: "search", title: "a regular expression", placeholder: "search ( / )", "aria-label": "search", spellcheck: "false"});
        reset = make(HTML, "button", {type: "button", title: "Esc"}, "whole picture");
        said = make(HTML, "span", {"class": "said", role: "status", "aria-live": "polite"});
        addChoice(line);
        line.append(input, reset, said);
        input.addEventListener("input", () => {
                find(input.value);
                remember(false);
        });
        reset.addEventListener("click", () => zoom(0));
        if (isPage) {
                document.getElementById("bar").appendChild(line);
                return;
        }
        bar = make(SVG, "foreignObject", {id: "bar", x: data.pad, y: 0, width: "100%", height: 34});
        bar.appendChild(line);
        picture.appendChild(bar);
}

// What colours mean: [hue, words].
function keysOf(p) {
        if (!p.change)
                return p.keys.map(k => [k[0], k[1] + (k[2] ? " " + k[2] + " %" : "")]);
        return p.old ? [[GONE, "gone"], [SAME - 4, "smaller"], [SAME, "same"], [SAME + 2, "larger"], [SAME + 4, "over 2.5 times"],
                        [SAME + STEPS, "over 6 times"], [NEW, "new"]] : [[SAME - 4, "shrank"], [SAME + 4, "grew"]];
}

function showKeys(p) {
        const keys = document.getElementById("keys");
        keys.textContent = "";
        for (const [hue, text] of keysOf(p)) {
                const span = make(HTML, "span", {}), mark = make(SVG, "svg", {viewBox: "0 0 12 12"});
                mark.appendChild(make(SVG, "rect", {"class": "h" + hue, width: 12, height: 12, rx: 2}));
                span.append(mark, text);
                keys.appendChild(span);
        }
}

function show(p, frame) {
        shown = p;
        prepare(p);
        zoomed = frame;
        marked = null;
        if (choice)
                choice.value = String(data.pictures.indexOf(p));
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
        if (!isPage)
                picture.setAttribute("role", "group"); // an image has nothing to use in it
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
        window.addEventListener("hashchange", () => {
                if (location.hash.replace(/^#/, "") !== address)
                        recall();
        });
        recall();
}

begin();
})();
