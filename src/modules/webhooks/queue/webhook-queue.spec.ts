import { isSubscribed } from './webhook-queue';

const event = { eventType: 'delivered', domainId: 'one' };

describe('isSubscribed', () => {
  it.each([
    [['delivered'], null, true],
    [['sent', 'delivered'], 'one', true],
    [['*'], null, true],
    [['*'], 'one', true],
    [['*'], 'two', false],
    [['sent'], null, false],
    [['delivered'], 'two', false],
  ])('to %j of the domain %s: %s', (events, domainId, expected) => {
    expect(isSubscribed({ events, domainId }, event)).toBe(expected);
  });

  it.each([
    ['this', true],
    ['another', false],
  ])('to an event that names the webhook %s: %s, whatever it subscribes to', (webhookId, expected) => {
    const named = { eventType: 'inbound.received', domainId: 'one', webhookId };
    expect(isSubscribed({ events: ['sent'], domainId: null }, named, 'this')).toBe(expected);
    expect(isSubscribed({ events: ['*'], domainId: null }, named, 'this')).toBe(expected);
  });
});
