import { createServer } from 'node:net';
import { findFreePort, serverOptions } from './administration';

describe('serverOptions', () => {
  it('lets a setting replace a default, but not where the server listens', () => {
    const options = serverOptions(5433, { shared_buffers: '64MB', listen_addresses: '*', work_mem: '8MB' });
    expect(options).toContain('-c "shared_buffers=64MB"');
    expect(options).toContain('-c "work_mem=8MB"');
    expect(options).toContain('-c "listen_addresses=127.0.0.1"');
    expect(options).toContain('-c "unix_socket_directories="');
    expect(options).toContain('-c "port=5433"');
    expect(options).not.toContain('*');
  });

  it.each(['"', '$(id)', '`id`', "it's", 'a\nb', '\\', '%PATH%'])('refuses the value %j', (value) => {
    expect(() => serverOptions(5433, { work_mem: value })).toThrow('cannot be passed on');
  });
});

describe('findFreePort', () => {
  it('takes the preferred one if it is free, else another', async () => {
    const free = await findFreePort(undefined);
    await expect(findFreePort(free)).resolves.toBe(free);

    const occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(free, '127.0.0.1', resolve));
    const other = await findFreePort(free);
    await new Promise((resolve) => occupant.close(resolve));
    expect(other).toBeGreaterThan(0);
    expect(other).not.toBe(free);
  });
});
