// SPDX-License-Identifier: MIT
// For tests: statements typed with completion and run, what their rows say and where they lead, as a table and as a chart; wrong and endless ones.
import { copied, go, load, settle, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

async function write(tab: Tab, text: string): Promise<void> {
  const field = tab.page.locator(".sql-field");
  await field.click();
  await tab.page.keyboard.press("Control+a");
  await tab.page.keyboard.press("Delete");
  await tab.page.keyboard.type(text);
}

async function run(tab: Tab): Promise<void> {
  await tab.page.keyboard.press("Control+Enter");
  await settle(tab.page);
}

/** The first part of a word is typed, the rest comes from the list. */
async function complete(tab: Tab, part: string): Promise<void> {
  await tab.page.keyboard.type(part);
  await tab.page.waitForSelector(".sql-list li");
  await tab.page.keyboard.press("Tab");
  await tab.page.waitForSelector(".sql-list", { state: "detached" });
}

async function typed(tab: Tab): Promise<unknown> {
  const { page } = tab;
  await page.waitForSelector(".query-tables dt");
  const tables = await page.locator(".query-tables dt").allInnerTexts();
  await write(tab, "SELECT function, end_bytes, peak_bytes, stack FROM ");
  await complete(tab, "sit");
  await complete(tab, " ORDER BY end_by");
  await page.keyboard.type(" DESC, s");
  await page.waitForSelector(".sql-list li");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("stack LIMIT 5");
  const statement = await page.locator(".sql-field").inputValue();
  await run(tab);
  await page.waitForSelector(".query [role=grid]");
  return { tables, statement, address: stateOf(page).keys["sql"], rows: await copied(page, /Answer/), first: await page.locator('[data-at="0"] [role=gridcell]').allInnerTexts() };
}

/** Where links lead, and what the last one of the first row shows. */
async function links(tab: Tab): Promise<unknown> {
  const { page } = tab;
  const found = await page.locator(".query [data-at] a").evaluateAll((all) => all.map((a) => decodeURIComponent((a as HTMLAnchorElement).hash)));
  await page.locator('.query [data-at="0"] a').last().click();
  await page.waitForSelector(".detail .detail-sentence");
  await settle(page);
  const detail = { keys: stateOf(page).keys, sentence: await textOf(page, ".detail-sentence") };
  await page.keyboard.press("Escape");
  return { found, detail };
}

async function charts(tab: Tab, lines: string): Promise<unknown> {
  const { page } = tab;
  await page.getByRole("button", { name: "Chart" }).click();
  await page.waitForSelector(".result-bars li");
  const bars = await page.locator(".result-bars li").evaluateAll((all) => all.map((li) => [...li.querySelectorAll(".result-name, .result-value")].map((e) => (e as HTMLElement).innerText)));
  await go(page, `#query?shape=chart&sql=${encodeURIComponent(lines)}`);
  await page.waitForSelector(".result-place canvas");
  await settle(page);
  return { bars, legend: await page.locator(".result-legend li").allInnerTexts() };
}

async function troubles(tab: Tab): Promise<unknown> {
  const { page } = tab;
  await go(page, "#query");
  await write(tab, "SELECT end_byte FROM sites");
  await run(tab);
  await page.waitForSelector(".query-trouble:not(:empty)");
  const wrong = await textOf(page, ".query-trouble");
  await write(tab, "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Stop" }).click();
  await settle(page);
  await write(tab, "SELECT 40 + 2 AS sum");
  await run(tab);
  await page.waitForSelector('.query [data-at="0"]');
  return { wrong, after: await copied(page, /Answer/) };
}

async function parameters(tab: Tab): Promise<unknown> {
  const { page } = tab;
  await go(page, `#query?from=0.001&to=0.002&sql=${encodeURIComponent("SELECT :from AS a, :to AS b, :word AS c")}`);
  await page.waitForSelector(".query-parameters input[name=word]");
  await page.fill(".query-parameters input[name=word]", "5s");
  await page.keyboard.press("Enter");
  await settle(page);
  return { rows: await copied(page, /Answer/), keys: stateOf(page).keys };
}

export async function query(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  if (args["sql"] !== undefined) {
    await load(tab, args.url, `#query?sql=${encodeURIComponent(String(args["sql"]))}`);
    await page.waitForSelector(".query [role=grid], .query-trouble:not(:empty)");
    return { text: await textOf(page, "main"), rows: await copied(page, /Answer/), notices: await page.locator(".query .notice").allInnerTexts() };
  }
  await load(tab, args.url, "#query");
  if (args["isFile"]) return { text: await textOf(page, "main") };
  const first = await typed(tab);
  const led = await links(tab);
  const drawn = await charts(tab, String(args["lines"]));
  const trouble = await troubles(tab);
  const given = await parameters(tab);
  await page.setViewportSize({ width: 400, height: 900 });
  await settle(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  return { first, led, drawn, trouble, given, wide };
}
