import { pickAccount } from './server-user';

const ROOT = 'root:x:0:0:root:/root:/bin/bash';
const NOBODY = 'nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin';

describe('pickAccount', () => {
  it('prefers an account made for it', () => {
    const passwd = [ROOT, NOBODY, 'node:x:1000:1000::/home/node:/bin/bash', 'postgres:x:101:104::/:/bin/sh', ''];
    expect(pickAccount(passwd.join('\n'))).toEqual({ uid: 101, gid: 104 });
    expect(pickAccount(passwd.slice(0, 3).join('\n'))).toEqual({ uid: 1000, gid: 1000 });
    expect(pickAccount(passwd.slice(0, 2).join('\n'))).toEqual({ uid: 65534, gid: 65533 });
  });

  it('never answers root, not even under another name', () => {
    expect(pickAccount(`${ROOT}\npostgres:x:0:0::/:/bin/sh`)).toBeUndefined();
    expect(pickAccount('')).toBeUndefined();
  });
});
