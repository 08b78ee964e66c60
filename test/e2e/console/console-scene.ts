import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { WebhookReceiver } from '../../doubles/webhook-receiver';
import { describeWhere } from '../../setup/describe-where';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';
import { ApiClient } from '../kit/api-client';
import { ServiceProcess } from '../kit/service-process';
import { type Tenant, TenantFactory } from '../kit/tenant';

const CANDIDATES = [
  process.env.CHROMIUM_PATH,
  // First: without the windows of a browser, it takes 40 % less CPU time for a page.
  '/usr/bin/chromium-headless-shell',
  ...['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/snap/bin/chromium'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Where a Chromium is on this machine, if there is one. */
export const CHROMIUM = CANDIDATES.find((path) => path !== undefined && existsSync(path));

/** As root a sandbox cannot be had; nothing but our own service is visited. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const AXE = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** A file that names the addresses that mail leaves from. */
function poolsIn(folder: string): string {
  const file = join(folder, 'pools.json');
  const addresses = [{ address: '127.0.0.1', ehlo: 'out1.acme.example' }];
  writeFileSync(file, JSON.stringify([{ name: 'newsletters', addresses, category: 'bulk' }]));
  return file;
}

/** The built service with real mail in local mode, and a browser. */
export class ConsoleScene {
  /** What the browser complained of: errors of scripts, what a policy has stopped. */
  readonly complaints: string[] = [];
  /** Browsers that a key is signed in to, by key, each as a page that opens the others. */
  private readonly signedInTo = new Map<string, Promise<Page>>();
  private opening: Promise<unknown> = Promise.resolve();
  private readonly pages: Page[] = [];

  private constructor(
    readonly db: OpenTestDatabase,
    readonly tenants: TenantFactory,
    readonly acme: Tenant,
    readonly service: ServiceProcess,
    /** Where webhooks of the scene go to. */
    readonly receiver: WebhookReceiver,
    private readonly kept: { readonly browser: Browser; readonly folder: string },
  ) {}

  static async start(): Promise<ConsoleScene> {
    const db = await openTestDatabase();
    const tenants = await TenantFactory.open(db.url);
    const folder = mkdtempSync(join(tmpdir(), 'waybill-console-'));
    const [acme, service, receiver, browser] = await Promise.all([
      tenants.create('acme.example'),
      ServiceProcess.start({
        ...{ DATABASE_URL: db.url, WAYBILL_DATA_DIR: folder, EGRESS_POOLS: poolsIn(folder) },
        ...{ RATE_LIMIT_ENABLED: 'false', WEBHOOK_ALLOW_PRIVATE: 'true' },
      }),
      WebhookReceiver.start(),
      chromium.launch({ executablePath: CHROMIUM ?? '', args: FLAGS }),
    ]);
    return new ConsoleScene(db, tenants, acme, service, receiver, { browser, folder });
  }

  get base(): string {
    return `http://localhost:${this.service.port}`;
  }

  api(key = this.acme.liveKey): ApiClient {
    return new ApiClient(this.service.port, key);
  }

  /** A browser of its own, without a session. */
  async open(options: BrowserContextOptions = {}): Promise<Page> {
    return this.tab(await this.context(options));
  }

  /** A page of the browser that the key is signed in to. */
  async signedIn(key = this.acme.liveKey): Promise<Page> {
    let opener = this.signedInTo.get(key);
    if (!opener) this.signedInTo.set(key, (opener = this.signIn(key)));
    const page = this.opening.then(async () => this.openFrom(await opener));
    this.opening = page.catch(() => undefined);
    return page;
  }

  /** Closes what a test has opened: pages ask for news as long as they are open. */
  async closePages(): Promise<void> {
    await Promise.all(this.pages.splice(0).map((page) => page.close()));
  }

  /** By another one, whose process it shares: a process for each page was a quarter of the browser's CPU time. */
  private async openFrom(opener: Page): Promise<Page> {
    const [page] = await Promise.all([opener.waitForEvent('popup'), opener.evaluate(`void open('about:blank')`)]);
    return this.watched(page);
  }

  private async signIn(key: string): Promise<Page> {
    const context = await this.context({});
    const response = await context.request.post(`${this.base}/console/session`, {
      headers: { 'x-waybill-console': '1' },
      data: { key },
    });
    if (response.status() !== 201) throw new Error(`${response.status()} ${await response.text()}`);
    const opener = await context.newPage();
    // Of the same origin, and without the app.
    await opener.goto(`${this.base}/health`);
    return opener;
  }

  private async context(options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.kept.browser.newContext({ reducedMotion: 'reduce', ...options });
    // Waits end by their condition; this is for a machine with much else to do.
    context.setDefaultTimeout(60_000);
    return context;
  }

  private async tab(context: BrowserContext): Promise<Page> {
    return this.watched(await context.newPage());
  }

  private watched(page: Page): Page {
    this.pages.push(page);
    page.on('pageerror', (error) => this.complaints.push(`${page.url()}: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.complaints.push(`${page.url()}: a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      // The browser logs every response that is no success; those are expected, and shown on the page.
      if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return;
      // What a mail tries in its frame is stopped and noted.
      if (message.text().includes('/console/preview/')) return;
      this.complaints.push(`${page.url()}: ${message.text()}`);
    });
    return page;
  }

  /** Opens a page of the console, and waits until it shows the data that it has requested. */
  async visit(page: Page, path: string): Promise<void> {
    await page.goto(`${this.base}/console${path}`);
    await this.shown(page);
  }

  /** The same within the app, as by one of its links. */
  async turnTo(page: Page, path: string): Promise<void> {
    await page.evaluate(
      `history.pushState(null, '', '/console${path}'); new Promise((drawn) => requestAnimationFrame(drawn))`,
    );
    await this.shown(page);
  }

  private async shown(page: Page): Promise<void> {
    await page.locator('h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  }

  async close(): Promise<void> {
    await this.kept.browser.close();
    await this.receiver.stop();
    await this.service.stop();
    await this.tenants.close();
    await this.db.drop();
    rmSync(this.kept.folder, { recursive: true, force: true });
  }
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Violations that axe finds on the rendered page, a line each. @param rules all of WCAG 2.2 AA, or the ids of some */
export async function accessibilityProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE);
  const runOnly = rules ? { type: 'rule', values: rules } : { type: 'tag', values: RULES };
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] });
  const found = await page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations)`);
  return (found as Violation[]).flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** What follows the window's size, charts among it, does so within two frames; several tabs have few of them. */
const SETTLED_MS = 2_000;

/** Measures a page once it has been drawn for its window: until nothing is found, or for a while. */
async function drawn<Found>(page: Page, measure: string, isNone: (found: Found) => boolean): Promise<Found> {
  let found: Found | undefined;
  const look = async (): Promise<boolean> => {
    await page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
    );
    found = await page.evaluate<Found>(measure);
    return isNone(found);
  };
  await waitFor(look, { what: 'a page that fits', timeoutMs: SETTLED_MS }).catch((error: Error) => {
    if (found === undefined) throw error;
  });
  return found as Found;
}

/** The captions of tables that are wider than the boxes around them. */
export function cutTables(page: Page): Promise<string[]> {
  const measure = `[...document.querySelectorAll('.table-wrap:has(> .stacking)')]
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.querySelector('caption')?.textContent ?? '')`;
  return drawn<string[]>(page, measure, (cut) => cut.length === 0);
}

/** By how many pixels the page is wider than the window, once it has been drawn for it. */
export function overflow(page: Page): Promise<number> {
  const measure = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  return drawn<number>(page, measure, (pixels) => pixels <= 0);
}

/** A suite that needs a browser. Without one it is skipped, which is reported. */
export function describeInBrowser(name: string, suite: () => void): void {
  const otherwise = 'there is no Chromium (install one, or name it in CHROMIUM_PATH)';
  describeWhere(CHROMIUM !== undefined, name, suite, otherwise);
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
export const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
