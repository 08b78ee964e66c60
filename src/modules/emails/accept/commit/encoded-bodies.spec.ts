import type { AcceptedEmail } from '../request/send-request';
import { loopTurnsOf } from '../../../../../test/setup/loop-turns';
import { type EncodedBodies, encodedBodies } from './encoded-bodies';

const anEmail = (request: Partial<AcceptedEmail['command']['request']>): AcceptedEmail =>
  ({ command: { organizationId: 'acme', request } }) as AcceptedEmail;

describe('bodies for the database', () => {
  it('are encoded in pieces of a turn each, where they are long', async () => {
    // Surrogate pairs, of which a piece may not end in the middle.
    const html = `x${'😀'.repeat(1_000_000)}`;
    const [long, short] = [anEmail({ html, text: 'y'.repeat(1_000) }), anEmail({ html: '<p>', text: 'x' })];
    let encoded: EncodedBodies = new Map();
    const turns = await loopTurnsOf(async () => (encoded = await encodedBodies([long, short])));
    const { html: pieces = [], ...others } = encoded.get(long) ?? {};
    expect(Buffer.concat(pieces).equals(Buffer.from(html))).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(128 * 1024);
    expect(turns).toBeGreaterThanOrEqual(pieces.length);
    expect([encoded.size, others]).toEqual([1, {}]);
  });

  it('stay as they are where they are short', async () => {
    expect((await encodedBodies([anEmail({ html: '<p>' }), anEmail({ text: 'x' })])).size).toBe(0);
  });
});
