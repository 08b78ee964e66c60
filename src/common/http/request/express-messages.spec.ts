import { createServer, get, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request } from 'express';
import { expressMessages, standardHeaders } from './express-messages';
import { BodyBudget } from './request-body';

describe('a request', () => {
  let server: Server;
  afterEach(() => server.close());

  /** Serves one request by `handle`, and reads its response. */
  async function serve(handle: (request: Request, response: ServerResponse) => void): Promise<void> {
    server = createServer(expressMessages(express(), standardHeaders(false), new BodyBudget(1)));
    server.on('request', (request, response) => handle(request as unknown as Request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) =>
      get({ host: '127.0.0.1', port }, (response) => response.resume().once('end', resolve)),
    );
  }

  it('is responded to when its response begins, not when its client has read it', async () => {
    const seen: string[] = [];
    await serve((request, response) => {
      request.onResponded = () => seen.push('responded');
      seen.push('begins');
      response.write('a part');
      seen.push('goes on');
      response.end();
    });
    expect(seen).toEqual(['begins', 'responded', 'goes on', 'responded']);
  });
});
