import { changeOf } from './webhook-changes.service';
import type { WebhookEndpoint } from '../queue/webhook.entity';

const NOW = new Date('2026-02-01T10:00:00.000Z');
const endpoint = (fields: Partial<WebhookEndpoint> = {}) =>
  ({ url: 'https://a.example/', enabled: true, failingSince: NOW, ...fields }) as WebhookEndpoint;

describe('changeOf', () => {
  it.each([
    ['nothing', {}, {}, {}],
    ['the types', {}, { events: ['sent'] }, { events: ['sent'] }],
    ['the address', {}, { url: 'https://b.example/' }, { url: 'https://b.example/', failingSince: null }],
    ['the same address', {}, { url: 'https://a.example/' }, { url: 'https://a.example/' }],
    ['the description', {}, { description: 'Orders' }, { description: 'Orders' }],
    ['no description', {}, { description: '' }, { description: null }],
    ['enabled already', {}, { enabled: true }, {}],
    ['disabled already', { enabled: false }, { enabled: false }, {}],
    ['disabled', {}, { enabled: false }, { enabled: false, disabledReason: 'request', disabledAt: NOW }],
    [
      'enabled again',
      { enabled: false },
      { enabled: true },
      { enabled: true, disabledReason: null, disabledAt: null, failingSince: null, position: 'head' },
    ],
  ])('%s', (_what, before, wanted, expected) => {
    expect(changeOf(endpoint(before), wanted, NOW, 'head')).toEqual({ updatedAt: NOW, ...expected });
  });
});
