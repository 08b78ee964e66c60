import { HOUR, MINUTE, SECOND } from '../../../common/clock';
import type { ClaimedMessage } from './dispatched-message';
import { EndpointLanes, PARALLEL } from './endpoint-lanes';

const NOW_MS = 1_000 * HOUR;
let count = 0;

function message(endpointId: string, fields: Partial<ClaimedMessage> = {}): ClaimedMessage {
  count += 1;
  const claimedUntil = new Date(NOW_MS + MINUTE);
  return {
    endpointId,
    id: `m${count}`,
    emailId: `e${count}`,
    failingSince: null,
    claimedUntil,
    ...fields,
  } as ClaimedMessage;
}

function roomOf(lanes: EndpointLanes, endpointId: string, nowMs = NOW_MS): number | undefined {
  return lanes.rooms(nowMs).find((room) => room.endpointId === endpointId)?.room;
}

function started(lanes: EndpointLanes, endpointId: string): ClaimedMessage {
  lanes.add(message(endpointId), NOW_MS);
  const next = lanes.start(endpointId);
  if (!next) throw new Error('nothing was started');
  return next;
}

describe('EndpointLanes', () => {
  it('sends five at a time to one endpoint', () => {
    const lanes = new EndpointLanes();
    for (let added = 0; added < 8; added += 1) lanes.add(message('a'), NOW_MS);
    const begun = Array.from({ length: 8 }, () => lanes.start('a')).filter((one) => one !== undefined);
    expect(begun).toHaveLength(PARALLEL);
    expect(lanes.held).toBe(8);
    expect(lanes.start('b')).toBeUndefined();
  });

  it('sends what concerns one email one after the other, in order', () => {
    const lanes = new EndpointLanes();
    const [first, second, other] = [message('a', { emailId: 'x' }), message('a', { emailId: 'x' }), message('a')];
    for (const one of [first, second, other]) lanes.add(one, NOW_MS);
    expect(lanes.start('a')).toBe(first);
    expect(lanes.start('a')).toBe(other);
    expect(lanes.start('a')).toBeUndefined();
    lanes.end(first, NOW_MS);
    expect(lanes.start('a')).toBe(second);
  });

  it('gives a new endpoint little room, and one that answers what it can take', () => {
    const lanes = new EndpointLanes();
    const one = started(lanes, 'a');
    expect(roomOf(lanes, 'a')).toBe(1);
    lanes.succeeded(one, 10, NOW_MS);
    expect(lanes.end(one, NOW_MS)).toBe(true);
    expect(roomOf(lanes, 'a')).toBe(100);
    lanes.succeeded(one, SECOND, NOW_MS);
    expect(roomOf(lanes, 'a')).toBe(10);
    lanes.succeeded(one, 15 * SECOND, NOW_MS);
    expect(roomOf(lanes, 'a')).toBe(5);
  });

  it('leaves a failing endpoint alone for longer and longer, then tries with one', () => {
    const lanes = new EndpointLanes();
    const pauseAfter = (failingMs: number | null): number => {
      const failing = {
        ...started(lanes, 'a'),
        ...(failingMs !== null && { failingSince: new Date(NOW_MS - failingMs) }),
      };
      lanes.failed(failing, 0, NOW_MS);
      lanes.end(failing, NOW_MS);
      return [SECOND, 10 * SECOND, 30 * SECOND].find((ms) => roomOf(lanes, 'a', NOW_MS + ms) === 1) ?? Infinity;
    };
    expect(roomOf(lanes, 'a')).toBeUndefined();
    expect(pauseAfter(null)).toBe(SECOND);
    expect(roomOf(lanes, 'a')).toBe(0);
    expect(pauseAfter(80 * SECOND)).toBe(10 * SECOND);
    expect(pauseAfter(48 * HOUR)).toBe(30 * SECOND);
  });

  it('gives back what waits when the endpoint fails', () => {
    const lanes = new EndpointLanes();
    const one = started(lanes, 'a');
    const waiting = message('a');
    lanes.add(waiting, NOW_MS);
    expect(lanes.failed(one, 0, NOW_MS)).toEqual([waiting]);
    expect(lanes.end(one, NOW_MS)).toBe(false);
    expect(lanes.held).toBe(0);
  });

  it('holds an endpoint back as long as it asks, up to five minutes', () => {
    const lanes = new EndpointLanes();
    const one = started(lanes, 'a');
    lanes.failed(one, 2 * MINUTE, NOW_MS);
    lanes.end(one, NOW_MS);
    expect(roomOf(lanes, 'a', NOW_MS + 2 * MINUTE - 1)).toBe(0);
    expect(roomOf(lanes, 'a', NOW_MS + 2 * MINUTE)).not.toBe(0);
    const other = started(lanes, 'b');
    lanes.failed(other, HOUR, NOW_MS);
    lanes.end(other, NOW_MS);
    expect(roomOf(lanes, 'b', NOW_MS + 5 * MINUTE - 1)).toBe(0);
    expect(roomOf(lanes, 'b', NOW_MS + 5 * MINUTE)).not.toBe(0);
  });

  it('begins with one where the endpoint is known to fail', () => {
    const lanes = new EndpointLanes();
    lanes.add(message('a', { failingSince: new Date(NOW_MS) }), NOW_MS);
    expect(roomOf(lanes, 'a')).toBe(0);
  });

  it('withdraws what has not begun in time, and in the end everything', () => {
    const lanes = new EndpointLanes();
    started(lanes, 'a');
    const old = message('a', { claimedUntil: new Date(NOW_MS) });
    const recent = message('b');
    lanes.add(old, NOW_MS);
    lanes.add(recent, NOW_MS);
    expect(lanes.withdraw(new Date(NOW_MS))).toEqual([old]);
    expect(lanes.withdraw()).toEqual([recent]);
    expect(lanes.held).toBe(1);
  });

  it('forgets endpoints that are no longer sent to', () => {
    const lanes = new EndpointLanes();
    const one = started(lanes, 'a');
    lanes.succeeded(one, 1, NOW_MS);
    lanes.end(one, NOW_MS);
    expect(lanes.rooms(NOW_MS + MINUTE - 1)).toHaveLength(1);
    expect(lanes.rooms(NOW_MS + MINUTE)).toEqual([]);
  });
});
