import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ENGINE_FLAGS } from './kit/service-process';

const ROOT = join(__dirname, '../..');
const MESSAGES = 500;
/** It takes half a minute on two free cores; a busy machine may take its time. */
const LIMIT_MS = 600_000;

/** `npm run chaos`, short: see docs/reliability.md. */
async function runChaos(...args: string[]): Promise<any> {
  const child = spawn(process.execPath, [...ENGINE_FLAGS, join(ROOT, 'chaos/run.mjs'), '--json', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [result, progress] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (result === '') throw new Error(progress);
  return { ...JSON.parse(result), progress };
}

describe('kills, a database restart, a stop, a partition and a wrong clock while mail is sent', () => {
  it(
    'lose, strand, mislabel and repeat nothing that a kill does not explain',
    async () => {
      const { progress, ...result } = await runChaos('--seed', '12', '--messages', String(MESSAGES));
      const found = Object.entries<any>(result.checks).flatMap(([name, { count, first }]) =>
        count === 0 ? [] : [`${name}: ${count}, ${first.join('; ')}`],
      );
      // With all that was done, should there be anything.
      expect(found.length > 0 ? [...found, progress] : []).toEqual([]);
      expect(result.accepted).toBe(MESSAGES);
      expect(result.webhooks.expected).toBeGreaterThanOrEqual(MESSAGES);
      expect(result.countersCompared).toBeGreaterThan(2);
      expect(result.outages).toHaveLength(1);
      const kinds = result.duplicates.byDisturbance.map(({ kind }: any) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['kill', 'stop', 'partition', 'clock']));
    },
    LIMIT_MS,
  );
});
