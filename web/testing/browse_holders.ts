// SPDX-License-Identifier: MIT
// For tests: who holds what, as the page tells it; the neighbours of a row, and the ways to what a function allocated.
import { go, load, settle, textOf, type Arguments, type Tab } from "./browse_tab";

async function rowsOf(tab: Tab): Promise<string[][]> {
  return tab.page.locator(".tree-row:not(.is-head)").evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('[role="gridcell"]')].map((cell) => ((cell.querySelector(".name") ?? cell) as HTMLElement).innerText.replace(/\s+/g, " ").trim())));
}

/** Each table below the sentence: its heading, then the rows. */
async function tablesOf(tab: Tab): Promise<string[][][]> {
  return tab.page.locator(".neighbours table").evaluateAll((tables) => tables.map((table) => [...table.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim()))));
}

export async function holders(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#holders");
  if (args["isFile"]) return { text: await textOf(page, "main") };
  const sentence = await textOf(page, ".first-sentence");
  const boxes = await page.locator(".treemap-box").allInnerTexts();
  const rows = await rowsOf(tab);
  await page.locator(".tree-row:not(.is-head)", { hasText: args["row"] as string }).first().click();
  await page.waitForSelector(".neighbours table");
  await settle(page);
  const neighbours = { sentence: await textOf(page, ".neighbours-head p"), tables: await tablesOf(tab) };
  await page.getByRole("button", { name: "Close" }).click();
  const isClosed = (await page.locator(".neighbours").count()) === 0;
  // a box leads to the same
  await page.locator(".treemap-box", { hasText: args["row"] as string }).last().click({ position: { x: 8, y: 8 } });
  await page.waitForSelector(".neighbours table");
  await settle(page);
  const byBox = await textOf(page, ".neighbours-head p");
  await go(page, `#holders?what-held=${args["why"] as string}`);
  await page.waitForFunction((name) => document.querySelector(".first-sentence")?.textContent?.includes(`${name} allocated`), args["why"] as string);
  await settle(page);
  const why = { sentence: await textOf(page, ".first-sentence"), rows: await rowsOf(tab) };
  await page.setViewportSize({ width: 400, height: 900 });
  await settle(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  return { sentence, boxes, rows, neighbours, isClosed, byBox, why, wide };
}
