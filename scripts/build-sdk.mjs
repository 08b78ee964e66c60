// Builds sdk/: types and methods from the API's description, then JavaScript for import and for require. With `--sources`
// (`npm run types:sdk`) only the former, which the linter needs.
import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { compilerOf } from './build/compile.mjs';
import { buildDocument } from './sdk/document.mjs';
import { generateResources } from './sdk/generate.mjs';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const sdk = join(root, 'sdk');
const generated = join(sdk, 'src/generated');
const FORMATS = { esm: 'esnext', cjs: 'commonjs' };

const document = await buildDocument(join(root, 'dist'));
mkdirSync(generated, { recursive: true });
writeWhole('api.ts', astToString(await openapiTypescript(slim(structuredClone(document)))));
writeWhole('resources.ts', generateResources(document));
if (process.argv.includes('--sources')) process.exit();

rmSync(join(sdk, 'dist'), { recursive: true, force: true });
const compiled = await Promise.all(Object.entries(FORMATS).map(([format, module]) => compile(format, module)));
if (!compiled.every(Boolean)) process.exit(1);

/** In one step: `npm test` lints these files while a test builds the package. */
function writeWhole(name, text) {
  const temporary = join(generated, `.${name}-${process.pid}`);
  writeFileSync(temporary, text);
  renameSync(temporary, join(generated, name));
}

/** Without what the client says itself: errors are one type, and headers are read by it. */
function slim({ paths, ...others }) {
  const own = Object.entries(paths).filter(([path]) => path.startsWith('/v1/'));
  for (const [, item] of own) {
    for (const { responses } of Object.values(item)) {
      for (const [status, response] of Object.entries(responses)) {
        if (status.startsWith('2')) delete response.headers;
        else delete responses[status];
      }
    }
  }
  return { ...others, paths: Object.fromEntries(own) };
}

/** @returns whether it succeeded; errors have been printed */
function compile(format, module) {
  const outDir = join(sdk, 'dist', format);
  mkdirSync(outDir, { recursive: true });
  writeFileSync(join(outDir, 'package.json'), JSON.stringify({ type: format === 'esm' ? 'module' : 'commonjs' }));
  const files = ['index', 'nodemailer', 'nestjs'].map((entry) => join(sdk, `src/${entry}.ts`));
  const options = {
    ...{ outDir, module, rootDir: join(sdk, 'src'), target: 'es2022', moduleResolution: 'bundler' },
    lib: 'es2022,dom,dom.iterable',
  };
  const flags = [
    '--declaration',
    '--strict',
    '--skipLibCheck',
    '--noUnusedLocals',
    '--ignoreConfig',
    '--types',
    'null',
  ];
  const args = [...flags, ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]), ...files];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [compilerOf(root), ...args], { cwd: root, stdio: ['ignore', 2, 2] });
    child.once('exit', (code) => resolve(code === 0));
  });
}
