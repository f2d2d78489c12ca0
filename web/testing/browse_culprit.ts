// SPDX-License-Identifier: MIT
// For tests: with as few clicks as there are, from opening to the line that requested the most.
import { load, settle, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

export async function culprit(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const row = page.locator(".largest-row").first();
  const [name, place] = await row.locator(".largest-name, .largest-place").allInnerTexts();
  await row.click();
  await settle(page);
  const told = await textOf(page, ".detail-name");
  const folded = await textOf(page, ".stack-machinery summary");
  const first = await page.locator(".detail section > .stack li").first().innerText();
  await page.locator(".detail-name .link").click();
  await page.waitForSelector(".listing-table");
  await settle(page);
  return { ...stateOf(page), name, place, told, folded, first, most: await page.locator(".listing-table tr.is-most").evaluateAll((rows) => rows.map((one) => one.textContent ?? "")) };
}
