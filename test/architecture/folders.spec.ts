import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const SCRIPT = path.join(ROOT, 'scripts/architecture.mjs');

/** Runs the check of the folders in a folder that holds `src`. */
function check(cwd: string) {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd, encoding: 'utf8' });
  return { status, stderr };
}

describe('folders', () => {
  let scratch: string;
  beforeEach(() => (scratch = mkdtempSync(path.join(tmpdir(), 'folders-'))));
  afterEach(() => rmSync(scratch, { recursive: true }));

  function write(files: Record<string, string>): void {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(scratch, file)), { recursive: true });
      writeFileSync(path.join(scratch, file), text);
    }
  }

  it('import in one direction', () => {
    expect(check(ROOT)).toEqual({ status: 0, stderr: '' });
  });

  it('that import each other are named, with the imports and what to do', () => {
    write({
      'src/a/one.ts': `import type { Two } from './inner/two';`,
      'src/a/inner/two.ts': `import { one } from '../one';`,
    });
    const { status, stderr } = check(scratch);
    expect(status).toBe(1);
    expect(stderr).toContain('src/a/one.ts imports src/a/inner/two.ts');
    expect(stderr).toContain('src/a/inner/two.ts imports src/a/one.ts');
    expect(stderr).toContain('Move the shared type');
  });

  it('and their own dto/ and sql/ are one; tests do not count', () => {
    write({
      'src/a/one.ts': `import { Dto } from './dto/one.dto';`,
      'src/a/dto/one.dto.ts': `import type { One } from '../one';`,
      'src/b/b.ts': 'export const b = 1;',
      'src/b/b.spec.ts': `import { one } from '../a/one';`,
      'src/a/three.ts': `import { b } from '../b/b';`,
    });
    expect(check(scratch).status).toBe(0);
  });
});
