// Builds sdk/: types and methods from the API's description, then JavaScript for import and for require.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { buildDocument } from './sdk/document.mjs';
import { generateResources } from './sdk/generate.mjs';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const sdk = join(root, 'sdk');
const generated = join(sdk, 'src/generated');
const FORMATS = { esm: ts.ModuleKind.ESNext, cjs: ts.ModuleKind.CommonJS };

const document = await buildDocument(join(root, 'dist'));
mkdirSync(generated, { recursive: true });
writeFileSync(join(generated, 'api.ts'), astToString(await openapiTypescript(slim(structuredClone(document)))));
writeFileSync(join(generated, 'resources.ts'), generateResources(document));

rmSync(join(sdk, 'dist'), { recursive: true, force: true });
for (const [format, module] of Object.entries(FORMATS)) {
  const outDir = join(sdk, 'dist', format);
  compile(
    ['index', 'nodemailer', 'nestjs'].map((entry) => join(sdk, `src/${entry}.ts`)),
    {
      ...{ outDir, module, rootDir: join(sdk, 'src'), declaration: true, strict: true, skipLibCheck: true },
      ...{ target: ts.ScriptTarget.ES2022, moduleResolution: ts.ModuleResolutionKind.Bundler },
      ...{ lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], types: [], noUnusedLocals: true },
    },
  );
  writeFileSync(join(outDir, 'package.json'), JSON.stringify({ type: format === 'esm' ? 'module' : 'commonjs' }));
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

function compile(files, options) {
  const program = ts.createProgram(files, options);
  const { diagnostics } = program.emit();
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length === 0) return;
  console.error(
    ts.formatDiagnostics(problems, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => root,
      getNewLine: () => '\n',
    }),
  );
  process.exit(1);
}
