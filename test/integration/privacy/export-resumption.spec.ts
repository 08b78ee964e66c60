import { inflateRawSync } from 'node:zlib';
import { HOUR, MINUTE } from '../../../src/common/clock';
import { ExportCollector } from '../../../src/modules/privacy/export/export-collector.service';
import { ExportHandler, MAX_PART_BYTES } from '../../../src/modules/privacy/export/export-handler.service';
import { ExportParts } from '../../../src/modules/privacy/export/exports.service';
import { PrivacyKeyring } from '../../../src/modules/privacy/requests/privacy-keyring.service';
import {
  type LeasedRequest,
  LeaseLostError,
  PrivacyWork,
} from '../../../src/modules/privacy/requests/privacy-work.service';
import { storeManyEmails } from '../../factories/subject-emails';
import type { Core } from '../../setup/core-context';
import { PrivacyScene, type Requester } from './privacy-scene';

const ADA = 'ada@example.com';

describe('the work on an export', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
  });
  beforeEach(async () => {
    acme = await scene.requester();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => scene.close());

  /** 100 make a page. */
  const storeMany = (count: number) =>
    storeManyEmails(scene.db, { organizationId: acme.organizationId, to: ADA, count });
  const row = async (id: string) => {
    const [found] = await scene.db.query('select * from privacy_requests where id = $1', [id]);
    return found ?? {};
  };

  async function expectComplete(id: string, count: number): Promise<void> {
    const { exportedData, itemCounts } = await scene.read(acme.api, id);
    expect(itemCounts).toEqual({ emails: count, events: 2 * count, suppressions: 0 });
    const ids = (items: { id: string }[]) => new Set(items.map((item) => item.id)).size;
    expect([ids(exportedData.emails), ids(exportedData.events)]).toEqual([count, 2 * count]);
    expect([exportedData.emails.length, exportedData.events.length]).toEqual([count, 2 * count]);
  }

  it('is taken over where a worker has died, and gives one result', async () => {
    await storeMany(350);
    const [dying, heir] = [scene.worker, await scene.addWorker()];
    const id = await scene.request(acme.api, ADA);
    const stall = stallBefore(dying, 3);
    const leased = await dying.get(PrivacyWork).claimNext('article_15_access');
    if (!leased) throw new Error('There is nothing to do');
    const dead = dying.get(ExportHandler).run(leased, new AbortController().signal);
    const outcome = dead.catch((error: unknown) => error);
    await stall.reached;
    await scene.work(heir);
    expect(await row(id)).toMatchObject({ status: 'processing', progress: { items: { emails: 200 } } });
    scene.clock.advance(2 * MINUTE);
    await scene.work(heir);
    await expectComplete(id, 350);
    stall.release();
    expect(await outcome).toBeInstanceOf(LeaseLostError);
    await expectComplete(id, 350);
    const completed = (await scene.app.audit(acme.organizationId)).filter(({ action }) => action.endsWith('completed'));
    expect(completed).toHaveLength(1);
  });

  it.each([1, 2, 3, 4])('continues after a failure in step %d', async (step) => {
    await storeMany(250);
    const id = await scene.request(acme.api, ADA);
    failIn(scene.worker, step);
    await scene.work();
    expect(await row(id)).toMatchObject({ status: 'pending', attempts: step > 1 ? 0 : 1, lease_token: null });
    expect((await scene.parts(id)).length).toBe(2 * (step - 1));
    await scene.work();
    expect((await row(id)).status).toBe('pending');
    scene.clock.advance(MINUTE);
    await scene.work();
    await expectComplete(id, 250);
  });

  it('ends after eight attempts in a row that came no further', async () => {
    await storeMany(1);
    const id = await scene.request(acme.api, ADA);
    jest.spyOn(scene.worker.get(ExportParts), 'write').mockRejectedValue(new Error('broken'));
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      expect(await row(id)).toMatchObject({ status: 'pending', attempts: attempt - 1 });
      await scene.work();
      scene.clock.advance(HOUR);
    }
    expect(await row(id)).toMatchObject({ status: 'failed', failure: 'attempts', attempts: 8 });
    expect(await scene.read(acme.api, id)).toMatchObject({ status: 'failed', completedAt: expect.any(String) });
    expect(await scene.request(acme.api, ADA)).not.toBe(id);
    jest.restoreAllMocks();
    await scene.work();
  });

  it('ends after eight workers have died of it', async () => {
    const id = await scene.request(acme.api, ADA);
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      expect(await scene.worker.get(PrivacyWork).claimNext('article_15_access')).toMatchObject({ id });
      scene.clock.advance(2 * MINUTE);
    }
    await scene.work();
    expect(await row(id)).toMatchObject({ status: 'failed', failure: 'attempts' });
  });

  it('is put back when the process ends', async () => {
    await storeMany(150);
    const id = await scene.request(acme.api, ADA);
    const leased = await scene.worker.get(PrivacyWork).claimNext('article_15_access');
    await scene.worker.get(ExportHandler).run(leased as LeasedRequest, AbortSignal.abort());
    expect(await row(id)).toMatchObject({ status: 'pending', attempts: 0 });
    await scene.work();
    await expectComplete(id, 150);
  });

  it('takes turns among organizations: a large one is put aside after some pages', async () => {
    await storeMany(2_500);
    const id = await scene.request(acme.api, ADA);
    for (let n = 0; n < 10; n += 1) await scene.request(acme.api, `p${n}@example.com`);
    scene.clock.advance(MINUTE);
    const other = await scene.requester();
    const quiet = await scene.request(other.api, ADA);
    const pages = jest.spyOn(scene.worker.get(ExportCollector), 'nextEmails');
    await scene.work();
    const turns = pages.mock.calls.map(([scope]) => scope.organizationId);
    expect((await row(quiet)).status).toBe('completed');
    expect(turns.indexOf(other.organizationId)).toBeGreaterThanOrEqual(0);
    expect(turns.indexOf(other.organizationId)).toBeLessThanOrEqual(10);
    await scene.work();
    await expectComplete(id, 2_500);
  });

  it('is done for one request of an organization at a time, by however many workers', async () => {
    const other = await scene.requester();
    const [first] = [await scene.request(acme.api, ADA), await scene.request(acme.api, 'bea@example.com')];
    const quiet = await scene.request(other.api, ADA);
    const heir = await scene.addWorker();
    const claims = [];
    for (const worker of [scene.worker, heir, scene.worker, heir]) {
      claims.push(await worker.get(PrivacyWork).claimNext('article_15_access'));
    }
    const taken = claims.map((claim) => claim?.id);
    expect(taken.filter((each) => each !== undefined).sort()).toEqual([first, quiet].sort());
    for (const claim of claims) if (claim) await heir.get(PrivacyWork).putBack(claim);
    await scene.work();
  });

  it('holds little in memory, and writes parts that are encrypted', async () => {
    await storeMany(10_000);
    const id = await scene.request(acme.api, ADA);
    const write = jest.spyOn(scene.worker.get(ExportParts), 'write');
    await scene.work();
    const parts = await scene.parts(id);
    const keyring = scene.worker.get(PrivacyKeyring);
    const texts = parts.map(({ section, part, content }) => {
      const key = {
        organizationId: acme.organizationId,
        mode: 'live' as const,
        id,
        section: section as 'emails',
        part,
      };
      return inflateRawSync(keyring.decryptPart(content, key));
    });
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(MAX_PART_BYTES);
    expect(Math.max(...write.mock.calls.map(([written]) => written.length))).toBeLessThanOrEqual(6);
    expect(texts.every((text) => text.includes(ADA))).toBe(true);
    const { subject } = await row(id);
    for (const stored of [subject, ...parts.map(({ content }) => content)]) {
      expect([ADA, 'example', 'Hello '].filter((plain) => stored.includes(plain))).toEqual([]);
    }
    await expectComplete(id, 10_000);
  });
});

/** Fails once, in the transaction of a step. */
function failIn(worker: Core, step: number): void {
  const parts = worker.get(ExportParts);
  const write = parts.write.bind(parts);
  let calls = 0;
  jest.spyOn(parts, 'write').mockImplementation(async (encrypted, tx) => {
    calls += 1;
    await write(encrypted, tx);
    if (calls === step) throw new Error('broken');
  });
}

/** Holds a worker before it reads its nth page. */
function stallBefore(worker: Core, page: number) {
  const collector = worker.get(ExportCollector);
  const nextEmails = collector.nextEmails.bind(collector);
  let [reach, release]: (() => void)[] = [];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  let calls = 0;
  jest.spyOn(collector, 'nextEmails').mockImplementation(async (...range) => {
    calls += 1;
    if (calls === page) {
      reach?.();
      await released;
    }
    return nextEmails(...range);
  });
  return { reached, release: () => release?.() };
}
