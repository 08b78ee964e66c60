import {
  bytesOf,
  claimOf,
  clock,
  dkimResult,
  fieldsOf,
  masterKey,
  newCopies,
} from '../../../test/setup/recipient-copies';
import { expectSound, message } from '../../../test/factories/composed-messages';
import { HOUR } from '../../common/clock';
import { RecipientLink } from '../tokens/recipient-link';

const { emailId } = message();

const tokenOf = (bytes: Buffer) =>
  /^<https:\/\/mail\.example\.org\/base\/u\/([\w-]+)>/.exec(fieldsOf(bytes, 'List-Unsubscribe').join())?.[1] ?? '';

describe('bulk mail', () => {
  it.each([0, 100])('with %s bytes of attachments has a link for each recipient under its signature', async (size) => {
    const copies = newCopies();
    const claims = [claimOf(0), claimOf(1)];
    const sent = await Promise.all(
      claims.map((claim) => bytesOf({ claim, copies, fields: { attachmentBytes: size } })),
    );
    for (const [position, bytes] of sent.entries()) {
      expectSound(bytes);
      expect(new RecipientLink(masterKey).open('unsubscribe', tokenOf(bytes))).toEqual({
        organizationOrdinal: 7,
        mode: 'live',
        emailId,
        position,
      });
      expect(fieldsOf(bytes, 'List-Unsubscribe-Post')).toEqual(['List-Unsubscribe=One-Click']);
      expect(bytes.includes('image/png')).toBe(size > 0);
      expect(await dkimResult(bytes)).toBe('pass');
    }
    expect(tokenOf(sent[0]!)).not.toBe(tokenOf(sent[1]!));
  });

  it.each(['List-Unsubscribe: <https://evil.example/>', 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'])(
    'does not verify with one more %s',
    async (field) => {
      const bytes = await bytesOf({});
      expect(await dkimResult(bytes)).toBe('pass');
      expect(await dkimResult(Buffer.concat([Buffer.from(`${field}\r\n`), bytes]))).not.toBe('pass');
    },
  );

  it('is the same at every attempt, in every process', async () => {
    const first = await bytesOf({});
    clock.advance(HOUR);
    expect(await bytesOf({ claim: claimOf(0, { attempt: 2, claimToken: 9, sessionId: 'other' }) })).toEqual(first);
  });

  it('keeps the link of the customer, however it is spelled, and adds none', async () => {
    const headers = { 'list-UNSUBSCRIBE': '<mailto:leave@shop.example>' };
    const copies = newCopies();
    const sent = await Promise.all(
      [0, 1].map((position) => bytesOf({ claim: claimOf(position), copies, fields: { headers } })),
    );
    expect(fieldsOf(sent[0]!, 'List-Unsubscribe')).toEqual(['<mailto:leave@shop.example>']);
    expect(fieldsOf(sent[0]!, 'List-Unsubscribe-Post')).toEqual([]);
    expect(sent[1]).toBe(sent[0]);
  });

  it('never has two fields of one name', async () => {
    const bytes = await bytesOf({ fields: { headers: { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } } });
    expect(tokenOf(bytes)).toHaveLength(56);
    expect(fieldsOf(bytes, 'List-Unsubscribe-Post')).toEqual(['List-Unsubscribe=One-Click']);
  });

  it('has a link without https, too, in ASCII', async () => {
    const bytes = await bytesOf({ copies: newCopies('http://bücher.example:8080/') });
    expect(fieldsOf(bytes, 'List-Unsubscribe').join()).toMatch(
      /^<http:\/\/xn--bcher-kva\.example:8080\/u\/[\w-]{56}>, <mailto:u\+[a-z2-7]{55}@mail\.waybill\.test\?subject=unsubscribe>$/,
    );
  });
});

describe('transactional mail', () => {
  it('has no link, and its recipients share one message', async () => {
    const copies = newCopies();
    const claims = [0, 1].map((position) => claimOf(position, { category: 'transactional' }));
    const [first, second] = await Promise.all(claims.map((claim) => bytesOf({ claim, copies })));
    expect(fieldsOf(first!, 'List-Unsubscribe')).toEqual([]);
    expect(second).toBe(first);
    expect(await dkimResult(first!)).toBe('pass');
  });
});
