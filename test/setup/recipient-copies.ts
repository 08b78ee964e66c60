import { generateKeyPairSync } from 'node:crypto';
import { dkimVerify } from 'mailauth/lib/dkim/verify';
import { loadConfig } from '../../src/config/load-config';
import type { ClaimedDelivery, EmailKey } from '../../src/delivery/ports/delivery';
import {
  type MessageBody,
  MessageSource,
  type OutgoingMessage,
  type SigningKey,
} from '../../src/delivery/ports/sources';
import { ByteBudget } from '../../src/delivery/compose/byte-budget';
import { MessageComposer } from '../../src/delivery/compose/message-composer';
import { FakeClock } from '../doubles/fake-clock';
import { message, PIXEL } from '../factories/composed-messages';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const signingKey: SigningKey = { domain: 'mail.example', selector: 's1', privateKey };
export const masterKey = Buffer.alloc(32, 7);
export const clock = new FakeClock('2027-03-04T05:06:08Z');

class OneAttachment extends MessageSource {
  readonly bodies = new Map<string, MessageBody>();

  load = () => Promise.resolve(new Map());
  findBlocked = () => Promise.resolve(new Map());
  loadBody = ({ emailId }: EmailKey) => Promise.resolve(this.bodies.get(emailId) ?? {});
  loadRaw = () => Promise.reject(new Error('There is none'));
  loadAttachments = () => Promise.resolve([{ filename: 'a.png', contentType: 'image/png', content: PIXEL }]);
}

const SOURCE = new OneAttachment();

export function newCopies(publicUrl = 'https://mail.example.org/base/'): MessageComposer {
  const config = loadConfig({ MASTER_KEY: masterKey.toString('base64'), PUBLIC_URL: publicUrl });
  return new MessageComposer(SOURCE, new ByteBudget(config.delivery.workerMemoryBytes), config, clock);
}

/** A delivery of bulk mail, unless the fields say otherwise. */
export function claimOf(position: number, fields: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  const { organizationId, mode, emailId, domainId } = message();
  const times = { claimedAt: clock.now(), firstDueAt: new Date('2027-03-04T05:06:07Z'), expiresAt: null };
  const base = { organizationId, mode, emailId, position, domainId, category: 'bulk' as const, ...times };
  const recipient = { recipient: `r${position}@b.example`, destination: 'b.example' };
  return {
    ...base,
    ...recipient,
    attempt: 1,
    crashes: 0,
    refusals: 0,
    sessionId: 's',
    claimToken: 1,
    traceContext: null,
    ...fields,
  };
}

interface Wanted {
  readonly claim?: ClaimedDelivery;
  readonly copies?: MessageComposer;
  readonly fields?: Partial<OutgoingMessage>;
  readonly key?: SigningKey;
}

/** The bytes of one recipient's message, from the organization with the number 7. */
export async function bytesOf(wanted: Wanted): Promise<Buffer> {
  const { claim = claimOf(0), copies = newCopies(), fields, key = signingKey } = wanted;
  const outgoing = message(fields);
  const { emailId, html, text, attachmentBytes } = outgoing;
  SOURCE.bodies.set(emailId, { ...(html !== undefined && { html }), ...(text !== undefined && { text }) });
  const prepared = copies.prepare({
    claim,
    message: { ...outgoing, isBodyLoaded: attachmentBytes === 0 },
    key,
    ordinal: 7,
  });
  const bytes = await prepared.use((signed) => Promise.resolve(signed.bytes));
  prepared.drop();
  return bytes;
}

/** The values of all header fields of a name, unfolded. */
export function fieldsOf(bytes: Buffer, name: string): string[] {
  const [header = ''] = bytes.toString('latin1').split('\r\n\r\n');
  const fields = header.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const start = `${name.toLowerCase()}: `;
  return fields.filter((field) => field.toLowerCase().startsWith(start)).map((field) => field.slice(start.length));
}

export async function dkimResult(bytes: Buffer): Promise<string> {
  const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
  const { results } = await dkimVerify(bytes, { resolver: () => Promise.resolve([[record]]), curTime: clock.now() });
  expect(results).toHaveLength(1);
  return results[0]!.status.result;
}
