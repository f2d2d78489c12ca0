// SPDX-License-Identifier: MIT
// Numbers and names as a flame graph shows them, by the rules of units.c and cut.c. The viewer follows; both are one script.
"use strict";
const silt_texts = (function () {
// ---- figures --------------------------------------------------------------------------------------

function bytes(n) {
        const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let v = Math.abs(n), i = 0;
        while (v >= 1023.5 && i + 1 < units.length) {
                v /= 1024;
                i++;
        }
        return (n < 0 ? "-" : "") + v.toFixed(i && v < 999.95 ? 1 : 0) + " " + units[i];
}

function count(n) {
        return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function duration(ns) {
        const s = Math.floor(ns / 1e9), two = n => (n < 10 ? "0" : "") + n, three = n => String(Number(n.toPrecision(3)));
        return ns < 1e3 ? ns + " ns" : ns < 1e6 ? three(ns / 1e3) + " us" : ns < 1e9 ? three(ns / 1e6) + " ms" :
               s < 120 ? three(ns / 1e9) + " s" : s < 7200 ? Math.floor(s / 60) + " min " + two(s % 60) + " s" :
               Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60) + " min";
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

// Lines of at most so many cells, broken at blanks where there are some.
function wrap(text, most) {
        const lines = [];
        let line = "";
        for (let word of text.split(" ")) {
                for (let rest = most - width(Array.from(line)) - (line ? 1 : 0); width(Array.from(word)) > rest; rest = most) {
                        if (line) {
                                lines.push(line);
                                line = "";
                                continue;
                        }
                        const letters = Array.from(word);
                        lines.push(letters.slice(0, most).join(""));
                        word = letters.slice(most).join("");
                }
                line += (line ? " " : "") + word;
        }
        if (line)
                lines.push(line);
        return lines;
}

return {bytes, count, duration, width, cut, wrap};
})();
