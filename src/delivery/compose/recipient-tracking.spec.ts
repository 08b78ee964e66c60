import PostalMime from 'postal-mime';
import { expectSound, message } from '../../../test/factories/composed-messages';
import {
  bytesOf,
  claimOf,
  clock,
  dkimResult,
  fieldsOf,
  masterKey,
  newCopies,
  signingKey,
} from '../../../test/setup/recipient-copies';
import { HOUR } from '../../common/clock';
import type { OutgoingMessage } from '../ports/sources';
import { RecipientLink } from '../tokens/recipient-link';

const BASE = 'https://mail.example.org/base';
const HTML = '<p>Good day</p><a href="https://shop.example/?a=1&amp;b=2">Offer</a>';
const OFFER = 'https://shop.example/?a=1&b=2';
const tracked: Partial<OutgoingMessage> = { html: HTML, trackOpens: true, trackClicks: true };
const links = new RecipientLink(masterKey);
const transactional = (position: number) => claimOf(position, { category: 'transactional' });
const targetAt = (position: number) => ({
  organizationOrdinal: 7,
  mode: 'live',
  emailId: message().emailId,
  position,
});

/** Where the links of the html lead, and what its pixel asks for. */
async function readHtml(bytes: Buffer) {
  expectSound(bytes);
  const { html = '', text } = await PostalMime.parse(bytes);
  const valuesOf = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, value = '']) => value);
  return { html, text, links: valuesOf(/<a href="([^"]*)"/g), pixels: valuesOf(/<img src="([^"]*)" width="1"/g) };
}

/** What is known when a link is followed, or the pixel asked for. */
const clickOf = (link = '') => links.open('click', link.split('/t/c/')[1] ?? '');
const openOf = (pixel = '') => links.open('open', pixel.split('/t/o/')[1] ?? '');

describe('tracked mail', () => {
  it.each([0, 100])('with %s bytes of attachments is known by its recipient, under its signature', async (size) => {
    const copies = newCopies();
    const fields = { ...tracked, attachmentBytes: size };
    const claims = [transactional(0), transactional(1)];
    const sent = await Promise.all(claims.map((claim) => bytesOf({ claim, copies, fields })));
    for (const [position, bytes] of sent.entries()) {
      const read = await readHtml(bytes);
      expect(read.links).toEqual([expect.stringMatching(`^${BASE}/t/c/[\\w-]+$`)]);
      expect(read.pixels).toEqual([expect.stringMatching(`^${BASE}/t/o/[\\w-]{56}$`)]);
      expect(clickOf(read.links[0])).toEqual({ ...targetAt(position), url: OFFER });
      expect(openOf(read.pixels[0])).toEqual(targetAt(position));
      expect(bytes.includes('image/png')).toBe(size > 0);
      expect(await dkimResult(bytes)).toBe('pass');
    }
  });

  it('is the same at every attempt, in every process', async () => {
    const first = await bytesOf({ claim: transactional(0), fields: tracked });
    clock.advance(HOUR);
    const claim = { ...transactional(0), attempt: 2, claimToken: 9, sessionId: 'other' };
    expect(await bytesOf({ claim, fields: tracked })).toEqual(first);
  });

  it('may be bulk mail', async () => {
    const bytes = await bytesOf({ claim: claimOf(1), fields: tracked });
    const read = await readHtml(bytes);
    const token = /\/u\/([\w-]+)>/.exec(fieldsOf(bytes, 'List-Unsubscribe').join())?.[1] ?? '';
    expect(links.open('unsubscribe', token)).toEqual(targetAt(1));
    expect(clickOf(read.links[0])).toEqual({ ...targetAt(1), url: OFFER });
    expect(await dkimResult(bytes)).toBe('pass');
  });

  it.each([
    [{ trackOpens: false }, 1, 0],
    [{ trackClicks: false }, 0, 1],
  ])('may be tracked in part: %j', async (fields, clicks, opens) => {
    const read = await readHtml(await bytesOf({ claim: transactional(0), fields: { ...tracked, ...fields } }));
    expect(read.links.filter((link) => clickOf(link))).toHaveLength(clicks);
    expect(read.pixels.filter((pixel) => openOf(pixel))).toHaveLength(opens);
  });

  it('says as text what it would say without', async () => {
    const own = await readHtml(
      await bytesOf({ claim: transactional(0), fields: { ...tracked, text: `See ${OFFER}` } }),
    );
    expect(own.text).toBe(`See ${OFFER}\n`);
    const derived = await readHtml(await bytesOf({ claim: transactional(0), fields: { ...tracked, text: '' } }));
    expect(derived.text).toBe(`Good day\n\nOffer [${OFFER}]\n`);
  });

  it('leads over the host of the sender once there is one, at the port of the service', async () => {
    const key = { ...signingKey, trackingHost: 'click.mail.example' };
    const at = async (publicUrl: string) => {
      const read = await readHtml(await bytesOf({ copies: newCopies(publicUrl), key, fields: tracked }));
      return [...read.links, ...read.pixels].map((link) => link.slice(0, link.indexOf('/t/')));
    };
    expect(await at('https://mail.example.org/base')).toEqual(Array(2).fill('https://click.mail.example'));
    expect(await at('http://localhost:3000')).toEqual(Array(2).fill('http://click.mail.example:3000'));
  });
});

describe('of the links', () => {
  const linksIn = async (hrefs: readonly string[], fields: Partial<OutgoingMessage> = {}) => {
    const html = hrefs.map((href) => `<a href="${href}">x</a>`).join('');
    const key = { ...signingKey, trackingHost: 'click.mail.example' };
    return (await readHtml(await bytesOf({ key, fields: { ...tracked, html, ...fields } }))).links;
  };

  it('those to ourselves stay', async () => {
    const own = [
      `${BASE}/u/abc`,
      `${BASE}/t/c/abc`,
      'https://click.mail.example/u/abc',
      'https://CLICK.mail.example/t/o/a',
    ];
    expect(await linksIn(own)).toEqual(own);
  });

  it('those that unsubscribe stay', async () => {
    const headers = { 'list-UNSUBSCRIBE': '<mailto:leave@shop.example>, <https://Shop.example/leave?id=1&list=2>' };
    const [leave, other] = ['https://shop.example/leave?id=1&amp;list=2', 'https://shop.example/leave'];
    const [first, second] = await linksIn([leave, other], { headers });
    expect(first).toBe(leave);
    expect(clickOf(second)?.url).toBe(other);
  });

  it('those over 2,000 characters stay', async () => {
    const longest = 'https://shop.example/'.padEnd(2_000, 'x');
    const [first, second] = await linksIn([longest, `${longest}x`]);
    expect(clickOf(first)?.url).toBe(longest);
    expect(second).toBe(`${longest}x`);
  });
});

describe('mail that is not tracked', () => {
  it.each([
    ['when it is not wanted', { html: HTML }],
    ['without html', { trackOpens: true, trackClicks: true }],
    ['with empty html', { ...tracked, html: '' }],
  ])('%s is shared by its recipients as it is', async (_when, fields) => {
    const copies = newCopies();
    const claims = [transactional(0), transactional(1)];
    const [first, second] = await Promise.all(claims.map((claim) => bytesOf({ claim, copies, fields })));
    expect(second).toBe(first);
    const plain = { ...fields, trackOpens: false, trackClicks: false };
    expect(first).toEqual(await bytesOf({ claim: transactional(0), fields: plain }));
    expect((await PostalMime.parse(first!)).html ?? '').not.toContain(BASE);
  });
});
