import { AddressFinder } from '../../../common/erasure/address-finder';
import { eraseContent, eraseEventData, eraseHead, type SubjectIn } from './erase-texts';
import type { ErasableContent } from './sql/erase-contents.sql';
import type { EmailHead } from './sql/erase-emails.sql';

const ANN = 'ann@x.example';
const BOB = 'bob@y.example';
const GONE = '[erased]';
const subject = (position: number | null = 1): SubjectIn => ({
  keys: [ANN],
  finder: new AddressFinder(ANN),
  position,
});
const head = (changes: Partial<EmailHead> = {}): EmailHead => ({
  from_email: BOB,
  from_name: `for ${ANN}`,
  subject: `Hello ${ANN}`,
  to_emails: ['ANN@x.example', BOB],
  cc_emails: [BOB, ANN],
  bcc_emails: [ANN],
  reply_to: [ANN, BOB],
  tags: [`to:${ANN}`, 'other'],
  metadata: { who: ANN, n: 1 },
  ...changes,
});

describe('the head of an email', () => {
  it('of several recipients loses the subject, and nothing else', async () => {
    const erased = await eraseHead(head(), subject(), true);
    expect(erased).toEqual({
      from_email: BOB,
      from_name: `for ${GONE}`,
      subject: `Hello ${GONE}`,
      to_emails: [placeholder(1), BOB],
      cc_emails: [BOB, placeholder(1)],
      bcc_emails: [placeholder(1)],
      reply_to: ['erased@erased.invalid', BOB],
      tags: [`to:${GONE}`, 'other'],
      metadata: { who: GONE, n: 1 },
    });
  });

  it('of one recipient keeps nothing of what it said', async () => {
    expect(await eraseHead(head(), subject(), false)).toMatchObject({ subject: GONE, tags: null, metadata: null });
  });

  it('keeps what is not there', async () => {
    const none = { cc_emails: null, bcc_emails: null, reply_to: null, tags: null, from_name: null, metadata: null };
    expect(await eraseHead(head(none), subject(), true)).toMatchObject(none);
    expect((await eraseHead(head({ reply_to: [ANN] }), subject(), true)).reply_to).toEqual(['erased@erased.invalid']);
  });

  it('says of a sender only the domain', async () => {
    const erased = await eraseHead(head({ from_email: 'Ann@x.example', from_name: 'Ann' }), subject(), true);
    expect(erased).toMatchObject({ from_email: 'erased@x.example', from_name: null });
  });

  it('counts one that is no recipient as the first', async () => {
    expect((await eraseHead(head(), subject(null), true)).to_emails).toEqual([placeholder(0), BOB]);
  });
});

describe('what others still get', () => {
  const content = (changes: Partial<ErasableContent> = {}): ErasableContent => ({
    html: `<p>${ANN}</p>`,
    text: `Dear ${ANN}`,
    headers: { 'X-For': ANN },
    addressees: {
      to: [
        { email: ANN, name: 'Ann' },
        { email: BOB, name: `of ${ANN}` },
      ],
      cc: [{ email: 'ANN@X.example', name: null }],
      replyTo: [{ email: BOB, name: null }],
    } as unknown as ErasableContent['addressees'],
    attachments: [
      { position: 0, filename: `${ANN}.pdf`, contentType: `text/plain; name=${ANN}`, contentId: `<${ANN}>` },
      { position: 1, filename: 'b.pdf', contentType: 'application/pdf', contentId: null },
    ],
    ...changes,
  });

  it('has no trace of the subject', async () => {
    const erased = await eraseContent(content(), subject());
    expect(erased).toEqual({
      html: `<p>${GONE}</p>`,
      text: `Dear ${GONE}`,
      headers: { 'X-For': GONE },
      addressees: { to: [{ email: BOB, name: `of ${GONE}` }], cc: [], replyTo: [{ email: BOB, name: null }] },
      attachments: [
        { position: 0, filename: `${GONE}.pdf`, contentType: 'application/octet-stream', contentId: `<${GONE}>` },
        { position: 1, filename: 'b.pdf', contentType: 'application/pdf', contentId: null },
      ],
    });
  });

  it('lacks what was not there', async () => {
    expect(await eraseContent(content({ html: null, text: null }), subject())).toMatchObject({
      html: null,
      text: null,
    });
  });
});

describe('an event', () => {
  const kept = {
    ...{ attempt: 1, automated: true, bounceType: 'hard', class: 'c', code: 550, countsAgainstSender: false },
    ...{ duplicate: true, enhancedCode: '5.1.1', method: 'm', nextAttemptAt: 'n', reason: 'r', ruleId: 'i' },
  };

  it('about the subject keeps what the statistics need, and no words', async () => {
    const data = {
      ...kept,
      recipient: 'Ann@x.example',
      response: 'no such user',
      detail: 'words',
      lines: [ANN],
      explanation: ANN,
    };
    expect(await eraseEventData({ eventType: 'bounced', data }, subject(2))).toEqual({
      ...kept,
      recipient: placeholder(2),
    });
  });

  it.each(['blocked', 'cancelled'] as const)('that is %s keeps why', async (eventType) => {
    const data = { recipient: ANN, detail: `because of ${ANN}`, explanation: 'on the list', response: 'words' };
    expect(await eraseEventData({ eventType, data }, subject())).toEqual({
      recipient: placeholder(1),
      detail: `because of ${GONE}`,
      explanation: 'on the list',
    });
  });

  it('about others loses the address only', async () => {
    const data = { recipient: BOB, response: `not ${ANN}`, detail: 'words' };
    expect(await eraseEventData({ eventType: 'bounced', data }, subject())).toEqual({
      ...data,
      response: `not ${GONE}`,
    });
    expect(await eraseEventData({ eventType: 'queued', data: { from: ANN } }, subject())).toEqual({ from: GONE });
    expect(await eraseEventData({ eventType: 'queued', data: { recipient: [ANN] } }, subject())).toEqual({
      recipient: [GONE],
    });
  });
});

function placeholder(position: number): string {
  return `erased-${position}@erased.invalid`;
}
