import { allows, findClosedComponent, pickAccount } from './server-user';

const ROOT = 'root:x:0:0:root:/root:/bin/bash';
const NOBODY = 'nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin';

describe('pickAccount', () => {
  it('prefers an account made for it', () => {
    const passwd = [ROOT, NOBODY, 'node:x:1000:1000::/home/node:/bin/bash', 'postgres:x:101:104::/:/bin/sh', ''];
    expect(pickAccount(passwd.join('\n'))).toEqual({ uid: 101, gid: 104 });
    expect(pickAccount(passwd.slice(0, 3).join('\n'))).toEqual({ uid: 1000, gid: 1000 });
    expect(pickAccount(passwd.slice(0, 2).join('\n'))).toEqual({ uid: 65534, gid: 65533 });
  });

  it('never returns root, not even under another name', () => {
    expect(pickAccount(`${ROOT}\npostgres:x:0:0::/:/bin/sh`)).toBeUndefined();
    expect(pickAccount('')).toBeUndefined();
  });
});

const user = { uid: 101, gid: 104 };
const file = (mode: number, uid = 0, gid = 0): { uid: number; gid: number; mode: number } => ({ uid, gid, mode });

describe('allows', () => {
  it.each([
    ['the owner', file(0o500, 101), 5, true],
    ['the owner, although others may', file(0o077, 101, 104), 1, false],
    ['the group', file(0o050, 0, 104), 5, true],
    ['the group, although others may', file(0o705, 0, 104), 5, false],
    ['others', file(0o711), 1, true],
    ['others, who may pass but not read', file(0o711), 5, false],
    ['nobody', file(0o700), 1, false],
  ])('looks at the first class that fits: %s', (_who, stats, bits, expected) => {
    expect(allows(stats, user, bits)).toBe(expected);
  });
});

describe('findClosedComponent', () => {
  const tree: Record<string, number> = {
    '/': 0o755,
    '/srv': 0o711,
    '/srv/app': 0o711,
    '/private': 0o700,
    '/private/app': 0o755,
    '/srv/app/program': 0o755,
    '/srv/app/secret': 0o600,
  };
  const readMode = (name: string): Promise<ReturnType<typeof file>> => {
    const mode = tree[name];
    return mode === undefined ? Promise.reject(new Error(`no ${name}`)) : Promise.resolve(file(mode));
  };

  it.each([
    ['/', 'enter', undefined],
    ['/srv/app', 'enter', undefined],
    ['/srv/app', 'read-and-enter', '/srv/app'],
    ['/srv/app/program', 'read-and-enter', undefined],
    ['/srv/app/secret', 'read', '/srv/app/secret'],
    ['/private', 'enter', '/private'],
    ['/private/app', 'enter', '/private'],
  ] as const)('walks %s to %s: stopped by %s', async (target, access, expected) => {
    await expect(findClosedComponent(target, user, access, readMode)).resolves.toBe(expected);
  });

  it('does not hide a path that does not exist', async () => {
    await expect(findClosedComponent('/srv/gone', user, 'enter', readMode)).rejects.toThrow('no /srv/gone');
  });
});
