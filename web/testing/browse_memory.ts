// SPDX-License-Identifier: MIT
// For tests: what resident memory is made of, as the page says it; and that a click on the chart chooses another moment.
import { load, settle, textOf, type Arguments, type Tab } from "./browse_tab";

async function partsOf(tab: Tab): Promise<string[][]> {
  return tab.page.locator(".bill-table tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim())));
}

/** How many colours the picture of the pages has: none, if nothing was drawn. */
async function coloursOf(tab: Tab): Promise<number> {
  return tab.page.locator(".heap-box canvas").evaluate((canvas) => {
    const c = canvas as HTMLCanvasElement;
    const data = new Uint32Array(c.getContext("2d")!.getImageData(0, 0, c.width, c.height).data.buffer);
    return new Set(data.filter((v) => v !== 0)).size;
  });
}

export async function memory(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#memory");
  if (args["isEmpty"]) return { text: await textOf(page, "main") };
  await page.waitForSelector(".heap-box canvas");
  await page.waitForSelector(".bill-place .u-over");
  await settle(page);
  const first = { sentence: await textOf(page, ".first-sentence"), when: await textOf(page, ".bill-moment h2"), parts: await partsOf(tab), colours: await coloursOf(tab), legend: await textOf(page, ".bill-chart .bill-when") };
  if (args["isFile"]) return first;
  const over = await page.locator(".bill-place .u-over").boundingBox();
  if (!over) throw new Error("no chart");
  await page.mouse.click(over.x + 2, over.y + over.height / 2);
  await page.waitForFunction((was) => (document.querySelector(".bill-moment h2")?.textContent ?? was) !== was, first.when);
  await settle(page);
  const begin = { when: await textOf(page, ".bill-moment h2"), parts: await partsOf(tab), address: page.url() };
  await page.setViewportSize({ width: 400, height: 900 });
  await settle(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  return { ...first, begin, wide };
}
