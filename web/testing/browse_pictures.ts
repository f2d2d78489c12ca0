// SPDX-License-Identifier: MIT
// For tools/screenshots.py: pictures of views.
import { load, settle, type Arguments, type Tab } from "./browse_tab";

/** `shots`: where to, the fragment, width, height, dark or not. */
export async function pictures(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  page.setDefaultTimeout(120000); // a picture may take its time
  await load(tab, args.url);
  for (const [path, fragment, width, height, isDark] of args["shots"] as readonly (readonly [string, string, number, number, boolean])[]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: isDark ? "dark" : "light" });
    await page.evaluate((to) => void (location.hash = to), fragment);
    await settle(page);
    await page.waitForTimeout(120);
    await page.screenshot({ path });
  }
  return null;
}
