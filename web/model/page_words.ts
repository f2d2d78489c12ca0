// SPDX-License-Identifier: MIT
// Sentences of the command line as the page says them: nobody who looks at it gave options.

/** "NEW peaks …, more than OLD" is about two sides, which the page calls the newer and the older. */
export function pageWords(text: string): string {
  return text
    .replace(/ \(--by\)/g, "")
    .replace(/, --by [a-z]+(?=\))/g, "")
    .replace(/'silt heap .*' draws its pages/, "its pages are drawn below")
    .replace(/'silt report .*' shows who holds them/, "Sites shows who holds them")
    .replace(/^NEW /, "The newer ")
    .replace(/: NEW /, ": the newer ")
    .replace(/, OLD /, ", the older ")
    .replace(/\b(than|as) OLD\b/g, "$1 the older");
}
