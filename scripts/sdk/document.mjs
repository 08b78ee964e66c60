import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The API's description, of the build: its controllers alone, nothing is started. */
export async function buildDocument(dist) {
  const require = createRequire(import.meta.url);
  const { Test } = await import('@nestjs/testing');
  const { ExpressAdapter } = await import('@nestjs/platform-express');
  const { PATH_METADATA } = await import('@nestjs/common/constants.js');
  const { loadConfig } = require(join(dist, 'config/load-config.js'));
  const { AppConfig } = require(join(dist, 'config/config.js'));
  const { buildOpenApiDocument } = require(join(dist, 'openapi/docs.js'));
  const controllers = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.controller.js'))
    .flatMap((file) => Object.values(require(join(dist, file))))
    .filter((value) => typeof value === 'function' && Reflect.hasMetadata(PATH_METADATA, value));
  const config = loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64') });
  const module = await Test.createTestingModule({ controllers })
    .useMocker((token) => (token === AppConfig ? config : {}))
    .compile();
  return buildOpenApiDocument(module.createNestApplication(new ExpressAdapter(), { logger: false }));
}
