// SPDX-License-Identifier: MIT
// For tests: names that would like to be more than text.
import { copied, load, settle, stateOf, type Arguments, type Tab } from "./browse_tab";

/** Goes through every view and a detail; tells what elements there are that no view makes, and what was run. */
export async function names(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const seen: Record<string, unknown> = {};
  const look = async (name: string): Promise<void> => {
    seen[name] = await page.evaluate(() => ({
      text: document.body.innerText,
      foreign: document.querySelectorAll("#page script, #page img, #page iframe, #page b[onclick], #page a[href^='javascript']").length,
      ran: (window as unknown as { ran?: unknown }).ran ?? null,
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      bidi: (document.body.innerHTML.match(/[\u202a-\u202e\u2066-\u2069]/g) ?? []).length,
    }));
  };
  for (let key = 1; key <= 8; key++) {
    await page.locator("main").focus();
    await page.keyboard.press(String(key));
    await settle(page);
    await look(stateOf(page).view);
  }
  await page.locator("main").focus();
  await page.keyboard.press("4");
  await page.getByLabel("group by").selectOption("function");
  await settle(page);
  const rows = await copied(page, /Memory by/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await settle(page);
  await look("detail");
  await page.mouse.move(300, 500);
  return { seen, rows };
}
