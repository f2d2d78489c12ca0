// SPDX-License-Identifier: MIT
// For tests: the page of a recording that grows.
import fs from "node:fs";
import { dragTimeline, load, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

/** Waits until the page says more than it did; then tells the test (`go`), which ends the program; then until it says so. */
export async function follow(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const chip = await textOf(page, ".chip-toggle");
  const figures = (): Promise<string> => textOf(page, ".header-figures");
  const first = await figures();
  await page.waitForFunction((was) => (document.querySelector(".header-figures") as HTMLElement).innerText.trim() !== was, first);
  const second = await figures();
  // Touching the timeline stops it, one key resumes.
  await dragTimeline(page, 0.2, 0.6);
  const stopped = await textOf(page, ".chip-toggle");
  const still = await figures();
  await page.waitForTimeout(1500);
  const stillThen = await figures();
  await page.locator("main").focus();
  await page.keyboard.press("f");
  await page.waitForFunction((was) => (document.querySelector(".header-figures") as HTMLElement).innerText.trim() !== was, stillThen);
  const resumed = await textOf(page, ".chip-toggle");
  const { keys } = stateOf(page);
  fs.writeFileSync(args["go"] as string, "");
  await page.waitForFunction(() => document.querySelector(".chip-toggle") === null);
  const last = await figures();
  await page.keyboard.press("4");
  await page.waitForSelector('[role="grid"]');
  return { chip, first, second, stopped, still, stillThen, resumed, keys, last, rows: await textOf(page, ".table-count") };
}
