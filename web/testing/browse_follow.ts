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
  // The window went to the end, and goes on with it.
  const { keys } = stateOf(page);
  await page.waitForFunction((was) => Number(new URLSearchParams(location.hash.split("?")[1]).get("to")) > was, Number(keys["to"]));
  // A window somewhere else stays, and nobody says that it follows.
  await page.evaluate(() => void (location.hash = "#overview?from=0&to=0.01"));
  await page.waitForFunction(() => document.querySelector(".chip-toggle")?.textContent?.includes("follow"));
  const fixed = await textOf(page, ".chip-toggle");
  await page.evaluate(() => void (location.hash = "#overview"));
  fs.writeFileSync(args["go"] as string, "");
  await page.waitForFunction(() => document.querySelector(".chip-toggle") === null);
  const last = await figures();
  await page.keyboard.press("4");
  await page.waitForSelector('[role="grid"]');
  return { chip, first, second, stopped, still, stillThen, resumed, fixed, keys, last, rows: await textOf(page, ".table-count") };
}
