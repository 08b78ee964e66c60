export interface ConsoleResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

/** A browser as far as cookies go: it keeps what it is given, and sends it with the console's header. */
export class Browser {
  cookie: string | undefined;

  constructor(private readonly port: number) {}

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ConsoleResponse> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: {
        'x-waybill-console': '1',
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const given = response.headers.get('set-cookie')?.split(';')[0];
    if (given !== undefined) this.cookie = given.endsWith('=') ? undefined : given;
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  signIn(credential: object): Promise<ConsoleResponse> {
    return this.call('POST', '/console/session', credential);
  }

  emails(): Promise<ConsoleResponse> {
    return this.call('GET', '/v1/emails');
  }
}
