import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { DECORATORS } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { OPERATOR_SCOPE_METADATA, PUBLIC_METADATA, SCOPE_METADATA } from '../../src/common/http/scopes';
import { AppConfig } from '../../src/config/config';
import { loadConfig } from '../../src/config/load-config';

const SOURCE = join(__dirname, '../../src');

/** One handler as its decorators describe it. */
export interface ApiRoute {
  /** `EmailsController.list` */
  readonly name: string;
  readonly method: string;
  /** As OpenAPI writes it. */
  readonly path: string;
  readonly scope: string | undefined;
  /** For operators of the installation, with keys of their own. */
  readonly isOperators: boolean;
  readonly isPublic: boolean;
  /** Left out of the document on purpose. */
  readonly excluded: boolean;
  /** Statuses that the handler itself documents. */
  readonly documentedStatuses: readonly number[];
}

/** Every controller of the source tree, registered anywhere or not. */
export function findControllers(): Type[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.controller.ts'))
    .flatMap((file) => Object.values(jest.requireActual<Record<string, unknown>>(join(SOURCE, file))))
    .filter((value): value is Type => typeof value === 'function' && Reflect.hasMetadata(PATH_METADATA, value));
}

/** An application of the controllers alone: what they depend on is replaced, nothing is initialised. */
export async function createApp(controllers: Type[]): Promise<NestExpressApplication> {
  const config = loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64') });
  const module = await Test.createTestingModule({ controllers })
    .useMocker((token) => (token === AppConfig ? config : {}))
    .compile();
  return module.createNestApplication<NestExpressApplication>(new ExpressAdapter(), { logger: false });
}

export function routesOf(controller: Type): ApiRoute[] {
  const prototype = controller.prototype as Record<string, object>;
  return Object.getOwnPropertyNames(prototype)
    .filter((name) => name !== 'constructor' && Reflect.hasMetadata(METHOD_METADATA, prototype[name]!))
    .map((name) => describe(controller, name, prototype[name]!));
}

function describe(controller: Type, name: string, handler: object): ApiRoute {
  const read = <T>(key: string): T | undefined =>
    (Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller)) as T | undefined;
  const parts = [Reflect.getMetadata(PATH_METADATA, controller), Reflect.getMetadata(PATH_METADATA, handler)];
  const segments = parts.flatMap((part: string) => part.split('/')).filter((segment) => segment !== '');
  const responses: object = {
    ...Reflect.getMetadata(DECORATORS.API_RESPONSE, controller),
    ...Reflect.getMetadata(DECORATORS.API_RESPONSE, handler),
  };
  return {
    name: `${controller.name}.${name}`,
    method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number]!.toLowerCase(),
    path: `/${segments.map((segment) => segment.replace(/^:(\w+).*$/, '{$1}')).join('/')}`,
    scope: read<string>(SCOPE_METADATA) ?? read<string>(OPERATOR_SCOPE_METADATA),
    isOperators: read<string>(OPERATOR_SCOPE_METADATA) !== undefined,
    isPublic: read<boolean>(PUBLIC_METADATA) === true,
    excluded:
      Reflect.hasMetadata(DECORATORS.API_EXCLUDE_CONTROLLER, controller) ||
      Reflect.hasMetadata(DECORATORS.API_EXCLUDE_ENDPOINT, handler),
    documentedStatuses: Object.keys(responses).map(Number),
  };
}
