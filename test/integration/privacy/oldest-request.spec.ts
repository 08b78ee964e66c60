import { DAY, HOUR, MINUTE, SECOND } from '../../../src/common/clock';
import { ExportParts } from '../../../src/modules/privacy/export/exports.service';
import { ErasureHandler } from '../../../src/modules/privacy/erasure/erasure-handler.service';
import { PrivacyMetrics, PrivacyRequestsJob } from '../../../src/modules/privacy/privacy-requests.job';
import { PrivacyWork } from '../../../src/modules/privacy/requests/privacy-work.service';
import { storeManyEmails } from '../../factories/subject-emails';
import { dataOf, PrivacyScene, type Requester } from './privacy-scene';

const [ADA, BEA] = ['ada@example.com', 'bea@example.com'];

describe('the age of the oldest privacy request without an answer', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
    acme = await scene.requester();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => scene.close());

  /** Read past the cache. */
  const oldestHours = async () => {
    scene.clock.advance(HOUR);
    return Math.floor((await scene.worker.get(PrivacyMetrics).oldestSeconds()) / (HOUR / SECOND));
  };

  async function fail(email: string): Promise<void> {
    await storeManyEmails(scene.db, { organizationId: acme.organizationId, to: email, count: 1 });
    const id = await scene.request(acme.api, email);
    jest.spyOn(scene.worker.get(ExportParts), 'write').mockRejectedValue(new Error('broken'));
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await scene.work();
      scene.clock.advance(HOUR);
    }
    jest.restoreAllMocks();
    expect((await scene.read(acme.api, id)).status).toBe('failed');
  }

  it('counts one that has failed until it has been made again and is complete', async () => {
    expect(await oldestHours()).toBe(0);
    await fail(ADA);
    expect(await oldestHours()).toBe(9);
    await scene.request(acme.api, ADA);
    expect(await oldestHours()).toBe(10);
    await scene.work();
    expect(await oldestHours()).toBe(0);
  });

  it('is not prolonged by a clock that was set back: what waited, or a dead worker had, is taken up', async () => {
    const lost = await scene.request(acme.api, ADA);
    expect(await scene.worker.get(PrivacyWork).claimNext('article_15_access')).toMatchObject({ id: lost });
    const waiting = await scene.request(acme.api, 'cid@example.com');
    const before = scene.clock.now();
    scene.clock.set(new Date(before.getTime() - HOUR));
    await scene.work();
    scene.clock.advance(MINUTE);
    await scene.work();
    for (const id of [lost, waiting]) expect((await scene.read(acme.api, id)).status).toBe('completed');
    scene.clock.set(before);
  });

  it('does not count one whose subject has been erased since', async () => {
    await fail(BEA);
    expect(await oldestHours()).toBe(9);
    dataOf(await acme.api.post('/v1/gdpr/delete-request', { email: BEA, confirmDelete: true }), 202);
    await scene.worker.get(PrivacyRequestsJob).workOff(scene.worker.get(ErasureHandler));
    expect(await oldestHours()).toBe(0);
  });

  it('gives one up that nobody makes again', async () => {
    await fail(ADA);
    scene.clock.advance(39 * DAY);
    expect(await oldestHours()).toBe(39 * 24 + 9);
    scene.clock.advance(DAY);
    expect(await oldestHours()).toBe(0);
  });
});
