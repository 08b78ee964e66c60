import { randomBytes } from 'node:crypto';
import { deriveKey } from '../../../src/common/encryption/encryption';
import { ReturnPath } from '../../../src/delivery/tokens/return-path';
import { InboundApp, MAIL_HOST } from '../inbound-smtp/inbound-app';

const REPORT = 'Subject: Undelivered\r\n\r\nNo such user.';

describe('while the master key is being changed', () => {
  const previous = randomBytes(32);
  let app: InboundApp;
  beforeAll(async () => {
    app = await InboundApp.start({}, { MASTER_KEY_PREVIOUS: previous.toString('base64') });
  });
  afterAll(() => app.close());

  const issueUnder = (key: Buffer) => app.issue({}, 30, new ReturnPath(deriveKey(key, 'return-path'), app.clock));

  it('reports on mail that left under either key are taken, and under no third', async () => {
    for (const localPart of [app.issue(), issueUnder(previous)]) {
      expect(await app.deliver(`${REPORT} ${localPart}`, `${localPart}@${MAIL_HOST}`)).toMatch(/^250 /);
    }
    expect(await app.reports()).toHaveLength(2);
    const client = await app.client();
    await client.command('MAIL FROM:<>');
    expect(await client.command(`RCPT TO:<${issueUnder(randomBytes(32))}@${MAIL_HOST}>`)).toMatch(/^550 /);
  });
});
