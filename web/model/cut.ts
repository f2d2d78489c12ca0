// SPDX-License-Identifier: MIT
// Names that fit, cut in the middle as src/flame/text_cut.c does it: the beginning says whose function it is, the end what it does; what is behind the
// last `::` stays whole where it can. Room is counted in cells of a monospaced font.

function cellsOf(letter: string): number {
  const n = letter.codePointAt(0) ?? 0;
  if ((n >= 0x300 && n < 0x370) || (n >= 0x200b && n <= 0x200f) || (n >= 0xfe00 && n <= 0xfe0f))
    return 0;
  return (n >= 0x1100 && n <= 0x115f) || (n >= 0x2e80 && n <= 0xa4cf) || (n >= 0xac00 && n <= 0xd7a3) || (n >= 0xf900 && n <= 0xfaff) ||
    (n >= 0xfe30 && n <= 0xfe6f) || (n >= 0xff00 && n <= 0xff60) || (n >= 0x1f300 && n <= 0x1faff) || (n >= 0x20000 && n <= 0x3fffd) ? 2 : 1;
}

function cellsIn(letters: readonly string[]): number {
  return letters.reduce((sum, letter) => sum + cellsOf(letter), 0);
}

const PLAIN = /^[\x20-\x7e]*$/;

export function cells(text: string): number {
  return PLAIN.test(text) ? text.length : cellsIn(Array.from(text));
}

/** Where what is behind the last `::` outside of brackets begins. */
function lastPart(name: string): number {
  let found = 0;
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const letter = name[i]!;
    if ("<([{".includes(letter))
      depth++;
    else if (">)]}".includes(letter) && depth > 0 && !(letter === ">" && name[i - 1] === "-"))
      depth--;
    else if (letter === ":" && name[i + 1] === ":" && depth === 0)
      found = i + 2;
  }
  return found;
}

/** At most `room` cells; nothing where not even five letters fit. */
export function cut(name: string, room: number): string {
  if (room < 1)
    return "";
  if (name.length <= room && PLAIN.test(name))
    return name;
  const letters = Array.from(name);
  let have = cellsIn(letters);
  if (have <= room)
    return name;
  if (room < 5)
    return "";
  const part = cellsIn(Array.from(name.slice(lastPart(name))));
  let tail = Math.floor((room - 1) / 2);
  if (part > tail && part <= Math.floor(((room - 1) * 3) / 4))
    tail = part;
  let head = room - 1 - tail;
  let begin = 0;
  let end = 0;
  while (begin < letters.length && cellsOf(letters[begin]!) <= head)
    head -= cellsOf(letters[begin++]!);
  while (have > tail)
    have -= cellsOf(letters[end++]!);
  return `${letters.slice(0, begin).join("")}…${letters.slice(end).join("")}`;
}
