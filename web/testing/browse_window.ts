// SPDX-License-Identifier: MIT
// For tests: a window is dragged, and every view is read.
import type { Page } from "playwright-core";
import { copied, dragTimeline, load, settle, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

/** What each view says, as whole figures where it has them. */
async function readViews(page: Page): Promise<Record<string, unknown>> {
  const views: Record<string, unknown> = {};
  const open = async (key: string): Promise<void> => {
    await page.locator("main").focus();
    await page.keyboard.press(key);
    await settle(page);
  };
  await open("1");
  views["overview"] = await page.locator(".totals > div").evaluateAll((all) => all.map((one) => [one.querySelector("dt")?.textContent, one.querySelector("dd")?.textContent]));
  await open("2");
  views["flame"] = await textOf(page, ".first-sentence");
  await open("3");
  views["tree"] = await page.locator('.tree-row[aria-level]').evaluateAll((rows) =>
    rows.map((row) => [Number(row.getAttribute("aria-level")), ...[...row.children].map((cell) => (cell as HTMLElement).innerText.trim())]));
  await open("4");
  await page.getByLabel("group by").selectOption("function");
  await settle(page);
  views["sites"] = await copied(page, /Memory by/);
  await open("5");
  views["source"] = {
    what: await page.locator('.source-what input[name="what"]').inputValue(),
    headline: await textOf(page, ".source .headline"),
    lines: await page.locator(".listing-table tbody tr:not(.listing-call):not(.listing-gap)").evaluateAll((rows) =>
      rows.map((row) => [row.children[3]?.textContent?.replace(/\D/g, ""), row.children[0]?.getAttribute("title")?.split(";")[0]?.replace(/\D/g, "") ?? ""]).filter(([, value]) => value !== ""),
    ),
  };
  await open("6");
  views["blocks"] = await copied(page, /Single blocks/);
  await open("7");
  views["threads"] = await copied(page, /Threads/);
  views["selected"] = await textOf(page, ".selected");
  return views;
}

/** `drags`: parts of the timeline's width; `by`: metrics. */
export async function window_(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const seen: unknown[] = [];
  for (const [from, to, by] of args["drags"] as readonly (readonly [number, number, string])[]) {
    await page.getByLabel("Metric").selectOption(by);
    await page.locator("#timeline").focus();
    await page.keyboard.press("Escape");
    await dragTimeline(page, from, to);
    seen.push({ ...stateOf(page), views: await readViews(page) });
  }
  return seen;
}
