// SPDX-License-Identifier: MIT
// Names from a trace as they may be shown: control and bidi characters, which could hide or reorder what stands there, are written as escapes,
// the same as the command line writes (src/base/visible.h).

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

export function visible(name: string): string {
  return name.replace(HIDDEN, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same of a text of several lines: lines and tabs stay. */
export function visibleLines(text: string): string {
  return /[\n\t]/.test(text) ? text.split(/(\n|\t)/).map((part) => (part === "\n" || part === "\t" ? part : visible(part))).join("") : visible(text);
}

/** A command as one would type it: an argument that is empty or has spaces is quoted. */
export function commandText(words: readonly string[]): string {
  return words.map((word) => (/^[^\s'"\\]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`)).join(" ");
}
