import fc from 'fast-check';
import { signWebhook, toWebhookResponse } from './webhook-sender.service';

/** The example of the Standard Webhooks reference libraries. */
const SECRET = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const WEBHOOK = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  sentAt: new Date(1_614_265_330_999),
  body: '{"test": 2432232314}',
};

describe('signWebhook', () => {
  it('signs as the specification does', () => {
    expect(signWebhook(WEBHOOK, [SECRET])).toEqual({
      'webhook-id': WEBHOOK.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('signs once for each secret, the first one first', () => {
    const [first, second] = signWebhook(WEBHOOK, [SECRET, Buffer.alloc(32)])['webhook-signature']?.split(' ') ?? [];
    expect(first).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    expect(second).toBe(signWebhook(WEBHOOK, [Buffer.alloc(32)])['webhook-signature']);
  });
});

const answer = (body: string, headers: Record<string, string> = {}) =>
  toWebhookResponse({ headers, body: Buffer.from(body), isCut: false }, 7);

describe('toWebhookResponse', () => {
  it('keeps headers that help, and none that may hold a secret', () => {
    const headers = {
      'content-type': 'text/html',
      'set-cookie': 'a=b',
      'www-authenticate': 'x',
      location: 'y'.repeat(999),
    };
    expect(answer('', headers)).toEqual({
      ...{ headers: { 'content-type': 'text/html', location: 'y'.repeat(300) }, body: '', isCut: false, durationMs: 7 },
    });
  });

  it.each([
    ['user ada@example.com is unknown', 'user [address] is unknown'],
    ['{"to":"ada.l+x@mail.example","id":"é"}', '{"to":"[address]","id":"é"}'],
    ['https://x.example/?to=ada%40example.com&x=1', 'https://x.example/?to=[address]&x=1'],
    ['a\0b', 'a\uFFFDb'],
    ['nothing @ all', 'nothing @ all'],
    [`{"echo":"${Buffer.from('{"to":"ada@example.com"}').toString('base64')}"}`, '{"echo":"[address]"}'],
  ])('of %j keeps %j', (body, kept) => {
    expect(answer(body).body).toBe(kept);
  });

  it('keeps no address and no NUL, whatever is around them', () => {
    const word = fc.stringMatching(/^[a-z0-9.+_-]{1,64}$/);
    fc.assert(
      fc.property(fc.string(), word, word, fc.string(), (before, local, domain, after) => {
        const { body } = answer(`${before} ${local}@${domain} ${after}\0`);
        return !body.includes(`${local}@${domain}`) && !body.includes('\0');
      }),
    );
  });

  it('takes no longer for a text that is made to be slow', () => {
    expect(answer('a'.repeat(64).repeat(64)).body).toHaveLength(4_096);
    expect(answer('@'.repeat(4_096)).body).toHaveLength(4_096);
  });
});
