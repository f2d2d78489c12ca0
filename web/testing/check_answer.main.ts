// SPDX-License-Identifier: MIT
// Holds answers of the server against what the page expects of them: node check_answer.main.mjs NAME < ANSWER
// Says what does not fit, and names fields that no check knows.
import { checkAnswer, CHECKS, type AnswerName } from "../api/answers";
import { Unfit, unknownFields } from "../api/check";

const name = process.argv[2] as AnswerName;
if (!(name in CHECKS)) {
  process.stderr.write(`check_answer: '${name}' is not an answer\n`);
  process.exit(2);
}
let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (part: string) => (text += part));
process.stdin.on("end", () => {
  const found = new Set<string>();
  unknownFields.report = (path) => found.add(path.replace(/\[\d+\]/g, "[]"));
  try {
    checkAnswer(name, JSON.parse(text));
  } catch (failure: unknown) {
    process.stdout.write(`${name}: ${failure instanceof Unfit ? failure.message : String(failure)}\n`);
    process.exitCode = 1;
  }
  if (process.argv.includes("--unknown")) for (const path of [...found].sort()) process.stdout.write(`${name}: no check knows ${path}\n`);
});
