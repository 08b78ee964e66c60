// Writes the types of the API, from its own OpenAPI document, to console/src/api/schema.d.ts: `npm run types:console`.
import { createRequire } from 'node:module';
import { existsSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ensureBuild } from './build/ensure-build.mjs';

const root = path.resolve(import.meta.dirname, '..');
const target = path.join(root, 'console/src/api/schema.d.ts');

/** Whether nothing was compiled since they were written: `npm run check` runs this twice. */
function isFresh() {
  if (!existsSync(target)) return false;
  const writtenMs = statSync(target).mtimeMs;
  const compiled = readdirSync(path.join(root, 'dist'), { recursive: true }).filter((name) => name.endsWith('.js'));
  return compiled.every((name) => statSync(path.join(root, 'dist', name)).mtimeMs < writtenMs);
}

process.exitCode = await ensureBuild(root);
if (process.exitCode === 0 && !isFresh()) {
  const { default: openapiTypescript, astToString } = await import('openapi-typescript');
  const load = createRequire(path.join(root, 'dist/main.js'));
  load('reflect-metadata');
  const { NestFactory } = load('@nestjs/core');
  const { ApiModule } = load('./api.module.js');
  const { ProcessModule } = load('./bootstrap/process.module.js');
  const { loadConfig } = load('./config/load-config.js');
  const { buildOpenApiDocument } = load('./openapi/docs.js');
  const config = loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64') });
  const module = ProcessModule.register({
    config,
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    imports: [ApiModule],
  });
  // Nothing is connected or started: only the decorators are read.
  const app = await NestFactory.create(module, { preview: true, logger: false, abortOnError: false });
  const document = buildOpenApiDocument(app);
  // Whole or not at all: something may read it meanwhile.
  const temporary = path.join(root, 'dist', `schema-${process.pid}.d.ts`);
  writeFileSync(temporary, astToString(await openapiTypescript(document)));
  renameSync(temporary, target);
}
