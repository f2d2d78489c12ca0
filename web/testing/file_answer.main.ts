// SPDX-License-Identifier: MIT
// For tests: what a page in one file answers.
//
//   node file_answer.main.mjs report.html < questions       each line: an answer's name, a blank, and its query; each answer is a line of JSON
import fs from "node:fs";
import { fileSource, readFileData } from "../api/file";
import type { AnswerName } from "../api/answers";
import { Refused } from "../api/ask";
import type { Pair } from "../model/state";

const html = fs.readFileSync(process.argv[2], "utf8");
const found = /<script type="text\/plain" id="silt-data">([^<]*)<\/script>/.exec(html);
if (!found) throw new Error(`${process.argv[2]} has no data`);
const source = fileSource(await readFileData(found[1]));
for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [name, query = ""] = line.split(" ");
  const keys: Pair[] = [...new URLSearchParams(query)];
  try {
    console.log(JSON.stringify(await source.answer(name as AnswerName, keys, new AbortController().signal)));
  } catch (failure: unknown) {
    if (!(failure instanceof Refused)) throw failure;
    console.log(JSON.stringify({ schema: "silt.error/1", error: failure.message, key: failure.key, fix: failure.fix }));
  }
}
