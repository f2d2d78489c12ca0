// SPDX-License-Identifier: MIT
// For tests: does something with the page in Chromium, and says what was seen.
//
//   SILT_WEB=…/web node browse.main.mjs TASK < arguments.json        prints JSON: what was seen, and what went wrong meanwhile
import fs from "node:fs";
import { openBrowser, type Arguments, type Tab } from "./browse_tab";
import { alone } from "./browse_alone";
import { unnamed } from "./browse_unnamed";
import { boxes, brush, compare, deep, keyboard, offline, search, tasks } from "./browse_tasks";
import { culprit } from "./browse_culprit";
import { fleet } from "./browse_fleet";
import { follow } from "./browse_follow";
import { frames } from "./browse_frames";
import { holders } from "./browse_holders";
import { memory } from "./browse_memory";
import { names } from "./browse_names";
import { neighbour } from "./browse_neighbour";
import { query } from "./browse_query";
import { pictures } from "./browse_pictures";
import { times } from "./browse_times";
import { window_ } from "./browse_window";

const TASKS: Readonly<Record<string, (tab: Tab, args: Arguments) => Promise<unknown>>> = { window: window_, search, boxes, keyboard, compare, brush, culprit, fleet, follow, deep, offline, frames, names, neighbour, pictures, unnamed, alone, holders, memory, query, times, tasks };

const task = TASKS[process.argv[2] ?? ""];
if (!task) throw new Error(`no task '${process.argv[2]}': one of ${Object.keys(TASKS).join(", ")}`);
const args = JSON.parse(fs.readFileSync(0, "utf8")) as Arguments;
const tab = await openBrowser(args);
let saw: unknown = null;
let failure: string | null = null;
try {
  saw = await task(tab, args);
} catch (e: unknown) {
  failure = e instanceof Error ? (e.stack ?? e.message) : String(e);
  if (args.picture) await tab.page.screenshot({ path: args.picture }).catch(() => undefined);
  failure += `\nat ${tab.page.url().replace(/token=\w+/, "token=…")}`;
}
await tab.close();
console.log(JSON.stringify({ saw, failure, errors: tab.errors, dialogs: tab.dialogs, requests: tab.requests }));
