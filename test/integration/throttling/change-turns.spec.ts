import { randomUUID } from 'node:crypto';
import { BodyBudget } from '../../../src/common/http/request/request-body';
import { DkimKeyGenerator } from '../../../src/modules/domains/dkim/dkim-keyring';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { EmailsRepository } from '../../../src/modules/emails/emails.repository';
import { waitFor } from '../../setup/wait-for';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
let other: Owner;
beforeAll(async () => (app = await DomainsApp.start({ DATABASE_POOL_SIZE: '10' })));
afterAll(() => app.close());
beforeEach(async () => ([acme, other] = [await app.owner(), await app.owner('Other')]));

/** Calls that have begun, and end when the test ends them. */
class Held {
  begun = 0;
  readonly released: Promise<void>;
  release: () => void = () => undefined;

  constructor() {
    this.released = new Promise((resolve) => (this.release = resolve));
  }

  async pass(): Promise<void> {
    this.begun += 1;
    await this.released;
  }
}

/** An email of `owner` with an attachment of so many bytes. */
async function emailOf(owner: Owner, bytes: number): Promise<string> {
  const domains = app.get(DomainsService);
  const { id, domain } = await domains.add(owner.organizationId, `${randomUUID()}.example`);
  await domains.markVerified(owner.organizationId, id);
  const content = Buffer.alloc(bytes, 7).toString('base64');
  return owner.api.send({
    ...{ from: `ada@${domain}`, to: ['eve@example.com'], subject: 'Hello', text: 'Hello' },
    attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', content }],
  });
}

/** The keys of domains and the contents of emails that are sent again: what a change without a body may cost. */
describe('changes that take long', () => {
  it('are some at a time of an organization that adds domains, and another one adds its own', async () => {
    const held = new Held();
    const { generate } = DkimKeyGenerator.prototype;
    jest.spyOn(DkimKeyGenerator.prototype, 'generate').mockImplementation(async function made(
      this: DkimKeyGenerator,
      organizationId,
    ) {
      if (organizationId === acme.organizationId) await held.pass();
      return generate.call(this, organizationId);
    });
    const add = ({ api }: Owner) => api.post('/v1/domains', { domain: `${randomUUID()}.example` });
    const all = Promise.all(Array.from({ length: 12 }, () => add(acme)));
    await waitFor(() => held.begun === 3, { what: 'three that have begun' });
    expect((await add(other)).status).toBe(201);
    expect((await other.api.get('/v1/domains')).status).toBe(200);
    expect(held.begun).toBe(3);
    held.release();
    expect((await all).map(({ status }) => status)).toEqual(Array(12).fill(201));
  });

  it('are some at a time of an organization that sends emails again', async () => {
    const id = await emailOf(acme, 10);
    const held = new Held();
    const emails = app.get(EmailsRepository);
    const load = emails.loadAttachments.bind(emails);
    jest.spyOn(emails, 'loadAttachments').mockImplementation(async (key) => {
      await held.pass();
      return load(key);
    });
    const all = Promise.all(Array.from({ length: 12 }, () => acme.api.post(`/v1/emails/${id}/resend`)));
    await waitFor(() => held.begun === 3, { what: 'three that have begun' });
    const added = await other.api.post('/v1/domains', { domain: `${randomUUID()}.example` });
    expect(added.status).toBe(201);
    expect(held.begun).toBe(3);
    held.release();
    expect((await all).map(({ status }) => status)).toEqual(Array(12).fill(202));
  });

  it('hold memory for what is sent again, as the send did', async () => {
    const id = await emailOf(acme, 300_000);
    const take = jest.spyOn(BodyBudget.prototype, 'take');
    expect((await acme.api.post(`/v1/emails/${id}/resend`)).status).toBe(202);
    expect(take).toHaveBeenCalledWith(acme.organizationId, 300_000 + 'Hello'.length);
    take.mockReturnValueOnce(false);
    expect((await acme.api.post(`/v1/emails/${id}/resend`)).status).toBe(503);
  });
});
