import { addSuppression } from '../../factories/tenants';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start();
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
});

const PATH = '/v1/suppressions';

async function addBatch(entries: unknown): Promise<any> {
  const { status, body } = await acme.api.post(`${PATH}/batch`, entries);
  expect(status).toBe(201);
  return body.data;
}

const entry = (email: unknown, fields: object = {}) => ({ email, reason: 'manual', ...fields });
const added = (index: number) => ({ index, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
const exists = (index: number) => ({ index, code: 'suppression_exists', error: expect.any(String) });

describe('POST /v1/suppressions/batch', () => {
  it('returns a result for each entry, in order', async () => {
    await addSuppression(app.db, { organizationId: acme.organizationId } as never, {
      email: 'known@x.example',
      reason: 'manual',
    });
    const answer = await addBatch([
      entry('a@x.example', { notes: 'imported' }),
      entry('no address'),
      entry('known@x.example'),
      entry('A@X.example'),
      entry('a@x.example', { reason: 'unsubscribe' }),
      null,
      entry('b@x.example', { reason: 'hard_bounce', colour: 'red' }),
      entry('c@x.example', { notes: '\0' }),
      entry('known@x.example', { reason: 'unsubscribe' }),
    ]);
    const invalid = (index: number, ...fields: string[]) => ({
      index,
      code: 'invalid_request',
      error: 'Request validation failed',
      details: { validation: Object.fromEntries(fields.map((field) => [`${index}.${field}`, [expect.any(String)]])) },
    });
    expect(answer).toEqual({
      data: [
        added(0),
        invalid(1, 'email'),
        exists(2),
        exists(3),
        added(4),
        invalid(5, 'body'),
        invalid(6, 'reason', 'colour'),
        invalid(7, 'notes'),
        added(8),
      ],
      summary: { total: 9, successful: 3, failed: 6 },
    });
    const { body } = await acme.api.get(PATH);
    expect(body.data.map(({ email, reason }: any) => `${email} ${reason}`).sort()).toEqual([
      'a@x.example manual',
      'a@x.example unsubscribe',
      'known@x.example manual',
      'known@x.example unsubscribe',
    ]);
    expect(body.data.find(({ id }: any) => id === answer.data[0].id)).toMatchObject({ notes: 'imported' });
    expect(await app.audit(acme.organizationId)).toEqual([
      {
        actor: acme.keyId,
        action: 'suppression.imported',
        target_id: acme.organizationId,
        data: { mode: 'live', added: 3 },
      },
    ]);
  });

  it('writes nothing down when nothing was added', async () => {
    await addBatch([entry('bad')]);
    expect(await app.audit(acme.organizationId)).toEqual([]);
  });

  it('takes 1,000 entries with long notes', async () => {
    const notes = 'é'.repeat(500);
    const answer = await addBatch(Array.from({ length: 1_000 }, (_, n) => entry(`r${n}@x.example`, { notes })));
    expect(answer.summary).toEqual({ total: 1_000, successful: 1_000, failed: 0 });
    expect((await acme.api.get(`${PATH}?limit=1&offset=999`)).body.pagination).toEqual({
      total: 1_000,
      limit: 1,
      offset: 999,
      hasMore: false,
    });
  });

  it('shares entries out among batches at once, each to one of them', async () => {
    const entries = Array.from({ length: 200 }, (_, n) => entry(`r${n}@x.example`));
    const answers = await Promise.all([addBatch(entries), addBatch([...entries].reverse()), addBatch(entries)]);
    expect(answers.reduce((sum, { summary }) => sum + summary.successful, 0)).toBe(200);
    expect((await acme.api.get(PATH)).body.pagination.total).toBe(200);
  });
});
