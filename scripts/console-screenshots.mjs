// Pictures of every page of the console, with made-up mail, in docs/images: `npm run console:screenshots`.
// Each in light and dark at a desktop's width, and in light at a phone's.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeOperatorKey, pauseDomain, seed, seedOperator, signedIn, withDemo } from './console/demo.mjs';

const target = path.resolve(import.meta.dirname, '../docs/images');
const LOOKS = [
  { name: 'light', options: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } },
  { name: 'dark', options: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' } },
  { name: 'phone', options: { viewport: { width: 390, height: 780 }, colorScheme: 'light' } },
];

async function shootSignIn(browser, base, { name, options }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${base}/console`);
  await page.locator('h1').waitFor();
  await page.screenshot({ path: path.join(target, `console-sign-in-${name}.jpg`), type: 'jpeg', quality: 72 });
  await context.close();
}

async function shoot(browser, base, key, pages, { name: look, options }) {
  const context = await signedIn(browser, base, key, { reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  for (const [name, where] of Object.entries(pages)) {
    await page.goto(`${base}/console${where}`);
    await page.locator('h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    // Charts and frames are drawn a moment later.
    await delay(700);
    await page.screenshot({ path: path.join(target, `console-${name}-${look}.jpg`), type: 'jpeg', quality: 72 });
  }
  await context.close();
}

mkdirSync(target, { recursive: true });
await withDemo(async ({ browser, base, dataDir, credentials }) => {
  const operatorKey = makeOperatorKey(dataDir);
  const { live, test, operator } = await seed(base, credentials);
  pauseDomain(dataDir, await seedOperator(base, operatorKey, credentials.liveKey));
  for (const look of LOOKS) {
    await shoot(browser, base, credentials.liveKey, live, look);
    await shoot(browser, base, credentials.testKey, test, look);
    await shoot(browser, base, operatorKey, operator, look);
    await shootSignIn(browser, base, look);
  }
});
