import fc from 'fast-check';
import { HOUR, MINUTE, SECOND } from '../../../common/clock';
import { EndpointSlots, PARALLEL } from './endpoint-slots';
import { MAX_HELD } from './organization-shares';
import { PARALLEL_AT_HOST } from './host-slots';
import type { ClaimedMessage } from '../queue/webhook-queue';

const NOW_MS = 1_000 * HOUR;
let count = 0;

function message(endpointId: string, fields: Partial<ClaimedMessage> = {}): ClaimedMessage {
  count += 1;
  const claimedUntil = new Date(NOW_MS + MINUTE);
  return {
    endpointId,
    id: `m${count}`,
    organizationId: 'o',
    url: `https://${endpointId}.example/`,
    emailId: `e${count}`,
    failingSince: null,
    claimedUntil,
    ...fields,
  } as ClaimedMessage;
}

function freeOf(slots: EndpointSlots, endpointId: string, nowMs = NOW_MS): number | undefined {
  return slots.freeSlots(nowMs).find((one) => one.endpointId === endpointId)?.free;
}

function started(slots: EndpointSlots, endpointId: string): ClaimedMessage {
  slots.add(message(endpointId), NOW_MS);
  const next = slots.start(endpointId);
  if (!next) throw new Error('nothing was started');
  return next;
}

describe('EndpointSlots', () => {
  it('sends five at a time to one endpoint', () => {
    const slots = new EndpointSlots();
    for (let added = 0; added < 8; added += 1) slots.add(message('a'), NOW_MS);
    const begun = Array.from({ length: 8 }, () => slots.start('a')).filter((one) => one !== undefined);
    expect(begun).toHaveLength(PARALLEL);
    expect(slots.held).toBe(8);
    expect(slots.start('b')).toBeUndefined();
  });

  it('sends what concerns one email one after the other, in order', () => {
    const slots = new EndpointSlots();
    const [first, second, other] = [message('a', { emailId: 'x' }), message('a', { emailId: 'x' }), message('a')];
    for (const one of [first, second, other]) slots.add(one, NOW_MS);
    expect(slots.start('a')).toBe(first);
    expect(slots.start('a')).toBe(other);
    expect(slots.start('a')).toBeUndefined();
    slots.end(first, NOW_MS);
    expect(slots.start('a')).toBe(second);
  });

  it('gives a new endpoint few slots, and one that answers what it can take', () => {
    const slots = new EndpointSlots();
    const one = started(slots, 'a');
    expect(freeOf(slots, 'a')).toBe(1);
    slots.succeeded(one, 10, NOW_MS);
    expect(slots.end(one, NOW_MS)).toBe(true);
    expect(freeOf(slots, 'a')).toBe(100);
    slots.succeeded(one, SECOND, NOW_MS);
    expect(freeOf(slots, 'a')).toBe(10);
    slots.succeeded(one, 15 * SECOND, NOW_MS);
    expect(freeOf(slots, 'a')).toBe(5);
  });

  it('leaves a failing endpoint alone for longer and longer, then tries with one', () => {
    const slots = new EndpointSlots();
    const pauseAfter = (failingMs: number | null): number => {
      const failing = {
        ...started(slots, 'a'),
        ...(failingMs !== null && { failingSince: new Date(NOW_MS - failingMs) }),
      };
      slots.failed(failing, 0, NOW_MS);
      slots.end(failing, NOW_MS);
      return [SECOND, 10 * SECOND, 30 * SECOND].find((ms) => freeOf(slots, 'a', NOW_MS + ms) === 1) ?? Infinity;
    };
    expect(freeOf(slots, 'a')).toBeUndefined();
    expect(pauseAfter(null)).toBe(SECOND);
    expect(freeOf(slots, 'a')).toBe(0);
    expect(pauseAfter(80 * SECOND)).toBe(10 * SECOND);
    expect(pauseAfter(48 * HOUR)).toBe(30 * SECOND);
  });

  it('gives back what waits when the endpoint fails', () => {
    const slots = new EndpointSlots();
    const one = started(slots, 'a');
    const waiting = message('a');
    slots.add(waiting, NOW_MS);
    expect(slots.failed(one, 0, NOW_MS)).toEqual([waiting]);
    expect(slots.end(one, NOW_MS)).toBe(false);
    expect(slots.held).toBe(0);
  });

  it('holds an endpoint back as long as it asks, up to five minutes', () => {
    const slots = new EndpointSlots();
    const one = started(slots, 'a');
    slots.failed(one, 2 * MINUTE, NOW_MS);
    slots.end(one, NOW_MS);
    expect(freeOf(slots, 'a', NOW_MS + 2 * MINUTE - 1)).toBe(0);
    expect(freeOf(slots, 'a', NOW_MS + 2 * MINUTE)).not.toBe(0);
    const other = started(slots, 'b');
    slots.failed(other, HOUR, NOW_MS);
    slots.end(other, NOW_MS);
    expect(freeOf(slots, 'b', NOW_MS + 5 * MINUTE - 1)).toBe(0);
    expect(freeOf(slots, 'b', NOW_MS + 5 * MINUTE)).not.toBe(0);
  });

  it('begins with one where the endpoint is known to fail', () => {
    const slots = new EndpointSlots();
    slots.add(message('a', { failingSince: new Date(NOW_MS) }), NOW_MS);
    expect(freeOf(slots, 'a')).toBe(0);
  });

  it('withdraws what has not begun in time, and in the end everything', () => {
    const slots = new EndpointSlots();
    started(slots, 'a');
    const old = message('a', { claimedUntil: new Date(NOW_MS) });
    const recent = message('b');
    slots.add(old, NOW_MS);
    slots.add(recent, NOW_MS);
    expect(slots.withdraw(new Date(NOW_MS))).toEqual([old]);
    expect(slots.withdraw()).toEqual([recent]);
    expect(slots.held).toBe(1);
  });

  it.each([
    [1, 1 / 2],
    [2, 1 / 3],
    [3, 1 / 4],
  ])('%d organizations with much to send get a share of %f each', (organizations, share) => {
    const slots = new EndpointSlots();
    const ids = Array.from({ length: organizations }, (_, n) => `o${n}`);
    const shareOf = (id: string) =>
      slots.shares().find(({ organizationId }) => organizationId === id)?.free ?? slots.freshShare;
    const held: ClaimedMessage[] = [];
    while (ids.some((id) => shareOf(id) > 0)) {
      for (const organizationId of ids.filter((id) => shareOf(id) > 0)) {
        held.push(message(`e${held.length}`, { organizationId }));
        slots.add(held.at(-1) as ClaimedMessage, NOW_MS);
      }
    }
    for (const id of ids) {
      expect(held.filter(({ organizationId }) => organizationId === id).length).toBeCloseTo(share * MAX_HELD, -1);
    }
    expect(slots.freshShare).toBeGreaterThan(0);
    for (const one of held) slots.start(one.endpointId);
    for (const one of held) slots.end(one, NOW_MS);
    expect([slots.held, slots.shares()]).toEqual([0, []]);
  });

  it('forgets endpoints that are no longer sent to', () => {
    const slots = new EndpointSlots();
    const one = started(slots, 'a');
    slots.succeeded(one, 1, NOW_MS);
    slots.end(one, NOW_MS);
    expect(slots.freeSlots(NOW_MS + MINUTE - 1)).toHaveLength(1);
    expect(slots.freeSlots(NOW_MS + MINUTE)).toEqual([]);
  });

  describe('at one host', () => {
    const atHost = (endpointId: string, fields: Partial<ClaimedMessage> = {}) =>
      message(endpointId, { url: 'https://hooks.example/', ...fields });
    const startAll = (slots: EndpointSlots, ids: readonly string[]): ClaimedMessage[] =>
      ids.flatMap((id) => [0, 1, 2, 3, 4].flatMap(() => slots.start(id) ?? []));
    const IDS = Array.from({ length: 100 }, (_, n) => `e${n}`);

    it('sends 25 at a time for a hundred endpoints of an organization; elsewhere and for others it goes on', () => {
      const slots = new EndpointSlots();
      for (const id of IDS) for (let n = 0; n < 5; n += 1) slots.add(atHost(id), NOW_MS);
      expect(startAll(slots, IDS)).toHaveLength(PARALLEL_AT_HOST);
      slots.add(atHost('port', { url: 'https://hooks.example:8443/' }), NOW_MS);
      expect(slots.start('port')).toBeUndefined();
      slots.add(message('elsewhere'), NOW_MS);
      slots.add(atHost('other', { organizationId: 'p' }), NOW_MS);
      expect([slots.start('elsewhere'), slots.start('other')]).not.toContain(undefined);
    });

    it('takes its endpoints in turn', () => {
      const slots = new EndpointSlots();
      for (const id of IDS) for (let n = 0; n < 5; n += 1) slots.add(atHost(id), NOW_MS);
      const underWay = startAll(slots, IDS);
      const served: string[] = [];
      while (served.length < IDS.length) {
        const ended = underWay.shift() as ClaimedMessage;
        slots.end(ended, NOW_MS);
        const next = slots.startAfter(ended) as ClaimedMessage;
        expect(slots.startAfter(ended)).toBeUndefined();
        served.push(next.endpointId);
        underWay.push(next);
      }
      expect(new Set(served.slice(0, 90)).size).toBe(90);
    });

    it('has its room claimed in parts, and none while it is full', () => {
      const slots = new EndpointSlots();
      for (const id of IDS) slots.add(atHost(id), NOW_MS);
      expect(slots.freeSlots(NOW_MS).every(({ free }) => free === 0)).toBe(true);
      const [first] = startAll(slots, IDS) as [ClaimedMessage];
      slots.succeeded(first, 10, NOW_MS);
      expect(slots.freeSlots(NOW_MS).reduce((sum, { free }) => sum + free, 0)).toBeGreaterThanOrEqual(100);
    });

    it('never has more requests open, and leaves none unsent', () => {
      const added = fc.array(fc.record({ endpoint: fc.nat(11), email: fc.nat(3), host: fc.nat(1) }), {
        maxLength: 200,
      });
      fc.assert(
        fc.property(added, fc.infiniteStream(fc.nat(1_000)), (all, lots) => {
          const slots = new EndpointSlots();
          const messages = all.map(({ endpoint, email, host }) =>
            message(`e${endpoint}`, { emailId: `${email}`, url: `https://h${host}.example/` }),
          );
          for (const one of messages) slots.add(one, NOW_MS);
          const underWay = startAll(slots, [...new Set(messages.map((one) => one.endpointId))]);
          let sent = 0;
          while (underWay.length > 0) {
            for (const host of ['h0', 'h1']) {
              expect(underWay.filter(({ url }) => url.includes(host)).length).toBeLessThanOrEqual(PARALLEL_AT_HOST);
            }
            const [ended] = underWay.splice(lots.next().value % underWay.length, 1) as [ClaimedMessage];
            slots.end(ended, NOW_MS);
            sent += 1;
            for (let next = slots.startAfter(ended); next; next = slots.startAfter(ended)) underWay.push(next);
          }
          expect([sent, slots.held]).toEqual([messages.length, 0]);
        }),
      );
    });
  });
});
