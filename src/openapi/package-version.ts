import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const manifest = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { version: string };

/** The service's version, as package.json says it; read once. */
export const PACKAGE_VERSION = manifest.version;
