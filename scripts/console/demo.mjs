// The built service with made-up mail, and a browser: for the pictures of the console, and for measuring it.
// Needs a Chromium (CHROMIUM_PATH, or an installed one).
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { ensureBuild } from '../build/ensure-build.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const executablePath = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].find((file) => file !== undefined && existsSync(file));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** Starts the built service in local mode on an empty data directory. */
async function start(dataDir) {
  const env = {
    ...process.env,
    WAYBILL_DATA_DIR: dataDir,
    PORT: '0',
    METRICS_PORT: '0',
    INBOUND_SMTP_PORT: '0',
    SUBMISSION_PORT: '0',
    SUBMISSIONS_PORT: '0',
    DNS_PORT: '0',
  };
  const child = spawn(process.execPath, [path.join(root, 'dist/main.js')], {
    env: { ...env, DNS_SERVERS: '127.0.0.1:9', RATE_LIMIT_ENABLED: 'false', WEBHOOK_ALLOW_PRIVATE: 'true' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { msg, port: ready } = JSON.parse(line);
      if (msg === 'ready') resolve(ready);
    });
    child.once('exit', () => reject(new Error('the service ended at its start')));
  });
  return { child, base: `http://localhost:${port}` };
}

const PEOPLE = [
  'ada@example.com',
  'grace@example.org',
  'linus@example.net',
  'margaret@example.com',
  'alan@example.org',
];
const SUBJECTS = [
  'Your invoice 2026-1042',
  'Reset your password',
  'Welcome to Northwind',
  'Your order has been shipped',
  'Weekly report',
];
const HTML = `<div style="font-family: sans-serif; padding: 32px; background: #f4f6fb">
  <h1 style="color: #2a52be">Your order is on its way</h1>
  <p>Thank you for your order. It has left our warehouse this morning.</p>
  <p><a href="https://example.com" style="background: #2a52be; color: #fff; padding: 10px 18px; border-radius: 6px; text-decoration: none">Track the parcel</a></p>
</div>`;
const SIMULATED = ['delivered', 'bounced', 'opened', 'clicked', 'soft-bounced', 'delivered', 'opened', 'delivered'];

/** Mail in both modes, and one of everything else. @returns the addresses of pages that have an id */
export async function seed(base, { liveKey, testKey }) {
  const post = async (key, where, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(base + where, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${where}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  const from = 'Northwind <hello@waybill.test>';
  for (let count = 0; count < 48; count += 1) {
    const to = [`${SIMULATED[count % 8]}+${count}@simulator.waybill.test`];
    await post(testKey, '/v1/emails', { from, to, subject: SUBJECTS[count % 5], html: HTML, tags: ['orders'] });
  }
  for (let count = 0; count < 20; count += 1) {
    await post(liveKey, '/v1/emails', {
      from,
      to: [PEOPLE[count % 5]],
      subject: SUBJECTS[count % 5],
      html: HTML,
      tags: ['orders'],
    });
  }
  const domain = await post(liveKey, '/v1/domains', { domain: 'mail.northwind.example' });
  const template = await post(liveKey, '/v1/templates', {
    name: 'order-shipped',
    subject: 'Your order {{ order.number }}',
    html: HTML,
  });
  for (const email of PEOPLE.slice(0, 3)) {
    await post(liveKey, '/v1/suppressions', { email: `old.${email}`, reason: 'manual', notes: 'Asked by phone' });
  }
  await post(liveKey, '/v1/inbound-routes', { address: 'support@in.waybill.test' });
  const webhook = await post(liveKey, '/v1/webhooks', { url: `${base}/hooks`, events: ['*'] });
  await post(liveKey, `/v1/webhooks/${webhook.id}/test`);
  await post(liveKey, '/v1/gdpr/export', { email: PEOPLE[0] });
  await delay(4_000);
  const answer = await fetch(`${base}/v1/emails?limit=1`, { headers: { authorization: `Bearer ${liveKey}` } });
  const [email] = (await answer.json()).data;
  return {
    live: {
      emails: '/emails',
      email: `/emails/${email.id}`,
      domain: `/domains/${domain.id}`,
      template: `/templates/${template.id}`,
      keys: '/keys',
      domains: '/domains',
      templates: '/templates',
      privacy: '/privacy',
      inbound: '/inbound',
      webhooks: '/webhooks',
      webhook: `/webhooks/${webhook.id}`,
    },
    operator: {
      ...{ 'operator-overview': '/', queue: '/queue?by=organization', destinations: '/destinations' },
      ...{ destination: '/destinations/mx.maintenance.example', egress: '/egress' },
      ...{ organizations: '/organizations', workers: '/workers', audit: '/audit' },
      'restricted-domains': '/restricted-domains',
    },
    test: { overview: '/', statistics: '/statistics', events: '/events', suppressions: '/suppressions', send: '/send' },
  };
}

/** Destinations with something the matter, and mail that waits. @returns the id of a domain that may be paused */
export async function seedOperator(base, operatorKey, liveKey) {
  const call = async (method, key, where, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(base + where, { method, headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${where}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  const change = (host, body) => call('PATCH', operatorKey, `/operator/v1/destinations/${host}`, body);
  await change('mx1.slowmail.example', { maxConnections: 2, ratePerMinute: 60, reason: 'They asked us to be gentle' });
  await change('mx.maintenance.example', { paused: true, reason: 'Their maintenance until noon' });
  for (const name of ['Northwind', 'Blue Yonder', 'Fabrikam']) {
    await call('POST', operatorKey, '/operator/v1/organizations', { name });
  }
  const scheduledAt = new Date(Date.now() + 7_200_000).toISOString();
  for (const to of PEOPLE) {
    await call('POST', liveKey, '/v1/emails', {
      ...{ from: 'hello@waybill.test', to: [to], subject: SUBJECTS[4], html: HTML, scheduledAt },
    });
  }
  return (await call('POST', liveKey, '/v1/domains', { domain: 'offers.northwind.example' })).id;
}

/** Runs the operator's command line. @returns its output */
function waybill(dataDir, ...args) {
  const command = [path.join(root, 'scripts/waybill.mjs'), ...args, '--json'];
  const env = { ...process.env, WAYBILL_DATA_DIR: dataDir };
  return JSON.parse(
    execFileSync(process.execPath, command, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
}

export const makeOperatorKey = (dataDir) => waybill(dataDir, 'operator-key', 'create', '--name', 'On call').key;

/** Pauses the sending of a domain, as an operator does. */
export function pauseDomain(dataDir, id) {
  waybill(dataDir, 'domain', 'pause-sending', id, '--reason', 'Phishing was reported');
}

/** A browser's context that a key is signed in to. */
export async function signedIn(browser, base, key, options = {}) {
  const context = await browser.newContext(options);
  await context.request.post(`${base}/console/session`, { headers: { 'x-waybill-console': '1' }, data: { key } });
  return context;
}

/**
 * Runs `work` with the service and a browser, and ends both.
 * @param work gets `{ browser, base, dataDir, credentials }`
 */
export async function withDemo(work) {
  if (executablePath === undefined) throw new Error('There is no Chromium: install one, or name it in CHROMIUM_PATH');
  process.exitCode = await ensureBuild(root);
  const dataDir = mkdtempSync(path.join(tmpdir(), 'waybill-demo-'));
  const { child, base } = await start(dataDir);
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    await delay(1_000);
    const credentials = JSON.parse(readFileSync(path.join(dataDir, 'credentials.json'), 'utf8'));
    await work({ browser, base, dataDir, credentials });
  } finally {
    await browser.close();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}
