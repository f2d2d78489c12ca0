// SPDX-License-Identifier: MIT
// Patterns of filters that select exactly what has a name. A name that was cut in the middle stands for all that begin and end like it.

function quoted(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
}

export function exactly(name: string): string {
  return `^${name.split("…").map(quoted).join(".*")}$`;
}
