import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOUR } from '../../../src/common/clock';
import { EgressAddressesRepository } from '../../../src/delivery/egress/egress-addresses.repository';
import { DomainsApp } from '../domains/domains-app';
import { type OperatorClient, operatorOf } from './operator-app';

const ADDRESS = '2001:db8::25';
const POOLS = [{ name: 'news', addresses: [{ address: ADDRESS, ehlo: 'out1.example.org' }], category: 'bulk' }];

let app: DomainsApp;
let operator: OperatorClient;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-operator-egress-'));
  const file = join(folder, 'pools.json');
  await writeFile(file, JSON.stringify(POOLS));
  app = await DomainsApp.start({ EGRESS_POOLS: file, MAIL_HOST: 'mail.example.org' });
  app.clock.set(new Date());
  operator = await operatorOf(app);
  await app.get(EgressAddressesRepository).registerAddresses([{ address: ADDRESS, isWarm: false }]);
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

const path = `/operator/v1/egress/${encodeURIComponent(ADDRESS)}`;
const suspend = (address: string, key: string) =>
  app
    .get(EgressAddressesRepository)
    .writeSuspensions([{ address, key, cause: '554 5.7.1 listed', forMs: HOUR }], () => Promise.resolve());
const audited = async (count: number) =>
  (await operator.api.get(`/operator/v1/audit?limit=${count}`)).body.data.map(
    ({ action, actor, target }: { action: string; actor: string; target: object }) => ({ action, actor, target }),
  );

describe('/operator/v1/egress', () => {
  it('lists addresses with the refusals of receivers, and their warm-up', async () => {
    await suspend('default', 'mx1.example.net');
    const { body } = await operator.api.get('/operator/v1/egress');
    expect(body.data).toEqual([
      {
        ...{ pool: 'news', category: 'bulk', organizations: [] },
        addresses: [
          {
            ...{ address: ADDRESS, ehlo: 'out1.example.org', state: 'warming', suspensions: [] },
            warmUp: { day: 0, days: 16, startedAt: expect.any(String), dailyVolume: 50, providers: [] },
          },
        ],
      },
      {
        ...{ pool: 'default', organizations: [] },
        addresses: [
          {
            ...{ address: 'default', ehlo: 'mail.example.org', state: 'suspended' },
            suspensions: [{ destination: 'mx1.example.net', cause: '554 5.7.1 listed', until: expect.any(String) }],
          },
        ],
      },
    ]);
  });

  it('skips and restarts a warm-up, and records the actor', async () => {
    const skipped = await operator.api.patch(path, { warmUp: 'skip' });
    expect([skipped.status, skipped.body.data]).toEqual([
      200,
      { address: ADDRESS, ehlo: 'out1.example.org', state: 'active', suspensions: [] },
    ]);
    const restarted = await operator.api.patch(path, { warmUp: 'restart' });
    expect(restarted.body.data).toMatchObject({ state: 'warming', warmUp: { day: 0, dailyVolume: 50 } });
    const said = { actor: `operator:${operator.keyId}`, target: { type: 'egress_address', id: ADDRESS } };
    expect(await audited(2)).toEqual([
      { ...said, action: 'egress.warm_up_restarted' },
      { ...said, action: 'egress.warm_up_skipped' },
    ]);
    expect((await operator.api.patch(path, { warmUp: 'maybe' })).status).toBe(400);
    expect((await operator.api.patch('/operator/v1/egress/192.0.2.1', { warmUp: 'skip' })).status).toBe(404);
    // The system's choice has no warm-up of its own.
    expect((await operator.api.patch('/operator/v1/egress/default', { warmUp: 'skip' })).status).toBe(404);
  });

  it('ends a suspension, and records the actor', async () => {
    await suspend(ADDRESS, 'mx2.example.net');
    const released = await operator.api.delete(`${path}/suspensions/MX2.example.net`);
    expect([released.status, released.body.data]).toEqual([
      200,
      { address: ADDRESS, destination: 'MX2.example.net', released: true },
    ]);
    expect(await audited(1)).toEqual([
      {
        ...{ action: 'egress.released', actor: `operator:${operator.keyId}` },
        target: { type: 'egress_address', id: ADDRESS },
      },
    ]);
    expect((await operator.api.delete(`${path}/suspensions/mx2.example.net`)).status).toBe(404);
  });
});
