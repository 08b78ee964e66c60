import type { OpenAPIObject } from '@nestjs/swagger';
import { type ReceivedResponse, ResponseSchemas } from '../../setup/response-schemas';
import { waitFor } from '../../setup/wait-for';

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
}

/** One for each document that a process of this test run serves: to compile their schemas is dear. */
const known = new Map<string, ResponseSchemas>();
/** By port, so that each process is queried once; undefined for one that serves no document. */
const served = new Map<number, { file: string | undefined; schemas: Promise<ResponseSchemas | undefined> }>();

async function schemasOf(port: number): Promise<ResponseSchemas | undefined> {
  // Another test file's process may have had the same port.
  const { testPath: file } = expect.getState();
  let entry = served.get(port);
  if (entry?.file !== file) served.set(port, (entry = { file, schemas: fetchSchemas(port) }));
  return entry?.schemas.catch(() => {
    // It could not be reached: the next call may be luckier.
    served.delete(port);
    return undefined;
  });
}

async function fetchSchemas(port: number): Promise<ResponseSchemas | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/openapi.json`);
  if (response.status === 404) return undefined;
  const text = await response.text();
  const schemas = known.get(text) ?? new ResponseSchemas(JSON.parse(text) as OpenAPIObject);
  known.set(text, schemas);
  return schemas;
}

/** Calls the API as a client does, and holds each response against the OpenAPI document. */
export class ApiClient {
  constructor(
    private readonly port: number,
    private readonly key: string | undefined,
  ) {}

  as(key: string | undefined): ApiClient {
    return new ApiClient(this.port, key);
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, body, headers);
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.call('PATCH', path, body);
  }

  delete(path: string): Promise<Answer> {
    return this.call('DELETE', path);
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: {
        ...(this.key !== undefined && { authorization: `Bearer ${this.key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const parsed: unknown = isJson ? JSON.parse(text) : text;
    await this.check({
      method,
      path: path.replace(/\?.*/, ''),
      status: response.status,
      body: isJson ? parsed : undefined,
    });
    return { status: response.status, headers: response.headers, body: parsed };
  }

  /** Every response of the service has to be as its own document says. */
  private async check(response: ReceivedResponse): Promise<void> {
    const schemas = await schemasOf(this.port);
    const problems = schemas?.problemsOf(response) ?? [];
    if (problems.length > 0) {
      throw new Error(`Not as documented: ${problems.join('; ')} ${JSON.stringify(response.body)}`);
    }
  }

  /** Sends one email and returns its id. */
  async send(fields: Record<string, unknown> = {}): Promise<string> {
    const email = { to: ['someone@example.com'], subject: 'Hello', text: 'Hello there', ...fields };
    const { status, body } = await this.post('/v1/emails', email);
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body.data.id;
  }

  async email(id: string): Promise<any> {
    const { status, body } = await this.get(`/v1/emails/${id}`);
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body.data;
  }

  /** Waits until the email has one of the statuses, and returns it. */
  waitForStatus(id: string, ...statuses: string[]): Promise<any> {
    return this.waitForEmail(id, `to be ${statuses.join(' or ')}`, ({ status }) => statuses.includes(status));
  }

  /** Waits until the email has an event of the type, and returns it. */
  waitForEvent(id: string, type: string): Promise<any> {
    return this.waitForEmail(id, `to have an event ${type}`, (email) => eventTypes(email).includes(type));
  }

  private waitForEmail(id: string, what: string, isSo: (email: any) => boolean): Promise<any> {
    return waitFor(
      async () => {
        const email = await this.email(id);
        return isSo(email) ? email : undefined;
      },
      { what: `email ${id} ${what}` },
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(await this.email(id))}`);
    });
  }
}

export const eventTypes = (email: { events: { eventType: string }[] }) => email.events.map((event) => event.eventType);
