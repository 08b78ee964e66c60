import { signWebhook } from './webhook-sender.service';

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
