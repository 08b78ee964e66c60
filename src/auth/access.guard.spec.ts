import type { ExecutionContext } from '@nestjs/common';
import { ApiKeyGuard } from './access.guard';

/** The guard with keys that are the names of their organizations. */
function guardOfAnyKey(): ApiKeyGuard {
  const verifier = { verify: (organizationId: string) => Promise.resolve({ organizationId, mode: 'live' }) };
  const [reflector, failures] = [
    { getAllAndOverride: () => undefined },
    { verify: (_request: unknown, _key: unknown, lookUp: () => unknown) => lookUp() },
  ];
  const dependencies = [reflector, verifier, {}, { tokenOf: () => undefined }, {}, failures];
  return new (ApiKeyGuard as unknown as new (...all: object[]) => ApiKeyGuard)(...dependencies);
}

/** A request of the one client address that a proxy has. */
function requestOf(organizationId: string): ExecutionContext {
  const request = { headers: { authorization: `Bearer ${organizationId}` }, ip: '192.0.2.1' };
  const http = { getRequest: () => request, getResponse: () => ({ setHeader: () => undefined }) };
  return { getHandler: () => requestOf, getClass: () => ApiKeyGuard, switchToHttp: () => http } as never;
}

describe('ApiKeyGuard', () => {
  it('lets organizations behind one client address begin in rotation', async () => {
    let nowMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const guard = guardOfAnyKey();
    const begun: string[] = [];
    const begin = async (organizationId: string) => {
      await guard.canActivate(requestOf(organizationId));
      begun.push(organizationId);
      // What the request takes of the event loop.
      nowMs += 1;
    };
    const requests: Promise<void>[] = [];
    // One after the other, in one turn of the event loop.
    for (const organizationId of [...Array<string>(40).fill('loud'), 'quiet', 'quiet']) {
      requests.push(begin(organizationId));
      for (let step = 0; step < 10; step += 1) await Promise.resolve();
    }
    await Promise.all(requests);
    clock.mockRestore();
    expect(begun).toHaveLength(42);
    expect(begun.lastIndexOf('quiet')).toBeLessThanOrEqual(6);
  });
});
