import { randomBytes } from 'node:crypto';
import type { OrganizationsService } from '../../auth/organizations.service';
import { SystemClock } from '../../common/clock';
import type { AppConfig } from '../../config/config';
import { InboundLimits } from './inbound-limits';
import type { InboundRepository } from './inbound.repository';
import { InboundService } from './inbound.service';

const settled = () => new Promise(setImmediate);

it('InboundService leaves the database to others, however many reports come, and owners of networks take turns', async () => {
  const waiting: { readonly network: string; readonly settle: (result: 'new') => void }[] = [];
  const repository = {
    appendFeedback: ({ network }: { network: string }) =>
      new Promise((settle) => void waiting.push({ network, settle })),
  } as unknown as InboundRepository;
  const config = { masterKey: randomBytes(32) } as AppConfig;
  const organizations = {} as OrganizationsService;
  const service = new InboundService(repository, organizations, new InboundLimits(), new SystemClock(), config);
  const append = (network: string, owner: string) =>
    service.appendFeedback('abuse', { sender: '', network, owner }, Buffer.from('x'));
  const flood = Array.from({ length: 150 }, (_each, at) => append(`192.0.2.${at}`, '192.0.2'));
  const others = [1, 2, 3].map((at) => append(`198.51.10${at}.1`, `198.51.10${at}`));
  await settled();
  expect(waiting.map(({ network }) => network)).toEqual(['192.0.2.0', '198.51.101.1', '198.51.102.1']);
  for (let at = 0; at < 153; at += 1) {
    waiting[at]?.settle('new');
    await settled();
  }
  expect(waiting[3]?.network).toBe('198.51.103.1');
  expect(await Promise.all([...flood, ...others])).toHaveLength(153);
});
