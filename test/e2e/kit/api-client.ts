import { waitFor } from '../../setup/wait-for';

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
}

/** Calls the API as a client does. */
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
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Sends one email and answers its id. */
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

  /** Waits until the email has one of the statuses, and answers it. */
  waitForStatus(id: string, ...statuses: string[]): Promise<any> {
    return waitFor(
      async () => {
        const email = await this.email(id);
        return statuses.includes(email.status) ? email : undefined;
      },
      { what: `email ${id} to be ${statuses.join(' or ')}`, timeoutMs: 20_000 },
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(await this.email(id))}`);
    });
  }
}

export const eventTypes = (email: { events: { eventType: string }[] }) => email.events.map((event) => event.eventType);
