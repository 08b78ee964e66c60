import { DAY } from '../../../src/common/clock';
import type { Owner } from '../domains/domains-app';
import { newId } from '../../../src/common/ids';
import { read, StatsScene } from './stats-scene';

let scene: StatsScene;
let acme: Owner;
let domainId: string;
beforeAll(async () => {
  scene = await StatsScene.open();
});
afterAll(() => scene.close());
beforeEach(async () => {
  acme = await scene.app.owner();
  domainId = await scene.addDomain(acme, `d${newId().slice(-12)}.example`);
});

const ago = (days: number) => new Date(scene.app.clock.now().getTime() - days * DAY);

describe('GET /v1/stats/reputation', () => {
  it('evaluates the organization and each domain by the same formula', async () => {
    const other = await scene.addDomain(acme, `o${newId().slice(-12)}.example`);
    await scene.count(acme, domainId, ago(29), { accepted: 100, delivered: 90, bounced: 10 });
    await scene.fold();
    await scene.count(acme, other, ago(0), { accepted: 900, delivered: 900, complaints: 1 });
    await scene.count(acme, domainId, ago(31), { accepted: 100, bounced: 100 });
    expect(await read(acme.api, `/reputation?domain_id=${domainId.toUpperCase()}`)).toEqual({
      organizationId: acme.organizationId,
      domainId,
      metrics: { overallScore: 55, bounceRate: 0.1, complaintRate: 0, deliveryRate: 0.9, healthStatus: 'fair' },
      recommendations: [expect.stringContaining('10 % of the recipients'), expect.stringContaining('Only 90 %')],
    });
    expect(await read(acme.api, '/reputation')).toEqual({
      organizationId: acme.organizationId,
      metrics: {
        overallScore: 94,
        bounceRate: 0.01,
        complaintRate: 0.001,
        deliveryRate: 0.99,
        healthStatus: 'excellent',
      },
      recommendations: [expect.stringContaining('0.1 % of the mail delivered')],
    });
  });

  it('states that the volume is too small to judge', async () => {
    await scene.count(acme, domainId, ago(1), { accepted: 49, bounced: 49 });
    expect(await read(acme.api, '/reputation')).toMatchObject({
      metrics: { overallScore: 100, bounceRate: 1, healthStatus: 'excellent' },
      recommendations: [expect.stringContaining('Only 49 recipients')],
    });
  });

  it('has nothing to recommend to a good sender', async () => {
    await scene.count(acme, domainId, ago(1), { accepted: 100, delivered: 99, bounced: 1 });
    expect((await read(acme.api, '/reputation')).recommendations).toEqual([]);
  });

  it('keeps test mail and live mail apart', async () => {
    await scene.count(acme, domainId, ago(1), { accepted: 100, bounced: 100 }, 'test');
    expect((await read(acme.api, '/reputation')).metrics).toMatchObject({ overallScore: 100, bounceRate: 0 });
    const { metrics } = await read(await scene.testClient(acme), '/reputation');
    expect(metrics).toMatchObject({ overallScore: 40, bounceRate: 1 });
  });
});
