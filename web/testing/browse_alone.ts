// SPDX-License-Identifier: MIT
// For tests: a page in one file offers what it can answer, and a program that allocated nothing is told as such.
import { go, load, settle, textOf, type Arguments, type Tab } from "./browse_tab";

/** What may be pressed and chosen in each view; then every row that opens, with what the detail said. */
export async function alone(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const views: Record<string, unknown> = {};
  for (const view of ["overview", "flame", "tree", "sites", "source", "blocks", "threads", "compare"]) {
    await go(page, `#${view}`);
    views[view] = {
      text: await textOf(page, "main"),
      refusals: await page.locator(".refusal").count(),
      selects: await page.locator("select").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.closest("label")?.innerText.split("\n")[0].trim() ?? "")),
      buttons: await page.locator("main button, .chips button").evaluateAll((all) => all.map((one) => (one as HTMLElement).innerText.trim())),
    };
  }
  const details: { group: string; refusals: number; text: string }[] = [];
  for (const group of ["site", "function", "module", "line", "crate", "component"]) {
    await go(page, `#sites?group-by=${group}`);
    const grid = page.getByRole("grid", { name: /Memory by/ });
    if ((await grid.count()) > 0) {
      await grid.focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
    }
    await settle(page);
    details.push({ group, refusals: await page.locator(".refusal").count(), text: (await page.locator(".detail").count()) > 0 ? await textOf(page, ".detail") : "" });
    await page.keyboard.press("Escape");
  }
  return { views, details };
}
