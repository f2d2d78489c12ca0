// SPDX-License-Identifier: MIT
// For tests: where the time went, read in every view.
import { copied, dragTimeline, go, load, settle, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

/** By CPU time and by time blocked, in all of it and in a window; then what is told beside memory, and the other way round. */
export async function times(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const seen: unknown[] = [];
  const header = await textOf(page, ".header-figures");
  for (const by of ["cpu", "blocked"])
    for (const isWindow of [false, true]) {
      await go(page, `#flame?by=${by}`);
      if (isWindow) await dragTimeline(page, 0.2, 0.7);
      const keys = stateOf(page).keys;
      const scope = Object.entries(keys).map(([key, value]) => `${key}=${value}`).join("&");
      const flame = await textOf(page, ".first-sentence");
      const key = await textOf(page, ".readout");
      await go(page, `#tree?${scope}`);
      const tree = await page.locator(".tree-row[aria-level]").evaluateAll((rows) =>
        rows.map((row) => [Number(row.getAttribute("aria-level")), ...[...row.children].map((cell) => (cell as HTMLElement).innerText.trim())]));
      await go(page, `#sites?${scope}&group-by=function`);
      seen.push({ by, keys, flame, key, tree, sites: await copied(page, /Time by/), selected: isWindow ? await textOf(page, ".selected") : null });
    }
  await go(page, "#sites?group-by=function");
  const beside = await copied(page, /Memory by/);
  await go(page, "#threads");
  const threads = await copied(page, /Threads/);
  await go(page, `#sites?by=cpu&group-by=function&pick=function:${args["function"] as string}`);
  const detail = await textOf(page, ".detail");
  await go(page, "#overview");
  await settle(page);
  const both = await page.locator(".both tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => (cell as HTMLElement).innerText.trim())));
  await page.locator("main").focus();
  await page.keyboard.press("a");
  await settle(page);
  return { header, seen, beside, threads, detail, both, tasks: { ...stateOf(page), text: await textOf(page, "main") } };
}
