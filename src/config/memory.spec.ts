import { loadConfig } from './load-config';
import { memoryNeeded, memoryShortage } from './memory';

const MIB = 1024 * 1024;
const MASTER_KEY = Buffer.alloc(32).toString('base64');
const EXTERNAL = { DATABASE_URL: 'postgres://h/db' };

const load = (env: NodeJS.ProcessEnv) => loadConfig({ MASTER_KEY, ...EXTERNAL, ...env });
const loadEmbedded = (env: NodeJS.ProcessEnv) => loadConfig({ MASTER_KEY, ...env });
const needed = (env: NodeJS.ProcessEnv) => Math.round(memoryNeeded(load(env)) / MIB);

describe('the memory of a process', () => {
  it('is what its roles hold of large mail', () => {
    expect(needed({ WAYBILL_ROLES: 'api' })).toBe(764);
    expect(needed({ WAYBILL_ROLES: 'api', BODY_MEMORY_MB: '128' })).toBe(636);
    expect(needed({ WAYBILL_ROLES: 'submission', BODY_MEMORY_MB: '128' })).toBe(342);
    expect(needed({ WAYBILL_ROLES: 'worker', WORKER_MEMORY_MB: '512' })).toBe(662);
    expect(needed({ WAYBILL_ROLES: 'dns' })).toBe(150);
  });

  it('counts an embedded Postgres', () => {
    const config = loadEmbedded({ WAYBILL_ROLES: 'worker', EMBEDDED_SHARED_BUFFERS_MB: '64' });
    expect(memoryNeeded(config)).toBe((150 + 256 + 100 + 64) * MIB);
  });

  it('is said to be short where the system has less', () => {
    const config = load({ WAYBILL_ROLES: 'api' });
    expect(memoryShortage(config, 512 * MIB)).toMatch(
      /^Large mail may take up to 764 MB here, and there are 512: .*lower BODY_MEMORY_MB and WORKER_MEMORY_MB$/,
    );
    expect(memoryShortage(config, 1024 * MIB)).toBeUndefined();
  });

  it('lends the embedded database half of the memory at most', () => {
    const buffersOf = (size: string) => loadEmbedded(size === '' ? {} : { EMBEDDED_SHARED_BUFFERS_MB: size }).database;
    jest.spyOn(process, 'constrainedMemory').mockReturnValue(1_024 * 1_024 * 1_024);
    expect(buffersOf('')).toMatchObject({ embeddedSharedBuffersMegabytes: 32 });
    expect(buffersOf('512')).toMatchObject({ embeddedSharedBuffersMegabytes: 512 });
    expect(() => buffersOf('513')).toThrow('EMBEDDED_SHARED_BUFFERS_MB must be at most 512, half of the memory here');
    expect(load({ EMBEDDED_SHARED_BUFFERS_MB: '513', DATABASE_URL: 'postgres://h/db' }).database.url).toBeDefined();
    jest.spyOn(process, 'constrainedMemory').mockReturnValue(40 * 1_024 * 1_024);
    expect(buffersOf('')).toMatchObject({ embeddedSharedBuffersMegabytes: 32 });
  });
});
