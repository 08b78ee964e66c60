import { loopTurnsOf } from '../../../../test/setup/loop-turns';
import type { OrganizationsService } from '../../../auth/organizations/organizations.service';
import type { Clock } from '../../../common/clock';
import { AppError, UnavailableError } from '../../../common/errors/app-error';
import type { Tracing } from '../../../common/tracing/tracing';
import type { TemplateRenderer } from '../../templates/template-renderer.service';
import type { AcceptService } from './commit/accept.service';
import { SendEmailsService, type Submitter } from './send-emails.service';
import type { SenderResolver } from './sender-resolver.service';
import type { Submission } from './request/send-request';

const MIB = 1024 * 1024;
const TENANT: Submitter = { organizationId: 'o', mode: 'live' };
const EMAIL = { from: 'a@acme.test', to: ['b@example.com'], template: { name: 'large' } };

/** @param render what a template becomes */
function serviceWith(
  render: () => Promise<object>,
  submit: (submission: Submission) => Promise<object>,
): SendEmailsService {
  return new SendEmailsService(
    { submit } as unknown as AcceptService,
    { resolve: () => Promise.resolve({ id: 'd', name: 'acme.test' }) } as unknown as SenderResolver,
    { render, lookUp: () => Promise.resolve() } as unknown as TemplateRenderer,
    { settingsOf: () => Promise.resolve({}) } as unknown as OrganizationsService,
    { now: () => new Date() } as Clock,
    {} as Tracing,
  );
}

const batchOf = (count: number) => Array.from({ length: count }, () => EMAIL);
const numbered = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));

/** The items of a batch as they come to be accepted, with a template that makes a MiB. */
async function itemsOf(bodies: readonly unknown[], tenant = TENANT, key?: string): Promise<Submission['items']> {
  let items: Submission['items'] = [];
  const submit = (submission: Submission) => {
    items = submission.items;
    return Promise.resolve({ results: [], replayed: false });
  };
  const render = () => Promise.resolve({ subject: 's', html: 'x'.repeat(MIB), text: undefined, version: 1 });
  await serviceWith(render, submit).sendBatch(bodies, key, tenant);
  return items;
}

const submitted = (count: number, tenant = TENANT) => itemsOf(batchOf(count), tenant);

describe('what templates make of a batch', () => {
  it('is 32 MiB at most: the emails beyond are refused', async () => {
    const items = await submitted(40);
    const codes = items.map(({ candidate }) => (candidate.kind === 'refused' ? candidate.code : 'accepted'));
    expect(codes.slice(0, 32)).toEqual(Array(32).fill('accepted'));
    expect(codes.slice(32)).toEqual(Array(8).fill('template_render_failed'));
  });

  it('counts as memory of the request, and is too much where that is', async () => {
    let held = 0;
    const hold = (bytes: number): void => {
      held += bytes;
      if (held > 3 * MIB) throw new UnavailableError('Too much');
    };
    await submitted(3, { ...TENANT, hold });
    expect(held).toBe(3 * MIB);
    await expect(submitted(3, { ...TENANT, hold })).rejects.toThrow(UnavailableError);
  });
});

describe('batches of one organization', () => {
  it('are prepared and committed six at a time, their emails one after the other', async () => {
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    let [rendering, most, committing, mostCommitted] = [0, 0, 0, 0];
    const render = async () => {
      most = Math.max(most, (rendering += 1));
      await turn();
      rendering -= 1;
      return { subject: 's', html: 'x', text: undefined, version: 1 };
    };
    const submit = async () => {
      mostCommitted = Math.max(mostCommitted, (committing += 1));
      await turn();
      committing -= 1;
      return { results: [], replayed: false };
    };
    const service = serviceWith(render, submit);
    await Promise.all(Array.from({ length: 20 }, () => service.sendBatch(batchOf(3), undefined, TENANT)));
    expect([most, mostCommitted]).toEqual([6, 6]);
  });
});

describe('the reasons for which emails of a batch are refused', () => {
  const reasonsOf = (items: Submission['items']) =>
    items.map(({ candidate }) => (candidate.kind === 'refused' ? candidate.details?.validation : undefined));

  it('are all there in a usual batch', async () => {
    const wrong = { to: ['x'], subject: 5, tags: [1, 2], headers: { From: 'a' }, text: 't' };
    const reasons = reasonsOf(await itemsOf(Array(100).fill(wrong), TENANT, 'key'));
    for (const [index, validation] of reasons.entries()) {
      const fields = ['to[0]', 'subject', 'headers.From', 'tags[0]', 'tags[1]'].map((field) => `${index}.${field}`);
      expect(Object.keys(validation as object)).toEqual(fields);
    }
  });

  it.each([
    ['unknown fields', Array(9).fill(Object.fromEntries(numbered(50, (n) => [`${n}${'字'.repeat(62)}`, 1])))],
    ['no addresses', numbered(500, (n) => `no address ${n}`)],
  ])('are few in all, and one of each email in any case: %s', async (_what, to) => {
    const items = await itemsOf(Array(100).fill({ ...EMAIL, to }), TENANT, 'key');
    expect(Buffer.byteLength(JSON.stringify(items.map(({ candidate }) => candidate)))).toBeLessThan(160 * 1024);
    for (const [index, validation] of reasonsOf(items).entries()) {
      expect(Object.keys(validation as object).length).toBeGreaterThanOrEqual(2);
      expect(validation).toHaveProperty([`${index}.body`], ['body has further problems, which are not listed']);
    }
  });

  it('are few when they are those of templates', async () => {
    const names = numbered(50, (n) => `${n}`.padStart(200, 'x'));
    const error = new AppError('template_render_failed', 'Missing', {
      details: { validation: Object.fromEntries(names.map((name) => [name, [name, name]])) },
    });
    const service = serviceWith(
      () => Promise.reject(error),
      (submission) => {
        expect(JSON.stringify(submission.items.map(({ candidate }) => candidate)).length).toBeLessThan(200 * 1024);
        return Promise.resolve({ results: [], replayed: false });
      },
    );
    await service.sendBatch(batchOf(100), 'key', TENANT);
    expect.assertions(1);
  });
});

describe('a large batch', () => {
  const PLAIN = { from: 'a@acme.test', to: ['b@example.com'], subject: 's', text: 't' };

  it('lets others have their turn while its addresses are read', async () => {
    const to = Array.from({ length: 500 }, (_, index) => `a${index % 50}@example.com`);
    const bodies = Array(40).fill({ ...PLAIN, to });
    expect(await loopTurnsOf(() => itemsOf(bodies))).toBeGreaterThanOrEqual(8);
  });

  it('lets others have their turn while its attachments are decoded, and its key is bound to it', async () => {
    const content = 'QUJD'.repeat(MIB);
    const bodies = [{ ...PLAIN, attachments: [{ filename: 'a.txt', content }] }, PLAIN];
    let items: Submission['items'] = [];
    const turns = await loopTurnsOf(async () => (items = await itemsOf(bodies, TENANT, 'key')));
    const [first] = items;
    if (first?.candidate.kind !== 'command') throw new Error('was refused');
    expect(first.candidate.request.attachments[0]?.content.equals(Buffer.from('ABC'.repeat(MIB)))).toBe(true);
    // Sixteen pieces are decoded, and thirty-two hashed.
    expect(turns).toBeGreaterThanOrEqual(40);
  });

  it.each([
    ['no base64', 'QUJ-'.repeat(100_000), { code: 'invalid_request' }],
    ['too much', 'QUJD'.repeat(9 * MIB), { code: 'payload_too_large' }],
  ])('has the item refused whose attachment is %s', async (_what, content, refusal) => {
    const items = await itemsOf([{ ...PLAIN, attachments: [{ filename: 'a.txt', content }] }, PLAIN]);
    expect(items.map(({ candidate }) => candidate)).toMatchObject([refusal, { kind: 'command' }]);
  });
});
