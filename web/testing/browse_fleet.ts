// SPDX-License-Identifier: MIT
// For tests: many machines, from the services to a call path and from a build to its release; and what the page says at each step.
import { settle, textOf, type Arguments, type Tab } from "./browse_tab";

async function rowsOf(tab: Tab): Promise<string[][]> {
  await tab.page.waitForSelector(".table-rows .cell, .table-empty, .refusal");
  await settle(tab.page);
  return tab.page.locator('.table-rows [role="row"]').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim())));
}

async function seen(tab: Tab): Promise<unknown> {
  const rows = await rowsOf(tab);
  return { sentence: await textOf(tab.page, ".first-sentence"), rows, address: tab.page.url().split("#")[1] ?? "" };
}

/** A row is chosen and opened by keys, as in every table. */
async function openRow(tab: Tab, n: number): Promise<void> {
  await settle(tab.page);
  await tab.page.focus('[role="grid"]');
  for (let i = 0; i <= n; i++) await tab.page.keyboard.press("ArrowDown");
  await tab.page.keyboard.press("Enter");
  await settle(tab.page);
}

export async function fleet(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await page.goto(args.url);
  const services = await seen(tab);
  await openRow(tab, 0);
  const grew = await seen(tab);
  await openRow(tab, 0);
  const path = { frames: await page.locator(".fleet-path .stack li").allInnerTexts(), figures: await textOf(page, ".fleet-path .totals") };
  if (args.picture) await page.screenshot({ path: args.picture.replace(".png", ".grew.png") });
  await page.keyboard.press("Escape");
  await page.keyboard.press("3");
  await page.getByRole("combobox", { name: "Compare with" }).selectOption(String(args["since"]));
  const builds = await seen(tab);
  await openRow(tab, 0);
  const release = await seen(tab);
  await page.getByRole("combobox", { name: "Service" }).selectOption("");
  await page.keyboard.press("Escape");
  await page.locator("main").focus();
  await page.keyboard.press("5");
  const hosts = await seen(tab);
  await openRow(tab, 0);
  const paths = await seen(tab);
  await page.goBack();
  const back = page.url().split("#")[1] ?? "";
  await page.setViewportSize({ width: 400, height: 900 });
  await settle(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  return { services, grew, path, builds, release, hosts, paths, back, wide };
}
