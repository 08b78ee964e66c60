import type { SMTPServerSession } from 'smtp-server';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { SystemClock } from '../../common/clock';
import type { BodyBudget } from '../../common/http/request/request-body';
import type { InboundMailService, Routing } from '../inbound-mail/inbound-mail.service';
import { InboundLimits } from './inbound-limits';
import type { InboundMetrics } from './inbound.metrics';
import { type RoutedRecipient, RoutedReception } from './routed-reception';

const settled = () => new Promise(setImmediate);

it('RoutedReception leaves the database to others, however many clients name recipients, and owners of networks take turns', async () => {
  const waiting: { readonly address: string; readonly settle: (routing: Routing) => void }[] = [];
  const mail = {
    route: (address: string) => new Promise<Routing>((settle) => void waiting.push({ address, settle })),
  } as unknown as InboundMailService;
  const none = {} as BodyBudget & InboundMetrics;
  const reception = new RoutedReception(mail, none, new InboundLimits(), none, new SystemClock());
  const flood = Array.from({ length: 150 }, (_each, at) => reception.route(`${at}@a.example`, `192.0.2.${at}`));
  const other = reception.route('other@b.example', '198.51.100.1');
  await settled();
  expect(waiting.map(({ address }) => address)).toEqual(['0@a.example', 'other@b.example']);
  const third = reception.route('third@b.example', '203.0.113.1');
  waiting[0]?.settle('foreign');
  await flood[0];
  await settled();
  expect(waiting.map(({ address }) => address)).toEqual(['0@a.example', 'other@b.example', 'third@b.example']);
  for (let at = 1; at < 152; at += 1) {
    waiting[at]?.settle('unknown');
    await settled();
  }
  expect(await Promise.all([other, third, ...flood.slice(1)])).toEqual(Array.from({ length: 151 }, () => 'unknown'));
});

it('RoutedReception forgets nothing that counts, however many networks send, until the hour is over', async () => {
  const clock = new FakeClock();
  const mail = { hasBoundedHeader: () => true, take: () => Promise.resolve([]) } as unknown as InboundMailService;
  const none = {} as BodyBudget & InboundMetrics;
  const reception = new RoutedReception(mail, none, new InboundLimits(), none, clock);
  const to = (name: string): RoutedRecipient =>
    ({ routes: [{ organizationId: `o${name}`, routeId: `r${name}` }] }) as unknown as RoutedRecipient;
  const send = (remoteAddress: string, name: string) =>
    reception.take(Buffer.from('x'), [to(name)], { remoteAddress, envelope: {} } as SMTPServerSession);
  for (let count = 0; count < 1_000; count += 1) await send('192.0.2.1', 'a');
  for (let at = 0; at < 20_000; at += 1) {
    await send(`2001:db8:1:${at.toString(16)}::1`, `other ${at % 100}`);
    if (at % 1_000 === 0) expect(reception.hasTurn('192.0.2.1', to('a'))).toBe(false);
  }
  expect(reception.hasTurn('192.0.2.1', to('a'))).toBe(false);
  expect(reception.hasTurn('192.0.2.1', to('b'))).toBe(true);
  clock.advance(3_600_001);
  expect(reception.hasTurn('192.0.2.1', to('a'))).toBe(true);
});
