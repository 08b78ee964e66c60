// How long the console's first page takes with nothing kept from before, in milliseconds: `npm run console:first-page`.
// `--requests` lists the requests of the last round, with their times.
import { seed, signedIn, withDemo } from './console/demo.mjs';

const ROUNDS = 7;

/** Notes in the page itself when something is seen first: asking from outside takes time of its own. */
const WATCH = `{
  const seen = (globalThis.seen = {});
  const look = () => {
    const at = Math.round(performance.now());
    if (document.querySelector('h1')) seen.heading ??= at;
    if (document.querySelector('.figure')) seen.figures ??= at;
    if (!seen.figures || seen.all || document.querySelector('.skeleton')) return;
    seen.all = at;
    document.documentElement.dataset.seen = 'all';
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}`;

const REQUESTS = `performance.getEntriesByType('resource').map(({ name, startTime, responseEnd, transferSize }) => ({
  from: Math.round(startTime), to: Math.round(responseEnd), bytes: transferSize, name: name.replace(/^.*:[0-9]+/, ''),
}))`;

async function open(browser, base, key) {
  const context = await signedIn(browser, base, key);
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(`${base}/console`);
  await page.locator('html[data-seen=all]').waitFor();
  const found = { seen: await page.evaluate('seen'), requests: await page.evaluate(REQUESTS) };
  await context.close();
  return found;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

await withDemo(async ({ browser, base, credentials }) => {
  await seed(base, credentials);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await open(browser, base, credentials.liveKey));
  for (const what of ['heading', 'figures', 'all']) {
    const values = rounds.map(({ seen }) => seen[what]);
    console.log(
      `${what.padEnd(8)} median ${median(values)} ms, first ${values[0]} ms, worst ${Math.max(...values)} ms`,
    );
  }
  if (process.argv.includes('--requests')) console.table(rounds.at(-1).requests);
});
