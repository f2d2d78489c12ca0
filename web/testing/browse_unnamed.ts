// SPDX-License-Identifier: MIT
// For tests: code without a name, by row, by frame and by block: every link leads to something.
import { copied, go, load, settle, textOf, type Arguments, type Tab } from "./browse_tab";

/** Opens the row of the place, follows the frames of its call path, and tells what was said. */
export async function unnamed(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#sites?group-by=function&by=allocated");
  const rows = await copied(page, /Memory by/);
  const label = rows.slice(1).find((row) => row[0].includes("+0x"))?.[0] ?? "";
  const grid = page.getByRole("grid", { name: /Memory by/ });
  await grid.getByText(label, { exact: true }).first().click();
  await settle(page);
  const detail = { name: await textOf(page, ".detail-name"), sentence: await textOf(page, ".detail-sentence") };
  const frames: { name: string; refusals: number; sentence: string }[] = [];
  const all = page.locator(".stack > li > button");
  for (let i = 0, n = await all.count(); i < n; i++) {
    const name = (await all.nth(i).innerText()).trim();
    await all.nth(i).click();
    await settle(page);
    frames.push({ name, refusals: await page.locator(".refusal").count(), sentence: await textOf(page, ".detail-sentence") });
    await page.goBack();
    await settle(page);
  }
  await page.getByRole("button", { name: "Filter to it" }).click();
  await settle(page);
  const filtered = await textOf(page, ".selected");
  await go(page, "#blocks");
  const blocks = await copied(page, /Single blocks/);
  return { rows, label, detail, frames, filtered, blocks };
}
